/* config_hf_rope: what a config.json says about rope and windows, in its old and its new form. */
#include "model/config_hf_internal.h"

#include <math.h>
#include <string.h>

static bool hf_rope_linear(hf_source *s)
{
    double factor;
    if (!hf_number_in(s, s->rope, "factor", 1e-3, 1e6, NAN, &factor))
        return false;
    config_divide_angles(s->c, factor);
    return true;
}

static bool hf_rope_llama3(hf_source *s)
{
    model_config *c = s->c;
    double factor, low, high;
    if (!hf_number_in(s, s->rope, "factor", 1, 1e6, NAN, &factor) ||
        !hf_number_in(s, s->rope, "low_freq_factor", 1e-3, 1e6, NAN, &low) ||
        !hf_number_in(s, s->rope, "high_freq_factor", 1e-3, 1e6, NAN, &high) ||
        !hf_size_in(s, s->rope, "original_max_position_embeddings", MAX_CONTEXT, 0, &c->rope_original_tok))
        return false;
    if (low >= high)
        return hf_wrong(s, "low_freq_factor", "must be less than \"high_freq_factor\"");
    config_stretch_slow_angles(c, factor, low, high);
    return true;
}

static bool hf_rope_longrope(hf_source *s)
{
    model_config *c = s->c;
    uint32_t inner, pairs = c->rope_dims / 2, trained_phi3 = 4096;
    double stretch, magnitude;
    /* written in either place; outside of the object it counts more */
    if (!hf_size_in(s, s->rope, "original_max_position_embeddings", MAX_CONTEXT,
                    c->arch == ARCH_PHI3 ? trained_phi3 : c->context_tok, &inner) ||
        !hf_size(s, "original_max_position_embeddings", MAX_CONTEXT, inner, &c->rope_original_tok) ||
        !hf_list(s, "short_factor", pairs, c->rope_divisors[0]) ||
        !hf_list(s, "long_factor", pairs, c->rope_divisors[1]))
        return false;
    c->rope_scaling = ROPE_LONGROPE;

    /* both factors are seldom written: they follow from the two lengths */
    stretch = (double)c->context_tok / c->rope_original_tok;
    if (!hf_number_in(s, s->rope, "factor", 1e-3, 1e6, stretch, &stretch))
        return false;
    magnitude = stretch > 1 && c->rope_original_tok > 1 ? sqrt(1 + log(stretch) / log(c->rope_original_tok)) : 1;
    if (!hf_number_in(s, s->rope, "attention_factor", 1e-3, 1e3, magnitude, &magnitude))
        return false;
    c->rope_magnitude = (float)magnitude;
    return true;
}

static bool hf_rope_yarn(hf_source *s)
{
    model_config *c = s->c;
    double factor, fast, slow, scale, scale_all, magnitude;
    uint32_t original;
    const json_t *truncate = json_get_present(s->rope, "truncate"),
                 *beta = json_get_present(s->rope, "llama_4_scaling_beta");
    if (truncate && !json_is_boolean(truncate))
        return hf_wrong(s, "truncate", "must be true or false");
    if (beta && json_number_value(beta) != 0)
        return config_unsupported(s->file, "llama_4_scaling_beta", "a scale that grows with the position", s->e);
    if (!hf_size_in(s, s->rope, "original_max_position_embeddings", MAX_CONTEXT, c->context_tok, &original) ||
        !hf_number_in(s, s->rope, "factor", 1e-3, 1e6, (double)c->context_tok / original, &factor) ||
        !hf_number_in(s, s->rope, "beta_fast", 1e-3, 1e6, 32, &fast) ||
        !hf_number_in(s, s->rope, "beta_slow", 1e-3, 1e6, 1, &slow) ||
        !hf_number_in(s, s->rope, "mscale", 0, 1e3, 0, &scale) ||
        !hf_number_in(s, s->rope, "mscale_all_dim", 0, 1e3, 0, &scale_all))
        return false;
    magnitude = scale > 0 && scale_all > 0
                    ? config_yarn_magnitude(factor, scale) / config_yarn_magnitude(factor, scale_all)
                    : config_yarn_magnitude(factor, 1);
    if (!hf_number_in(s, s->rope, "attention_factor", 1e-3, 1e3, magnitude, &magnitude))
        return false;
    c->rope_original_tok = original;
    c->rope_magnitude = (float)magnitude;
    config_stretch_yarn(c, factor, fast, slow, !truncate || json_is_true(truncate));
    return true;
}

/* The angles change with the length of the text, but only beyond what was trained. */
static bool hf_rope_dynamic(hf_source *s)
{
    double factor;
    s->c->rope_scaling = ROPE_DYNAMIC;
    if (!hf_number_in(s, s->rope, "factor", 1e-3, 1e6, NAN, &factor))
        return false;
    s->c->rope_factor = (float)factor;
    return true;
}

