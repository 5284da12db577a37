/* quantised: all weights of a folder that are quantised, one by one. */
#include "model/quantised_internal.h"
#include "base/str.h"
#include "base/workers.h"
#include "base/scan.h"
#include "model/json_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const safetensor *quantised_find(const safetensors *folder, const char *stem, const char *ending)
{
    char name[MODEL_NAME_BYTES + 20];
    snprintf(name, sizeof name, "%s.%s", stem, ending);
    return safetensors_any(folder, name);
}

bool quantised_scales_fit_blocks(const safetensor *scales)
{
    static const float least = 6.104e-5f, most = 65504; /* of halves that have all their bits */
    uint64_t bytes = type_bytes(scales->type, 1);
    for (uint64_t i = 0; scales->type != TYPE_F16 && i < scales->bytes / bytes; i++) {
        float scale;
        type_to_f32(scales->type, (const char *)scales->data + i * bytes, &scale, 1);
        if (!(scale == 0 || (fabsf(scale) >= least && fabsf(scale) <= most)))
            return false;
    }
    return true;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), most = strlen(end);
    return length >= most && strcmp(name + length - most, end) == 0;
}

/* ---- unpacking, on several threads ----------------------------------------------------------- */

typedef struct strip {
    workers_job job; /* first: the workers' pointers are this struct's */
    const quantised_weight *w;
    tensor_type type;
    uint64_t first, rows;
    uint8_t *to;
} strip;

static bool is_bytes(const quantised_scheme *s)
{
    return s->method == METHOD_FP8 || s->method == METHOD_INT8;
}

static void put_strip(workers_job *job)
{
    const strip *s = (const strip *)job;
    (is_bytes(s->w->s) ? quantised_put_bytes : quantised_put_words)(s->w, s->type, s->first, s->rows, s->to);
}

static void put_all(workers *pool, const quantised_weight *w, tensor_type type, uint8_t *to)
{
    enum { MOST_STRIPS = 64 };
    strip strips[MOST_STRIPS];
    uint64_t count = (uint64_t)workers_count(pool) * 2, row_bytes = type_bytes(type, w->in), first = 0;
    count = count == 0 ? 1 : count > MOST_STRIPS ? MOST_STRIPS : count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t end = w->out * (i + 1) / count;
        strips[i] = (strip){{.run = put_strip}, w, type, first, end - first, to + first * row_bytes};
        first = end;
        workers_give(pool, &strips[i].job);
    }
    for (uint64_t i = 0; i < count; i++)
        workers_wait(pool, &strips[i].job);
}

typedef struct unpacking {
    model *m;
    const safetensors *folder;
    quantised_scheme s;
    workers *pool;
    err *e;
} unpacking;

static bool find(const unpacking *u, const char *stem, quantised_weight *w)
{
    return (is_bytes(&u->s) ? quantised_find_bytes : quantised_find_words)(u->folder, &u->s, stem, w, u->e);
}

static void replace(const unpacking *u, const char *name, const quantised_weight *first, uint64_t rows,
                    tensor_type type, const void *data)
{
    model_weight w = {.type = type,
                      .rows = (uint32_t)rows,
                      .columns = (uint32_t)first->in,
                      .bytes = type_bytes(type, rows * first->in),
                      .data = data,
                      .tensor = (size_t)(first->q - safetensors_at(u->folder, 0))};
    model_replace_weight(u->m, name, &w);
}

static bool unpack_weight(const unpacking *u, const char *name)
{
    char stem[MODEL_NAME_BYTES];
    quantised_weight w;
    char *dot = model_name_in_folder(u->m, name, stem) ? strrchr(stem, '.') : NULL;
    if (!dot)
        return true;
    *dot = 0;
    if (!find(u, stem, &w))
        return u->e->kind == ERR_NONE;
    uint8_t *data = mem_alloc(type_bytes(w.type, w.in * w.out));
    put_all(u->pool, &w, w.type, data);
    replace(u, name, &w, w.out, w.type, data);
    return true;
}

/* ---- experts ------------------------------------------------------------------------------------ */

static tensor_type larger(tensor_type a, tensor_type b)
{
    return a == TYPE_F16 || b == TYPE_F16 ? TYPE_F16 : a == TYPE_Q8_0 ? a : b;
}

