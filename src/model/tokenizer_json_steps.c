/* tokenizer_json_steps: how a tokenizer.json normalizes a text and cuts it into words. */
#include "model/pretokenize.h"
#include "model/spm.h"
#include "model/tokenizer_json_internal.h"

#include <string.h>

/* The steps of a normalizer or pre-tokenizer: itself, or the list it is. */
typedef struct steps {
    const json_t *one, *list;
    size_t count;
} steps;

static bool get_steps(json_source *s, const char *what, const char *list_key, steps *out)
{
    *out = (steps){.one = json_get_present(s->root, what)};
    if (!out->one)
        return true;
    out->count = 1;
    if (json_key_equals(out->one, "type", "Sequence")) {
        out->list = json_object_get(out->one, list_key);
        out->count = json_array_size(out->list);
        if (!json_is_array(out->list))
            return err_set(s->e, "%s: the %s has no list \"%s\"", s->name, what, list_key);
    }
    return true;
}

static const json_t *step_at(const steps *all, size_t i)
{
    return all->list ? json_array_get(all->list, i) : all->one;
}

static bool not_supported(json_source *s, const char *what, const json_t *step)
{
    token_text type = json_text_of(json_object_get(step, "type"));
    return err_set(s->e, "%s: the %s '%s' is not supported, or not with these settings", s->name, what,
                   token_text_shown(type).text);
}

/* ByteLevel's own pattern, and that a text is in bytes at all. */
#define STEP_BYTES       "bytes"
#define STEP_GPT2_BYTES  "gpt2-bytes"
#define STEP_DIGIT       "digit "
#define TAIL_OF_PATTERNS "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+ " STEP_BYTES
#define CONTRACTIONS     "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LLAMA_WORDS      "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define LLAMA_SIGNS      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" TAIL_OF_PATTERNS
#define HEADS            "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define TAILS            "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(more)      "[^\\r\\n\\p{L}\\p{N}]?" HEADS "*" TAILS "+" more "|[^\\r\\n\\p{L}\\p{N}]?" HEADS "+" TAILS "*" more
#define CASED_SIGNS      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" TAIL_OF_PATTERNS

/* The steps of a pre-tokenizer in one line, as write_step does it, and what
 * pretokenize.h calls that. */
static const struct {
    const char *steps, *name;
} KNOWN_STEPS[] = {
    {STEP_GPT2_BYTES, "gpt-2"},
    {CONTRACTIONS LLAMA_WORDS "|\\p{N}{1,3}" LLAMA_SIGNS, "llama3"},
    {CONTRACTIONS LLAMA_WORDS "|\\p{N}" LLAMA_SIGNS, "qwen2"},
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" TAIL_OF_PATTERNS,
     "qwen35"},
    {CASED("") "|\\p{N}" CASED_SIGNS, "tekken"},
    {CASED("(?i:'s|'t|'re|'ve|'m|'ll|'d)?") "|\\p{N}{1,3}" CASED_SIGNS, "gpt-4o"},
    {STEP_DIGIT STEP_GPT2_BYTES, "starcoder"},
};

/* Line ends in a pattern may be written as themselves or as \r and \n. */
static void add_pattern(str *out, token_text pattern)
{
    for (size_t i = 0; i < pattern.length; i++) {
        if (pattern.data[i] == '\r' || pattern.data[i] == '\n')
            str_add(out, pattern.data[i] == '\r' ? "\\r" : "\\n");
        else
            str_add_bytes(out, &pattern.data[i], 1);
    }
    str_add(out, " ");
}

static bool is_isolated(const json_t *split)
{
    bool inverted = json_key_is_true(split, "invert");
    return inverted ? json_key_equals(split, "behavior", "Removed") : json_key_equals(split, "behavior", "Isolated");
}

static bool write_step(json_source *s, const json_t *step, bool alone, str *out)
{
    token_text pattern = json_text_of(json_object_get(json_object_get(step, "pattern"), "Regex"));
    if (json_key_equals(step, "type", "Split") && pattern.data && is_isolated(step)) {
        add_pattern(out, pattern);
        return true;
    }
    if (json_key_equals(step, "type", "Digits") && json_key_is_true(step, "individual_digits")) {
        str_add(out, STEP_DIGIT);
        return true;
    }
    if (json_key_equals(step, "type", "ByteLevel") && (alone || !json_key_is_true(step, "add_prefix_space"))) {
        s->parts.add_space_prefix = json_key_is_true(step, "add_prefix_space");
        str_add(out, json_is_false(json_object_get(step, "use_regex")) ? STEP_BYTES : STEP_GPT2_BYTES);
        return true;
    }
    return not_supported(s, "pre-tokenizer", step);
}

