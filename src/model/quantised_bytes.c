/* quantised_bytes: weights that are a byte each, fp8 or int8, beside their scales. */
#include "base/str.h"
#include "model/quantised_internal.h"

#include <math.h>
#include <string.h>

/* Four bits of exponent, three of fraction; no infinity. */
static float fp8_to_f32(uint8_t b)
{
    int exponent = b >> 3 & 15, fraction = b & 7;
    float x = exponent ? ldexpf((float)(8 + fraction), exponent - 10) : ldexpf((float)fraction, -9);
    x = exponent == 15 && fraction == 7 ? NAN : x;
    return b & 0x80 ? -x : x;
}

static float value_of(const quantised_scheme *s, uint8_t b)
{
    return s->method == METHOD_INT8 ? (float)(int8_t)b : fp8_to_f32(b);
}

static float scale_at(const safetensor *t, uint64_t i)
{
    float f;
    type_to_f32(t->type, (const char *)t->data + i * type_find(t->type)->block_bytes, &f, 1);
    return f;
}

bool quantised_find_bytes(const safetensors *folder, const quantised_scheme *s, const char *stem, quantised_weight *w,
                          err *e)
{
    bool int8 = s->method == METHOD_INT8;
    const safetensor *t = quantised_find(folder, stem, "weight"),
                     *scale = quantised_find(folder, stem, "weight_scale_inv");
    scale = scale ? scale : quantised_find(folder, stem, "weight_scale");
    if (!t || strcmp(t->dtype, int8 ? "I8" : "F8_E4M3") != 0)
        return false;
    if (t->dim_count != 2 || t->dims[0] > UINT32_MAX || t->dims[1] > UINT32_MAX || !scale || !scale->readable)
        return err_set(e, "%s: tensor %s.weight: %s needs a matrix with a scale beside it", s->path, stem,
                       int8 ? "int8" : "fp8");
    uint64_t rows = t->dims[0], columns = t->dims[1];
    uint64_t down = s->block[0] ? s->block[0] : rows, across = s->block[1] ? s->block[1] : columns;
    if (!rows || !columns)
        return err_set(e, "%s: tensor %s.weight: is empty", s->path, stem);
    uint64_t lines = (rows + down - 1) / down, line = (columns + across - 1) / across;
    uint64_t scales = scale->bytes / type_find(scale->type)->block_bytes;
    bool by_row = !s->block[0] && scales == rows && rows > 1; /* one for each output */
    if (by_row)
        down = 1;
    else if (scales != lines * line)
        return err_set(e, "%s: tensor %s.weight: has %llu scales, and should have %llu", s->path, stem,
                       (unsigned long long)scales, (unsigned long long)(lines * line));
    bool blocks = int8 && columns % 32 == 0 && quantised_scales_fit_blocks(scale);
    *w = (quantised_weight){.s = s,
                            .q = t,
                            .scales = scale,
                            .in = columns,
                            .out = rows,
                            .down = down,
                            .across = across,
                            .type = blocks ? TYPE_Q8_0 : TYPE_F16};
    return true;
}

void quantised_put_bytes(const quantised_weight *w, tensor_type type, uint64_t first, uint64_t rows, uint8_t *to)
{
    uint64_t line = (w->in + w->across - 1) / w->across, step = type == TYPE_F16 ? 1 : 32,
             bytes = type_bytes(type, step);
    for (uint64_t r = first; r < first + rows; r++)
        for (uint64_t c = 0; c < w->in; c += step, to += bytes) {
            const uint8_t *from = (const uint8_t *)w->q->data + r * w->in + c;
            float d = scale_at(w->scales, r / w->down * line + c / w->across);
            uint16_t half = f32_to_f16(type == TYPE_F16 ? value_of(w->s, *from) * d : d);
            memcpy(to, &half, 2);
            memcpy(to + 2, from, bytes - 2);
        }
}