/* The matrices of one kind, one after the other, in a type that holds them all. */
static bool unpack_experts(const unpacking *u, const char *before, const char *theirs, const char *name)
{
    uint32_t count = model_get_config(u->m)->expert_count;
    quantised_weight *all = mem_alloc(count * sizeof *all);
    tensor_type type = TYPE_Q4_0;
    bool ok = true, any = true;
    for (uint32_t i = 0; ok && any && i < count; i++) {
        char stem[MODEL_NAME_BYTES];
        if (snprintf(stem, sizeof stem, "%s.experts.%u.%s", before, i, theirs) >= (int)sizeof stem)
            any = false;
        else if (!find(u, stem, &all[i])) {
            any = i > 0;
            ok = u->e->kind == ERR_NONE &&
                 (!any || err_set(u->e, "%s: %s is not quantised, and others are", u->s.path, stem));
        } else if (all[i].in != all[0].in || all[i].out != all[0].out || all[0].out > UINT32_MAX / count)
            ok = err_set(u->e, "%s: %s: another shape than that of other experts", u->s.path, stem);
        else
            type = larger(all[i].type, type);
    }
    if (ok && any && count) {
        uint64_t rows = all[0].out * count, bytes = type_bytes(type, all[0].in * all[0].out);
        uint8_t *data = mem_alloc(bytes * count);
        for (uint32_t i = 0; i < count; i++)
            put_all(u->pool, &all[i], type, data + i * bytes);
        replace(u, name, &all[0], rows, type, data);
    }
    free(all);
    return ok;
}

/* A folder's experts have names beside the router's. */
static bool unpack_layer_of_experts(const unpacking *u, uint32_t layer)
{
    static const char router[] = ".gate.weight";
    static const char *const ours[] = {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"},
                             *const usual[] = {"gate_proj", "up_proj", "down_proj"},
                             *const mixtral[] = {"w1", "w3", "w2"};
    const char *const *theirs = model_get_config(u->m)->arch == ARCH_MISTRAL ? mixtral : usual;
    char name[MODEL_NAME_BYTES], before[MODEL_NAME_BYTES];
    snprintf(name, sizeof name, "blk.%u.ffn_gate_inp.weight", layer);
    if (!model_name_in_folder(u->m, name, before) || !ends_with(before, router))
        return true;
    before[strlen(before) - strlen(router)] = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "blk.%u.%s.weight", layer, ours[i]);
        if (!unpack_experts(u, before, theirs[i], name))
            return false;
    }
    return true;
}

static bool unpack_layer(const unpacking *u, uint32_t layer)
{
    static const char *const parts[] = {
        "attn_q",   "attn_k",        "attn_v",    "attn_output",    "attn_qkv",     "attn_gate",     "ssm_alpha",
        "ssm_beta", "ssm_out",       "ffn_gate",  "ffn_up",         "ffn_down",     "ffn_gate_up",   "attn_q_a",
        "attn_q_b", "attn_kv_a_mqa", "attn_kv_b", "ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"};
    const model_config *c = model_get_config(u->m);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        char name[MODEL_NAME_BYTES];
        snprintf(name, sizeof name, "blk.%u.%s.weight", layer, parts[p]);
        if (!unpack_weight(u, name))
            return false;
    }
    return !c->expert_count || layer < c->dense_layers || unpack_layer_of_experts(u, layer);
}

bool quantised_unpack(model *m, const safetensors *folder, const char *config, size_t length, err *e)
{
    unpacking u = {m, folder, {.path = model_get_path(m)}, NULL, e};
    json_t *root = json_loadb(config, length, 0, NULL);
    const json_t *q = json_get_present(root, "quantization_config");
    bool ok = !q || quantised_read_scheme(q, &u.s, u.s.path, e), wanted = ok && q && u.s.method != METHOD_MXFP4;
    json_decref(root);
    if (!wanted)
        return ok;
    u.pool = workers_new(workers_wanted());
    ok = unpack_weight(&u, "output.weight");
    for (uint32_t layer = 0; ok && layer < model_get_config(m)->layer_count; layer++)
        ok = unpack_layer(&u, layer);
    workers_free(u.pool);
    return ok;
}

/* ---- what is left over -------------------------------------------------------------------------- */

static bool is_zero(const safetensor *t)
{
    const char *data = t->data;
    for (uint64_t i = 0; i < t->bytes; i++)
        if (data[i])
            return false;
    return true;
}

/* Of the experts that there are; all of those were unpacked. */
static bool is_of_expert(const char *name, uint32_t experts)
{
    static const char *const ends[] = {".qweight", ".weight_packed", ".weight"};
    const char *part = strstr(name, ".experts.");
    uint32_t number;
    if (!part || !scan_numbers(part, ".experts.#.", &number) || number >= experts)
        return false;
    return ends_with(name, ends[0]) || ends_with(name, ends[1]) || ends_with(name, ends[2]);
}

bool quantised_leaves_out(const safetensors *folder, size_t tensor, uint32_t experts)
{
    static const char *const ends[] = {
        ".qzeros",       ".scales",       ".g_idx",       ".weight_scale", ".weight_scale_inv", ".weight_zero_point",
        ".weight_g_idx", ".weight_shape", ".input_scale", ".k_scale",      ".v_scale"};
    const safetensor *t = safetensors_at(folder, tensor);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(t->name, ends[i]))
            return true;
    return is_of_expert(t->name, experts) || (ends_with(t->name, ".bias") && is_zero(t));
}
