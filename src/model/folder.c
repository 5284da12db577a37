/* folder: names of weights at Hugging Face, for each architecture. */
#include "model/folder.h"
#include "model/folder_experts.h"
#include "base/file.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_MAX_BYTES = 4 << 20, NAME_MAX_BYTES = MODEL_NAME_BYTES };

struct folder {
    const model_config *c;
    safetensors *parts;
    const char *prefix;      /* of all names but the output's */
    void **rearranged;       /* (tensors) what is not as in GGUF, in its order; NULL: it is */
    expert_weights *experts; /* what is one weight here and several tensors there, or a part of one */
    bool is_older_mixtral;   /* its router has a name of its own */
};

/* ---- names --------------------------------------------------------------- */

/* The part of a layer's weight after "blk.N.", here and at Hugging Face. */
typedef struct renamed {
    const char *ours, *theirs;
} renamed;

static const renamed LAYER_NAMES[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"ffn_gate_up", "mlp.gate_up_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    {"attn_sinks", "self_attn.sinks"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
    {NULL, NULL},
};
/* Where a family has other names, these come first. */
static const renamed FOUR_NORMS[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {NULL, NULL},
};
static const renamed GEMMA4_NAMES[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
    {"layer_output_scale", "layer_scalar"},
    {"ffn_gate_inp", "router.proj"},
    {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
    {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
    {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
    {NULL, NULL},
};
static const renamed GEMMA3N_NAMES[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
    {"altup_router", "altup.modality_router"},
    {"altup_router_norm", "altup.router_norm"},
    {"altup_predict_coef", "altup.prediction_coefs"},
    {"altup_correct_coef", "altup.correction_coefs"},
    {"laurel_l", "laurel.linear_left"},
    {"laurel_r", "laurel.linear_right"},
    {"laurel_post_norm", "laurel.post_laurel_norm"},
    {NULL, NULL},
};
/* Outside of the layers, beside what all have. */
static const renamed OUTER_NAMES[] = {
    {"position_embd", "wpe"},
    {"per_layer_token_embd", "embed_tokens_per_layer"},
    {"per_layer_model_proj", "per_layer_model_projection"},
    {"per_layer_proj_norm", "per_layer_projection_norm"},
    {NULL, NULL},
};
static const renamed GLM4_NAMES[] = {
    {"post_attention_norm", "post_self_attn_layernorm"}, {"post_ffw_norm", "post_mlp_layernorm"}, {NULL, NULL}};
static const renamed STARCODER2_NAMES[] = {{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}, {NULL, NULL}};
static const renamed PHI_NAMES[] = {
    {"attn_output", "self_attn.dense"},
    {"attn_q_norm", "self_attn.q_layernorm"},
    {"attn_k_norm", "self_attn.k_layernorm"},
    {"ffn_up", "mlp.fc1"},
    {"ffn_down", "mlp.fc2"},
    {NULL, NULL},
};
static const renamed GPT2_NAMES[] = {
    {"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn"}, {"attn_output", "attn.c_proj"},
    {"ffn_norm", "ln_2"},  {"ffn_up", "mlp.c_fc"},      {"ffn_down", "mlp.c_proj"},
    {NULL, NULL},
};
static const renamed GPT_NEOX_NAMES[] = {
    {"attn_qkv", "attention.query_key_value"},
    {"attn_output", "attention.dense"},
    {"ffn_up", "mlp.dense_h_to_4h"},
    {"ffn_down", "mlp.dense_4h_to_h"},
    {NULL, NULL},
};

static const renamed MIXTRAL_NAMES[] = {{"ffn_gate_inp", "block_sparse_moe.gate"}, {NULL, NULL}};
static const renamed GPT_OSS_NAMES[] = {{"ffn_gate_inp", "mlp.router"}, {NULL, NULL}};
static const renamed QWEN35_NAMES[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"attn_qkv", "linear_attn.in_proj_qkv"},
    {"attn_gate", "linear_attn.in_proj_z"},
    {"ssm_alpha", "linear_attn.in_proj_a"},
    {"ssm_beta", "linear_attn.in_proj_b"},
    {"ssm_conv1d", "linear_attn.conv1d"},
    {"ssm_norm", "linear_attn.norm"},
    {"ssm_out", "linear_attn.out_proj"},
    {NULL, NULL},
};
static const renamed DEEPSEEK_NAMES[] = {
    {"attn_q_a", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"attn_q_b", "self_attn.q_b_proj"},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"attn_kv_b", "self_attn.kv_b_proj"},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
    {NULL, NULL},
};
/* Names that end otherwise. */
static const renamed WHOLE_NAMES[] = {{"ssm_a", "linear_attn.A_log"},
                                      {"ssm_dt.bias", "linear_attn.dt_bias"},
                                      {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
                                      {"ffn_gate_inp.scale", "router.scale"},
                                      {"ffn_down_exps.scale", "router.per_expert_scale"},
                                      {"altup_correct_scale.weight", "altup.correct_output_scale"},
                                      {NULL, NULL}};
static const renamed BERT_NAMES[] = {
    {"attn_q", "attention.self.query"},
    {"attn_k", "attention.self.key"},
    {"attn_v", "attention.self.value"},
    {"attn_output", "attention.output.dense"},
    {"attn_output_norm", "attention.output.LayerNorm"},
    {"ffn_up", "intermediate.dense"},
    {"ffn_down", "output.dense"},
    {"layer_output_norm", "output.LayerNorm"},
    {NULL, NULL},
};
static const renamed NOMIC_NAMES[] = {
    {"attn_qkv", "attn.Wqkv"}, {"attn_output", "attn.out_proj"}, {"attn_output_norm", "norm1"},  {"ffn_up", "mlp.fc11"},
    {"ffn_gate", "mlp.fc12"},  {"ffn_down", "mlp.fc2"},          {"layer_output_norm", "norm2"}, {NULL, NULL},
};
/* Of encoders, what comes before the layers. */
static const renamed BERT_INPUTS[] = {
    {"position_embd", "embeddings.position_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {NULL, NULL},
};
static const renamed NOMIC_INPUTS[] = {
    {"token_types", "embeddings.token_type_embeddings"}, {"token_embd_norm", "emb_ln"}, {NULL, NULL}};

typedef struct arch_names {
    const char *embedding, *layers, *norm;
    const renamed *own;
} arch_names;

static arch_names names_of(const model_config *c)
{
    arch_names n = {"embed_tokens", "layers", "norm", NULL};
    switch (c->arch) {
    case ARCH_GEMMA2:
    case ARCH_GEMMA3:
    case ARCH_OLMO2:
    case ARCH_OLMO3:
    case ARCH_EXAONE4: n.own = FOUR_NORMS; return n;
    case ARCH_GEMMA3N: n.own = GEMMA3N_NAMES; return n;
    case ARCH_GEMMA4: n.own = GEMMA4_NAMES; return n;
    case ARCH_GLM4: n.own = GLM4_NAMES; return n;
    case ARCH_QWEN35:
    case ARCH_QWEN35_MOE: n.own = QWEN35_NAMES; return n;
    case ARCH_DEEPSEEK2:
    case ARCH_DEEPSEEK3: n.own = DEEPSEEK_NAMES; return n;
    case ARCH_STARCODER2: n.own = STARCODER2_NAMES; return n;
    case ARCH_PHI: return (arch_names){"embed_tokens", "layers", "final_layernorm", PHI_NAMES};
    case ARCH_GPT_OSS: n.own = GPT_OSS_NAMES; return n;
    case ARCH_GPT2: return (arch_names){"wte", "h", "ln_f", GPT2_NAMES};
    case ARCH_BERT: return (arch_names){"embeddings.word_embeddings", "encoder.layer", "", BERT_NAMES};
    case ARCH_NOMIC_BERT: return (arch_names){"embeddings.word_embeddings", "encoder.layers", "", NOMIC_NAMES};
    case ARCH_GPT_NEOX: return (arch_names){"embed_in", "layers", "final_layer_norm", GPT_NEOX_NAMES};
    default: return n;
    }
}

static const renamed *inputs_of(const model_config *c)
{
    return c->arch == ARCH_BERT ? BERT_INPUTS : c->arch == ARCH_NOMIC_BERT ? NOMIC_INPUTS : OUTER_NAMES;
}

static const char *look_up(const renamed *names, const char *ours, size_t length)
{
    for (; names && names->ours; names++)
        if (strlen(names->ours) == length && memcmp(names->ours, ours, length) == 0)
            return names->theirs;
    return NULL;
}

/* The folder's own prefix before a name, and ".weight" or ".bias" after it. */
static bool put_name(const folder *f, char out[NAME_MAX_BYTES], const char *name, const char *suffix)
{
    return snprintf(out, NAME_MAX_BYTES, "%s%s%s", f->prefix, name, suffix) < NAME_MAX_BYTES;
}

static bool output_name(const folder *f, char out[NAME_MAX_BYTES], const char *suffix)
{
    static const char *const names[] = {"lm_head", "embed_out", "language_model.lm_head"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(out, NAME_MAX_BYTES, "%s%s", names[i], suffix);
        if (!f->parts || safetensors_has(f->parts, out))
            return true;
    }
    snprintf(out, NAME_MAX_BYTES, "%s%s", names[0], suffix); /* quantised, it has other names */
    return true;
}

/* "blk.3.attn_q.weight" as Hugging Face calls it; false if there is no such thing. */
static bool name_at_hugging_face(const folder *f, const char *ours, char out[NAME_MAX_BYTES])
{
    arch_names n = names_of(f->c);
    if (f->c->arch == ARCH_MISTRAL && f->is_older_mixtral)
        n.own = MIXTRAL_NAMES;
    const char *suffix = strrchr(ours, '.');
    size_t length = suffix ? (size_t)(suffix - ours) : 0;
    unsigned layer;
    int prefix = 0;
    if (!suffix)
        return false;
    if (length == strlen("token_embd") && strncmp(ours, "token_embd", length) == 0)
        return put_name(f, out, n.embedding, suffix);
    const char *input = look_up(inputs_of(f->c), ours, length);
    if (input)
        return put_name(f, out, input, suffix);
    if (length == strlen("output_norm") && strncmp(ours, "output_norm", length) == 0)
        return put_name(f, out, n.norm, suffix);
    if (length == strlen("output") && strncmp(ours, "output", length) == 0)
        return output_name(f, out, suffix);
    if (sscanf(ours, "blk.%u.%n", &layer, &prefix) != 1 || prefix == 0)
        return false;
    const char *whole = look_up(WHOLE_NAMES, ours + prefix, strlen(ours + prefix));
    if (whole)
        return snprintf(out, NAME_MAX_BYTES, "%s%s.%u.%s", f->prefix, n.layers, layer, whole) < NAME_MAX_BYTES;
    if ((size_t)prefix > length)
        return false;
    const char *theirs = look_up(n.own, ours + prefix, length - (size_t)prefix);
    if (!theirs)
        theirs = look_up(LAYER_NAMES, ours + prefix, length - (size_t)prefix);
    if (theirs && (strcmp(theirs, "self_attn.sinks") == 0 || strcmp(theirs, "layer_scalar") == 0))
        suffix = ""; /* numbers, not a module */
    return theirs &&
           snprintf(out, NAME_MAX_BYTES, "%s%s.%u.%s%s", f->prefix, n.layers, layer, theirs, suffix) < NAME_MAX_BYTES;
}

/* ---- what is arranged otherwise ---------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    size_t a = strlen(name), b = strlen(end);
    return a >= b && strcmp(name + a - b, end) == 0;
}

/* gpt2's matrices have a row for each input. */
static bool is_transposed(const folder *f, const safetensor *t)
{
    return f->c->arch == ARCH_GPT2 && t->dim_count == 2 &&
           (ends_with(t->name, ".c_attn.weight") || ends_with(t->name, ".c_proj.weight") ||
            ends_with(t->name, ".c_fc.weight"));
}

/* gpt_neox has q, k and v of a head side by side; here, as in GGUF, all of q come first. */
static bool is_by_head(const folder *f, const safetensor *t)
{
    return f->c->arch == ARCH_GPT_NEOX && t->dim_count > 0 && strstr(t->name, ".query_key_value.") &&
           t->dims[0] == 3ull * f->c->head_count * f->c->head_dim;
}

/* qwen3.5 has the logarithm of a rate; here, as in GGUF, it is the rate, less than zero. */
static bool is_logarithm(const safetensor *t)
{
    return t->dim_count == 1 && ends_with(t->name, ".linear_attn.A_log") && t->readable &&
           type_find(t->type)->block_weights == 1;
}

static void undo_logarithm(folder *f, size_t i)
{
    const safetensor *t = safetensors_at(f->parts, i);
    float *to = f->rearranged[i] = mem_alloc(t->dims[0] * sizeof *to);
    type_to_f32(t->type, t->data, to, t->dims[0]);
    for (uint64_t k = 0; k < t->dims[0]; k++)
        to[k] = -expf(to[k]);
}

static void rearrange(folder *f, size_t i)
{
    const safetensor *t = safetensors_at(f->parts, i);
    if (is_logarithm(t)) {
        undo_logarithm(f, i);
        return;
    }
    bool transposed = is_transposed(f, t);
    if (!t->readable || t->bytes == 0 || (!transposed && !is_by_head(f, t)))
        return;
    uint64_t rows = t->dims[0], columns = t->dim_count == 2 ? t->dims[1] : 1, size = t->bytes / (rows * columns);
    uint64_t dim = f->c->head_dim, heads = f->c->head_count;
    const char *from = t->data;
    char *to = f->rearranged[i] = mem_alloc(t->bytes);
    for (uint64_t r = 0; r < rows; r++)
        if (transposed)
            for (uint64_t k = 0; k < columns; k++)
                memcpy(to + (k * rows + r) * size, from + (r * columns + k) * size, size);
        else {
            uint64_t head = r / (3 * dim), part = r / dim % 3, row = (part * heads + head) * dim + r % dim;
            memcpy(to + row * columns * size, from + r * columns * size, columns * size);
        }
}

/* ---- opening ------------------------------------------------------------- */

/* Models that also see have their decoder inside of another; gpt2's own folder has no prefix at all. */
static void find_prefix(folder *f)
{
    static const char *const prefixes[] = {
        "model.", "transformer.", "gpt_neox.",  "", "language_model.model.", "model.language_model.",
        "bert.",  "roberta.",     "nomic_bert."};
    char name[NAME_MAX_BYTES];
    f->prefix = prefixes[0];
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        snprintf(name, sizeof name, "%s%s.weight", prefixes[i], names_of(f->c).embedding);
        if (safetensors_has(f->parts, name)) {
            f->prefix = prefixes[i];
            return;
        }
    }
}

static bool has_older_router(const folder *f)
{
    char name[NAME_MAX_BYTES];
    return put_name(f, name, "layers.0.block_sparse_moe.gate", ".weight") && safetensors_has(f->parts, name);
}

static str config_path(const char *path)
{
    str config = {0};
    str_addf(&config, "%s/config.json", path);
    return config;
}

char *folder_read_config(const char *path, size_t *length, err *e)
{
    str config = config_path(path);
    char *text = file_read_plain(config.data, CONFIG_MAX_BYTES, length, e);
    str_free(&config);
    return text;
}

/* The tensors become the folder's; NULL, with an error, if there are none. */
static folder *folder_of(safetensors *parts, const char *path, const model_config *c, err *e)
{
    if (!parts)
        return NULL;
    folder *f = mem_alloc(sizeof *f);
    *f = (folder){.c = c, .parts = parts};
    find_prefix(f);
    f->rearranged = mem_alloc(safetensors_count(parts) * sizeof *f->rearranged);
    for (size_t i = 0; i < safetensors_count(parts); i++)
        rearrange(f, i);
    f->is_older_mixtral = has_older_router(f);
    f->experts = expert_weights_find(parts, c, f->prefix, e);
    if (f->experts)
        return f;
    err_context(e, "%s", path);
    folder_close(f);
    return NULL;
}

folder *folder_open(const char *path, const char *text, size_t length, model_config *c, err *e)
{
    str config = config_path(path);
    bool ok = config_from_hf(text, length, config.data, c, e);
    str_free(&config);
    return ok ? folder_of(safetensors_open(path, e), path, c, e) : NULL;
}

folder *folder_of_tensors(const char *name, const char *text, const safetensor *tensors, size_t count, model_config *c,
                          err *e)
{
    bool ok = config_from_hf(text, strlen(text), name, c, e);
    return ok ? folder_of(safetensors_of(tensors, count, name, e), name, c, e) : NULL;
}

void folder_close(folder *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < safetensors_count(f->parts); i++)
        free(f->rearranged[i]);
    free(f->rearranged);
    expert_weights_free(f->experts);
    safetensors_close(f->parts);
    free(f);
}

/* ---- weights ------------------------------------------------------------- */

bool folder_find(const folder *f, const char *name, model_weight *w)
{
    char theirs[NAME_MAX_BYTES];
    if (expert_weights_get(f->experts, name, w))
        return true;
    if (!name_at_hugging_face(f, name, theirs) || !safetensors_has(f->parts, theirs))
        return false;
    const safetensor *t = safetensors_find(f->parts, theirs, NULL);
    bool kernels = t && t->dim_count == 3 && t->dims[1] == 1; /* of a convolution */
    if (!t || t->dim_count < 1 || (t->dim_count > 2 && !kernels))
        return false;
    uint64_t rows = t->dim_count > 1 ? t->dims[0] : 1, columns = t->dims[t->dim_count - 1];
    if (rows > UINT32_MAX || columns > UINT32_MAX)
        return false;
    size_t tensor = (size_t)(t - safetensors_at(f->parts, 0));
    bool turned = is_transposed(f, t);
    *w = (model_weight){.type = t->type,
                        .rows = (uint32_t)(turned ? columns : rows),
                        .columns = (uint32_t)(turned ? rows : columns),
                        .data = f->rearranged[tensor] ? f->rearranged[tensor] : t->data,
                        .bytes = t->bytes,
                        .tensor = tensor};
    if (is_logarithm(t)) {
        w->type = TYPE_F32;
        w->bytes = columns * sizeof(float);
    }
    return true;
}

bool folder_name_of(const folder *f, const model_config *c, const char *name, char out[MODEL_NAME_BYTES])
{
    folder usual = {.c = c,
                    .prefix = c->arch == ARCH_GPT2       ? "transformer."
                              : c->arch == ARCH_GPT_NEOX ? "gpt_neox."
                                                         : "model."};
    return name_at_hugging_face(f ? f : &usual, name, out);
}

const safetensors *folder_tensors(const folder *f)
{
    return f->parts;
}

size_t folder_tensor_count(const folder *f)
{
    return safetensors_count(f->parts);
}

const char *folder_tensor_name(const folder *f, size_t i)
{
    return safetensors_at(f->parts, i)->name;
}