/* A part of the pairs turns, whose angles are those of all pairs. */
static bool hf_rope_proportional(hf_source *s, double share)
{
    double factor;
    if (!hf_number_in(s, s->rope, "factor", 1e-3, 1e6, 1, &factor))
        return false;
    config_turn_share(s->c, share, factor);
    return true;
}

/* An object for each type of layer, where families have two. Windowed layers have a base of their own, and nothing is
 * stretched there. */
static bool hf_rope_of_layer_types(hf_source *s, const char *where)
{
    model_config *c = s->c;
    const json_t *local = json_get_present(s->rope, "sliding_attention"),
                 *all = json_get_present(s->rope, "full_attention");
    const char *type = NULL;
    double base;
    bool olmo3 = c->arch == ARCH_OLMO3;
    if ((c->rope_local_base <= 0 && !olmo3) || !json_is_object(local) || !json_is_object(all))
        return config_unsupported(s->file, where,
                                  "a rope for each type of layer (but for gemma3, gemma3n, gemma4 and olmo3)", s->e);
    if (!hf_text(s, local, "rope_type", &type) ||
        !hf_number_in(s, local, "rope_theta", 1, 1e12,
                      olmo3 ? (double)config_archs[ARCH_OLMO3].rope_base : (double)default_rope_base, &base))
        return false;
    if (type && strcmp(type, "default") != 0)
        return config_unsupported(s->file, where, "stretched angles in windowed layers", s->e);
    c->rope_local_base = (float)base;
    s->rope = all;
    return true;
}

static bool hf_rope_type(hf_source *s, const char *where, const char *type)
{
    if (strcmp(type, "default") == 0)
        return true;
    if (strcmp(type, "linear") == 0)
        return hf_rope_linear(s);
    if (strcmp(type, "llama3") == 0)
        return hf_rope_llama3(s);
    if (strcmp(type, "longrope") == 0 || strcmp(type, "su") == 0)
        return hf_rope_longrope(s);
    if (strcmp(type, "yarn") == 0)
        return hf_rope_yarn(s);
    if (strcmp(type, "dynamic") == 0)
        return hf_rope_dynamic(s);
    return config_unsupported(s->file, where, strcmp(type, "mrope") == 0 ? type : "this type", s->e);
}

/* Old: rope_theta, and rope_scaling if there is any. New: all in rope_parameters. */
bool hf_rope(hf_source *s)
{
    model_config *c = s->c;
    const arch_info *a = &config_archs[c->arch];
    const char *where = json_get_present(s->root, "rope_parameters") ? "rope_parameters" : "rope_scaling";
    s->rope = json_get_present(s->root, where);
    if (s->rope && !json_is_object(s->rope))
        return hf_wrong(s, where, "must be an object");
    bool gemma4 = c->arch == ARCH_GEMMA4;
    if ((c->arch == ARCH_GEMMA3 || c->arch == ARCH_GEMMA3N || gemma4) &&
        !hf_float(s, "rope_local_base_freq", 1, 1e12, default_rope_base, &c->rope_local_base))
        return false;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)s->rope, key, value)
    {
        if (json_is_object(value)) {
            if (!hf_rope_of_layer_types(s, where))
                return false;
            break;
        }
    }

    double base = a->rope_base > 0 ? (double)a->rope_base : (double)default_rope_base,
           share = a->rotary_share > 0  ? (double)a->rotary_share
                   : gemma4 && !s->rope ? 0.25
                                        : 1;
    const char *type, *older;
    if (!hf_text(s, s->rope, "rope_type", &type) || !hf_text(s, s->rope, "type", &older))
        return false;
    type = type ? type : older ? older : gemma4 && !s->rope ? "proportional" : "default";
    bool proportional = strcmp(type, "proportional") == 0;
    const char *share_key = hf_one_of(s, "partial_rotary_factor", "rotary_pct", "rope_pct");
    if (!hf_number_in(s, s->root, hf_one_of(s, "rope_theta", "rotary_emb_base", NULL), 1, 1e12, base, &base) ||
        !hf_number_in(s, s->rope, "rope_theta", 1, 1e12, base, &base) ||
        !hf_number_in(s, s->root, share_key, 0, 1, share, &share) ||
        !hf_number_in(s, s->rope, "partial_rotary_factor", 0, 1, share, &share))
        return false;
    if (share != 1 && a->rotary_share == 0 && c->arch != ARCH_PHI3 && !proportional)
        return config_unsupported(s->file, share_key, "a part of a head (but for families that have it)", s->e);
    c->rope_base = (float)base;
    if (c->arch == ARCH_OLMO3 && c->rope_local_base <= 0)
        c->rope_local_base = c->rope_base; /* not stretched, as the others are */
    if (!c->kv_rank) {                     /* else it is known which numbers turn */
        c->rope_order = a->adjacent ? ROPE_ADJACENT : ROPE_HALVES;
        c->rope_dims = (uint32_t)(c->head_dim * (proportional ? 1 : share));
    }
    return proportional ? hf_rope_proportional(s, share) : hf_rope_type(s, where, type);
}