static bool cut_into_bytes(json_source *s, const steps *pre)
{
    str line = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < pre->count; i++)
        ok = write_step(s, step_at(pre, i), pre->count == 1, &line);
    const char *name = NULL;
    for (size_t i = 0; i < sizeof KNOWN_STEPS / sizeof *KNOWN_STEPS; i++)
        if (line.data && strcmp(line.data, KNOWN_STEPS[i].steps) == 0)
            name = KNOWN_STEPS[i].name;
    if (ok && !name)
        ok = err_set(s->e, "%s: the pre-tokenizer's pattern is not known: %s", s->name,
                     token_text_shown((token_text){line.data, line.length}).text);
    if (ok)
        s->parts.pre = (token_text){name, strlen(name)};
    str_free(&line);
    return ok;
}

static bool normalize_bytes(json_source *s, const steps *normalizer)
{
    for (size_t i = 0; i < normalizer->count; i++) {
        const json_t *step = step_at(normalizer, i);
        if (!json_key_equals(step, "type", "NFC"))
            return not_supported(s, "normalizer", step);
        s->parts.nfc = true;
    }
    return true;
}

/* Spaces become U+2581, and one is put before the text: by the normalizer ... */
static bool normalize_spaces(json_source *s, const steps *normalizer, bool *replaces)
{
    for (size_t i = 0; i < normalizer->count; i++) {
        const json_t *step = step_at(normalizer, i);
        if (json_key_equals(step, "type", "Prepend") && json_key_equals(step, "prepend", SPM_SPACE))
            s->parts.add_space_prefix = true;
        else if (json_key_equals(step, "type", "Replace") && json_key_equals(step, "content", SPM_SPACE) &&
                 json_key_equals(json_object_get(step, "pattern"), "String", " "))
            *replaces = true;
        else
            return not_supported(s, "normalizer", step);
    }
    if (s->parts.add_space_prefix && !*replaces)
        return err_set(s->e, "%s: the normalizer puts U+2581 first but does not make it of spaces", s->name);
    return true;
}

/* ... or by the pre-tokenizer. */
static bool read_metaspace(json_source *s, const json_t *step)
{
    const json_t *scheme = json_get_present(step, "prepend_scheme");
    if (!json_key_equals(step, "replacement", SPM_SPACE))
        return not_supported(s, "pre-tokenizer", step);
    s->parts.metaspace = true;
    s->parts.prefix_first_only = json_key_equals(step, "prepend_scheme", "first");
    s->parts.add_space_prefix = scheme ? !json_key_equals(step, "prepend_scheme", "never")
                                       : !json_is_false(json_object_get(step, "add_prefix_space"));
    s->parts.space_splits = !json_is_false(json_object_get(step, "split"));
    return true;
}

static bool cut_at_spaces(json_source *s, const steps *pre, bool replaced)
{
    for (size_t i = 0; i < pre->count; i++) {
        const json_t *step = step_at(pre, i);
        if (json_key_equals(step, "type", "Metaspace") && !replaced && !s->parts.metaspace) {
            if (!read_metaspace(s, step))
                return false;
        } else if (!replaced || !json_key_equals(step, "type", "Split") ||
                   !json_key_equals(json_object_get(step, "pattern"), "String", " ") ||
                   json_key_is_true(step, "invert"))
            return not_supported(s, "pre-tokenizer", step); /* there is no space left to cut at */
    }
    if (!replaced && !s->parts.metaspace)
        return err_set(s->e, "%s: neither bytes nor U+2581 for spaces: this kind of tokenizer is not supported",
                       s->name);
    return true;
}

bool json_source_cutting(json_source *s)
{
    steps normalizer, pre;
    if (!get_steps(s, "normalizer", "normalizers", &normalizer) ||
        !get_steps(s, "pre_tokenizer", "pretokenizers", &pre))
        return false;
    s->parts.kind = TOKENIZER_SPM;
    for (size_t i = 0; i < pre.count; i++)
        if (json_key_equals(step_at(&pre, i), "type", "ByteLevel"))
            s->parts.kind = TOKENIZER_BPE;
    if (s->parts.kind == TOKENIZER_BPE)
        return normalize_bytes(s, &normalizer) && cut_into_bytes(s, &pre);
    bool replaces = false;
    return normalize_spaces(s, &normalizer, &replaces) && cut_at_spaces(s, &pre, replaces);
}
