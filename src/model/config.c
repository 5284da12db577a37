/* config: the architectures, and the checks and defaults of a configuration wherever it comes from. */
#include "base/str.h"
#include "model/config_internal.h"
#include "model/config_test.h"

#include <math.h>
#include <string.h>

const arch_info config_archs[] = {
    [ARCH_LLAMA] = {"llama", true, 2048, 0, 0, WINDOW_NEVER, ACT_SILU, 1e-6f, false},
    [ARCH_MISTRAL] = {"mistral", false, 131072, 0, 4096, WINDOW_ALL, ACT_SILU, 1e-6f, false},
    [ARCH_QWEN2] = {"qwen2", true, 32768, 0, 4096, WINDOW_LATE, ACT_SILU, 1e-6f, false},
    [ARCH_QWEN3] = {"qwen3", true, 32768, 128, 4096, WINDOW_LATE, ACT_SILU, 1e-6f, false},
    [ARCH_PHI3] = {"phi3", true, 4096, 0, 0, WINDOW_ALL, ACT_SILU, 1e-5f, false},
    [ARCH_GEMMA] = {"gemma", true, 8192, 256, 0, WINDOW_NEVER, ACT_GELU_TANH, 1e-6f, true},
    [ARCH_GEMMA2] = {"gemma2", true, 8192, 256, 4096, WINDOW_EVEN, ACT_GELU_TANH, 1e-6f, true},
};

enum { ARCH_COUNT = sizeof config_archs / sizeof *config_archs };

const char *config_arch_name(model_arch arch)
{
    return config_archs[arch].name;
}

uint32_t config_window(const model_config *c, uint32_t layer, uint32_t context_tok)
{
    return c->is_windowed[layer] && c->window_tok < context_tok ? c->window_tok : context_tok;
}

bool config_find_arch(const char *file, const char *key, const char *text, size_t length, bool in_gguf,
                      model_arch *arch, err *e)
{
    for (int i = 0; i < ARCH_COUNT; i++)
        if (strlen(config_archs[i].name) == length && memcmp(config_archs[i].name, text, length) == 0 &&
            (config_archs[i].in_gguf || !in_gguf)) {
            *arch = i;
            return true;
        }
    char shown[64];
    size_t n = 0;
    for (; n < length && n < sizeof shown - 1; n++)
        shown[n] = text[n] >= 0x20 && text[n] < 0x7f ? text[n] : '?';
    shown[n] = 0;
    str known = {0};
    for (int i = 0; i < ARCH_COUNT; i++)
        if (config_archs[i].in_gguf || !in_gguf)
            str_addf(&known, "%s%s", known.length ? ", " : "", config_archs[i].name);
    err_set(e, "%s: \"%s\": unknown architecture \"%s\" (known: %s)", file, key, shown, known.data);
    str_free(&known);
    return false;
}

bool config_unsupported(const char *file, const char *key, const char *what, err *e)
{
    return err_set(e, "%s: \"%s\": %s is not supported", file, key, what);
}

bool config_check_number(const char *file, const char *key, double value, double low, double high, err *e)
{
    if (value >= low && value <= high) /* not true of NaN */
        return true;
    return err_set(e, "%s: \"%s\" is %g, must be %g to %g", file, key, value, low, high);
}

void config_set_defaults(model_config *c, model_arch arch)
{
    bool gemma = arch == ARCH_GEMMA || arch == ARCH_GEMMA2;
    *c = (model_config){
        .arch = arch,
        .act = config_archs[arch].act,
        .qkv_bias = arch == ARCH_QWEN2,
        .qk_norm = arch == ARCH_QWEN3,
        .norm_adds_one = gemma,
        .post_norms = arch == ARCH_GEMMA2,
        .rope_factor = 1,
        .rope_magnitude = 1,
        .embedding_scale = 1,
    };
    for (uint32_t i = 0; i < CONFIG_MAX_HEAD_DIM / 2; i++)
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = 1;
}

bool config_check_shape(const char *file, const shape_keys *k, const model_config *c, err *e)
{
    if (c->head_count % c->kv_head_count)
        return err_set(e, "%s: \"%s\" (%u) is not a multiple of \"%s\" (%u)", file, k->heads, c->head_count,
                       k->kv_heads, c->kv_head_count);
    if ((uint64_t)c->head_count * c->head_dim > MAX_EMBEDDING)
        return err_set(e, "%s: \"%s\" (%u) heads of \"%s\" (%u) are more than %d", file, k->heads, c->head_count,
                       k->head_dim, c->head_dim, MAX_EMBEDDING);
    if (c->rope_dims == 0 || c->rope_dims % 2 || c->rope_dims > c->head_dim)
        return err_set(e, "%s: \"%s\" makes %u of a head's %u numbers turn with the position; must be even and no more",
                       file, k->rope_dims, c->rope_dims, c->head_dim);
    return true;
}

bool config_derive_head_dim(const char *file, const shape_keys *k, model_config *c, err *e)
{
    if (c->embedding_dim % c->head_count)
        return err_set(e, "%s: \"%s\" (%u) is not a multiple of \"%s\" (%u), and \"%s\" is missing", file, k->embedding,
                       c->embedding_dim, k->heads, c->head_count, k->head_dim);
    c->head_dim = c->embedding_dim / c->head_count;
    return config_check_number(file, k->embedding, c->embedding_dim, c->head_count,
                               (double)c->head_count * CONFIG_MAX_HEAD_DIM, e);
}

void config_set_scales(model_config *c)
{
    c->attention_scale = (float)(1 / sqrt(c->head_dim));
    if (c->arch == ARCH_GEMMA || c->arch == ARCH_GEMMA2)
        c->embedding_scale = sqrtf((float)c->embedding_dim);
}

void config_divide_angles(model_config *c, double factor)
{
    c->rope_scaling = ROPE_LINEAR;
    c->rope_factor = (float)factor;
    for (uint32_t i = 0; i < c->rope_dims / 2; i++)
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = (float)factor;
}

void config_stretch_slow_angles(model_config *c, double factor, double low, double high)
{
    c->rope_scaling = ROPE_LLAMA3;
    c->rope_factor = (float)factor;
    c->rope_low_factor = (float)low;
    c->rope_high_factor = (float)high;
    for (uint32_t i = 0; i < c->rope_dims / 2; i++) {
        double wavelength = 2 * M_PI * pow(c->rope_base, 2.0 * i / c->rope_dims);
        double turns = c->rope_original_tok / wavelength;
        double keep = turns < low ? 0 : turns > high ? 1 : (turns - low) / (high - low);
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = (float)(1 / ((1 - keep) / factor + keep));
    }
}

void config_set_windows(model_config *c, uint32_t from)
{
    for (uint32_t i = from; c->window_tok && i < c->layer_count; i++)
        c->is_windowed[i] = config_archs[c->arch].windows != WINDOW_EVEN || i % 2 == 0;
}
