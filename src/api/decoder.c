/* The public API's language models of weights in memory, by tokens. */
#include "api/options.h"
#include "base/str.h"
#include "llm/generation.h"
#include "model/aten.h"
#include "model/safetensors.h"

#include <stdlib.h>
#include <string.h>

struct solo_decoder {
    generation *n;
};

/* ---- making one ------------------------------------------------------------------------------------------ */

/* A tensor as a folder would have it. */
static bool tensor_of(const solo_tensor *t, safetensor *out, err *e)
{
    uint64_t count = 1;
    const char *type = t->type == ATEN_F32 ? "F32" : t->type == ATEN_F16 ? "F16" : t->type == ATEN_BF16 ? "BF16" : NULL;
    if (!t->name || t->rank > sizeof t->dims / sizeof *t->dims)
        return err_set_kind(e, ERR_USAGE, "a tensor has no name, or more than six dimensions");
    for (uint32_t d = t->rank; d-- > 0;)
        if ((t->strides[d] != count && t->dims[d] > 1) || __builtin_mul_overflow(count, t->dims[d], &count))
            return err_set_kind(e, ERR_USAGE, "tensor %.80s is not contiguous", t->name);
    if (!type)
        return err_set_kind(e, ERR_USAGE, "tensor %.80s has elements of a type (%d) that no decoder reads", t->name,
                            t->type);
    uint32_t size = aten_type_bytes(t->type);
    if (t->offset > t->bytes / size || count > t->bytes / size - t->offset)
        return err_set_kind(e, ERR_USAGE, "tensor %.80s has fewer bytes than its shape needs", t->name);
    *out = (safetensor){.name = t->name,
                        .dtype = type,
                        .readable = true,
                        .type = t->type == ATEN_F32   ? TYPE_F32
                                : t->type == ATEN_F16 ? TYPE_F16
                                                      : TYPE_BF16,
                        .dim_count = t->rank,
                        .data = (const char *)t->data + t->offset * size,
                        .bytes = count * size};
    for (uint32_t d = 0; d < t->rank; d++)
        out->dims[d] = t->dims[d];
    return true;
}

static generation *make(gpu *g, const char *config, const solo_tensor *tensors, uint32_t count,
                        const solo_session_options *o, err *e)
{
    safetensor *list = mem_alloc((count + 1) * sizeof *list);
    bool ok = api_options_are_known(o, e);
    for (uint32_t i = 0; i < count && ok; i++)
        ok = tensor_of(&tensors[i], &list[i], e);
    model *m = ok ? model_of_tensors(config, list, count, e) : NULL;
    generation_options inside = api_generation_options(o);
    generation *n = m ? generation_new(g, m, &inside, e) : NULL;
    model_close(m);
    free(list);
    return n;
}

solo_decoder *solo_decoder_new(solo_device *d, const char *config, const solo_tensor *tensors, uint32_t count,
                               const solo_session_options *o, solo_error *to)
{
    static const solo_session_options none = {0};
    err e = {0};
    if (!api_is_here(d, to) || !api_is_here(config, to) || (count && !api_is_here(tensors, to)))
        return NULL;
    generation *n = make(d->g, config, tensors, count, o ? o : &none, &e);
    if (!api_result(to, &e, n != NULL))
        return NULL;
    solo_decoder *c = mem_alloc(sizeof *c);
    c->n = n;
    return c;
}

void solo_decoder_free(solo_decoder *c)
{
    if (c)
        generation_free(c->n);
    free(c);
}

/* ---- tokens ---------------------------------------------------------------------------------------------- */

/* What the cache has of them already is not fed again; the last one always is, so that a next one can follow. */
static bool feed(generation *n, const uint32_t *tokens, uint32_t count, uint32_t more, err *e)
{
    uint32_t same = 0;
    if (!count)
        return err_set_kind(e, ERR_USAGE, "there is no token to go on from");
    if (count > generation_context(n) || more > generation_context(n) - count)
        return err_set_kind(e, ERR_USAGE, "%u tokens and %u more do not fit a context of %u", count, more,
                            generation_context(n));
    while (same + 1 < count && same < generation_position(n) && generation_text(n)[same] == tokens[same])
        same++;
    generation_rewind(n, same);
    generation_set_limit(n, count - same + more);
    return generation_feed(n, tokens + same, count - same, e);
}

static bool is_one_of(uint32_t token, const uint32_t *stops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (stops[i] == token)
            return true;
    return false;
}

uint32_t solo_decoder_generate(solo_decoder *c, const uint32_t *tokens, uint32_t count, const solo_sampling *how,
                               const uint32_t *stops, uint32_t stop_count, uint32_t *out, uint32_t room, solo_error *to)
{
    err e = {0};
    uint32_t made = 0;
    sampling inside = how ? api_sampling(how) : (sampling){0};
    if (!api_is_here(c, to) || (how && !api_result(to, &e, api_sampling_is_possible(how, &e))))
        return 0;
    generation_set_sampling(c->n, &inside);
    generation_set_stops(c->n, stop_count ? stops : tokens, stop_count);
    bool ok = room ? feed(c->n, tokens, count, room, &e) : err_set_kind(&e, ERR_USAGE, "there is room for no token");
    while (ok && made < room) {
        ok = generation_next(c->n, &out[made], &e);
        made += ok;
        if (ok && is_one_of(out[made - 1], stops, stop_count))
            break;
    }
    return api_result(to, &e, ok) ? made : 0;
}

uint32_t solo_decoder_vocabulary(const solo_decoder *c)
{
    return c ? generation_vocab(c->n) : 0;
}

bool solo_decoder_logits(solo_decoder *c, const uint32_t *tokens, uint32_t count, float *logits, solo_error *to)
{
    err e = {0};
    return api_is_here(c, to) &&
           api_result(to, &e, feed(c->n, tokens, count, 0, &e) && generation_logits(c->n, logits, &e));
}

solo_level solo_decoder_level(const solo_decoder *c)
{
    return c ? (solo_level)generation_level(c->n) : SOLO_LEVEL_AUTO;
}

uint32_t solo_decoder_dispatches(const solo_decoder *c)
{
    return c ? generation_dispatches(c->n) : 0;
}