/* The newer files name every layer's type. */
static bool hf_layer_types(hf_source *s, const json_t *types)
{
    model_config *c = s->c;
    if (json_array_size(types) != c->layer_count)
        return err_set(s->e, "%s: \"layer_types\" must be %u texts, one per layer", s->file, c->layer_count);
    for (uint32_t i = 0; i < c->layer_count; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        bool windowed = type && strcmp(type, "sliding_attention") == 0;
        if (c->recurrent_heads && type) {
            c->is_recurrent[i] = strcmp(type, "linear_attention") == 0;
            if (c->is_recurrent[i])
                continue;
        }
        if (!windowed && !(type && strcmp(type, "full_attention") == 0))
            return config_unsupported(s->file, "layer_types", "a layer other than full_attention or sliding_attention",
                                      s->e);
        if (windowed && config_archs[c->arch].windows == WINDOW_NEVER && c->arch != ARCH_SMOLLM3)
            return config_unsupported(s->file, "layer_types", "a window in this architecture", s->e);
        c->is_windowed[i] = windowed && c->window_tok;
    }
    return true;
}

/* gemma4's last layer has no window, whatever a file says. */
static void let_last_see_all(model_config *c)
{
    if (c->arch == ARCH_GEMMA4)
        c->is_windowed[c->layer_count - 1] = false;
}

/* Each so many layers one sees all: a number, or letters (exaone4's "LLLG"). */
static bool hf_window_period(hf_source *s, uint32_t *period)
{
    const char *key = hf_one_of(s, "sliding_window_pattern", "_sliding_window_pattern", NULL);
    const json_t *value = json_get_present(s->root, key);
    const char *letters = json_string_value(value);
    if (!letters)
        return !value || hf_size(s, key, CONFIG_MAX_LAYERS, 0, period);
    *period = (uint32_t)strlen(letters);
    if (*period == 0 || strspn(letters, "L") != *period - 1 || letters[*period - 1] != 'G')
        return config_unsupported(s->file, key, "a pattern other than L...LG", s->e);
    return true;
}

bool hf_windows(hf_source *s)
{
    model_config *c = s->c;
    const arch_info *a = &config_archs[c->arch];
    bool used = a->windows != WINDOW_NEVER;
    uint32_t from = 0, period = a->window_period;
    if (a->windows == WINDOW_LATE || c->arch == ARCH_SMOLLM3) {
        const json_t *late = json_get_present(s->root, "max_window_layers");
        if (!hf_bool(s, "use_sliding_window", false, &used))
            return false;
        if (late && (!json_is_integer(late) || json_integer_value(late) < 0))
            return hf_wrong(s, "max_window_layers", "must be a whole number");
        from = !late                                          ? 28
               : json_integer_value(late) > CONFIG_MAX_LAYERS ? CONFIG_MAX_LAYERS
                                                              : (uint32_t)json_integer_value(late);
    }
    bool none = hf_is_null(s->root, "sliding_window") || (c->arch == ARCH_MISTRAL && c->expert_count);
    uint32_t fallback = none ? 0 : a->window_tok;
    if (used && (fallback || json_get_present(s->root, "sliding_window")) &&
        !hf_size(s, "sliding_window", 1u << 31, fallback, &c->window_tok))
        return false;

    const json_t *types = json_get_present(s->root, "layer_types");
    if (types) {
        if (!hf_layer_types(s, types))
            return false;
        let_last_see_all(c);
        return true;
    }
    if (a->windows == WINDOW_PERIOD && c->window_tok && !hf_window_period(s, &period))
        return false;
    if (c->arch == ARCH_SMOLLM3)
        memcpy(c->is_windowed, c->is_unrotated, c->window_tok ? c->layer_count : 0);
    else
        config_set_windows(c, from, period);
    let_last_see_all(c);
    return true;
}

/* smollm3: a list that has 0 for each layer without rope, or every so many layers one. */
bool hf_unrotated(hf_source *s)
{
    model_config *c = s->c;
    const json_t *rotated = json_get_present(s->root, "no_rope_layers");
    uint32_t period = 0;
    if (c->arch != ARCH_SMOLLM3)
        return true;
    if (!rotated) {
        if (!hf_size(s, "no_rope_layer_interval", CONFIG_MAX_LAYERS, smollm3_period, &period))
            return false;
        for (uint32_t i = period - 1; i < c->layer_count; i += period)
            c->is_unrotated[i] = true;
        return true;
    }
    if (json_array_size(rotated) != c->layer_count)
        return err_set(s->e, "%s: \"no_rope_layers\" must be %u numbers, one per layer", s->file, c->layer_count);
    for (uint32_t i = 0; i < c->layer_count; i++) {
        const json_t *value = json_array_get(rotated, i);
        if (!json_is_integer(value) && !json_is_boolean(value))
            return hf_wrong(s, "no_rope_layers", "must be 0 or 1");
        c->is_unrotated[i] = json_is_integer(value) ? json_integer_value(value) == 0 : json_is_false(value);
    }
    return true;
}
