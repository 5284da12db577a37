/* tokenizer_json_encoders: tokenizers of encoders in a tokenizer.json: WordPiece and Unigram. */
#include "model/spm.h"
#include "model/tokenizer_json_internal.h"

#include <stdlib.h>
#include <string.h>

/* The steps of a normalizer or pre-tokenizer; `*count` of them. */
static const json_t *step_at(const json_t *all, const char *list, size_t i)
{
    const json_t *steps = json_object_get(all, list);
    return json_key_equals(all, "type", "Sequence") ? json_array_get(steps, i) : i == 0 ? all : NULL;
}

static bool not_supported(json_source *s, const char *what, const json_t *step)
{
    token_text type = json_text_of(json_object_get(step, "type"));
    return err_set(s->e, "%s: the %s '%s' is not supported here, or not with these settings", s->name, what,
                   token_text_shown(type).text);
}

/* ---- WordPiece -------------------------------------------------------------------------- */

static bool flag(json_source *s, const json_t *step, const char *key, bool otherwise, bool *out)
{
    const json_t *value = json_get_present(step, key);
    *out = value ? json_is_true(value) : otherwise;
    return !value || json_is_boolean(value) || err_set(s->e, "%s: \"%s\" must be true or false", s->name, key);
}

static bool read_wordpiece(json_source *s)
{
    tokenizer_parts *p = &s->parts;
    const json_t *normalizer = json_get_present(s->root, "normalizer"),
                 *pre = json_get_present(s->root, "pre_tokenizer");
    const json_t *most = json_get_present(s->model, "max_input_chars_per_word"),
                 *prefix = json_get_present(s->model, "continuing_subword_prefix");
    if (!json_key_equals(normalizer, "type", "BertNormalizer"))
        return not_supported(s, "normalizer", normalizer);
    if (!json_key_equals(pre, "type", "BertPreTokenizer"))
        return not_supported(s, "pre-tokenizer", pre);
    if (!flag(s, normalizer, "clean_text", true, &p->clean_text) ||
        !flag(s, normalizer, "handle_chinese_chars", true, &p->space_chinese) ||
        !flag(s, normalizer, "lowercase", true, &p->lowercase) ||
        !flag(s, normalizer, "strip_accents", p->lowercase, &p->strip_accents))
        return false;
    p->next_prefix = prefix ? json_text_of(prefix) : (token_text){"##", 2};
    if (!p->next_prefix.length)
        return err_set(s->e, "%s: \"continuing_subword_prefix\" must be a text", s->name);
    p->most_characters = 100;
    if (most && (!json_is_integer(most) || json_integer_value(most) < 1 || json_integer_value(most) > 1 << 20))
        return err_set(s->e, "%s: \"max_input_chars_per_word\" must be a number from 1 on", s->name);
    if (most)
        p->most_characters = (uint32_t)json_integer_value(most);
    return true;
}

/* ---- Unigram ------------------------------------------------------------------------------ */

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

static bool read_charsmap(json_source *s, const json_t *step)
{
    token_text text = json_text_of(json_object_get(step, "precompiled_charsmap"));
    uint32_t bits = 0, count = 0;
    size_t bytes = 0;
    if (s->charsmap)
        return not_supported(s, "normalizer", step);
    while (text.length && text.data[text.length - 1] == '=')
        text.length--;
    s->charsmap = mem_alloc(text.length + 1);
    for (size_t i = 0; i < text.length; i++) {
        int digit = base64_digit(text.data[i]);
        if (digit < 0)
            return err_set(s->e, "%s: \"precompiled_charsmap\" is not base64", s->name);
        bits = (bits << 6 | (uint32_t)digit) & 0xFFFFFF;
        count += 6;
        if (count >= 8) {
            count -= 8;
            s->charsmap[bytes++] = (char)(bits >> count);
        }
    }
    s->parts.charsmap = (token_text){s->charsmap, bytes};
    return true;
}

/* A map, then whitespace at the ends, then spaces in a row: in this order, each or none. */
static bool read_unigram_normalizer(json_source *s)
{
    const json_t *all = json_get_present(s->root, "normalizer"), *step;
    int before = 0;
    for (size_t i = 0; (step = step_at(all, "normalizers", i)); i++) {
        int place = 3;
        if (json_key_equals(step, "type", "Precompiled")) {
            place = 1;
            if (!read_charsmap(s, step))
                return false;
        } else if (json_key_equals(step, "type", "Strip")) {
            place = 2;
            s->parts.strips_start = json_key_is_true(step, "strip_left");
            s->parts.strips_end = json_key_is_true(step, "strip_right");
        } else if (!json_key_equals(step, "type", "Replace") ||
                   !json_key_equals(json_object_get(step, "pattern"), "Regex", " {2,}") ||
                   !(json_key_equals(step, "content", " ") || json_key_equals(step, "content", SPM_SPACE)))
            return not_supported(s, "normalizer", step);
        else {
            s->parts.merges_spaces = true;
            s->marks_spaces = json_key_equals(step, "content", SPM_SPACE);
        }
        if (place <= before)
            return not_supported(s, "normalizer", step);
        before = place;
    }
    return true;
}

static bool read_unigram_cutting(json_source *s)
{
    const json_t *all = json_get_present(s->root, "pre_tokenizer"), *step;
    bool marked = false;
    for (size_t i = 0; (step = step_at(all, "pretokenizers", i)); i++) {
        const json_t *scheme = json_get_present(step, "prepend_scheme");
        if (json_key_equals(step, "type", "WhitespaceSplit") && !marked && !s->marks_spaces)
            s->parts.whitespace_splits = true;
        else if (!json_key_equals(step, "type", "Metaspace") || marked ||
                 !json_key_equals(step, "replacement", SPM_SPACE))
            return not_supported(s, "pre-tokenizer", step);
        else {
            marked = true;
            s->parts.prefix_first_only = json_key_equals(step, "prepend_scheme", "first");
            s->parts.add_space_prefix = scheme ? !json_key_equals(step, "prepend_scheme", "never")
                                               : !json_is_false(json_object_get(step, "add_prefix_space"));
            s->parts.space_splits = !json_is_false(json_object_get(step, "split"));
        }
    }
    return marked || err_set(s->e, "%s: a Unigram tokenizer without U+2581 for spaces is not supported", s->name);
}

/* A list of texts and scores; of equal texts the first counts. */
static bool read_pieces(json_source *s)
{
    const json_t *list = json_object_get(s->model, "vocab");
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > TOKENIZER_MAX_TOKENS)
        return err_set(s->e, "%s: \"vocab\" must be a list of tokens and scores", s->name);
    s->vocab = json_object();
    s->scores = mem_alloc((count + 1) * sizeof *s->scores);
    s->score_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i), *text = json_array_get(item, 0), *score = json_array_get(item, 1);
        if (json_array_size(item) != 2 || !json_is_string(text) || !json_is_number(score))
            return err_set(s->e, "%s: token %zu of \"vocab\" is not a text and a score", s->name, i);
        s->scores[i] = (float)json_number_value(score);
        if (!json_object_get(s->vocab, json_string_value(text)))
            json_object_set_new(s->vocab, json_string_value(text), json_integer((json_int_t)i));
    }
    const json_t *unknown = json_get_present(s->model, "unk_id");
    if (!json_is_integer(unknown) || json_integer_value(unknown) < 0 || (size_t)json_integer_value(unknown) >= count)
        return err_set(s->e, "%s: \"unk_id\" must be a token's number", s->name);
    s->unknown = (int32_t)json_integer_value(unknown);
    return true;
}

bool json_source_encoder(json_source *s)
{
    if (s->parts.kind == TOKENIZER_WORDPIECE)
        return read_wordpiece(s);
    s->parts.by_graphemes = true;
    return read_unigram_normalizer(s) && read_unigram_cutting(s) && read_pieces(s);
}

/* Once it is known how many tokens there are: added ones have no score. */
void json_source_scores(json_source *s)
{
    size_t count = s->parts.token_count;
    if (s->parts.kind != TOKENIZER_UNIGRAM)
        return;
    s->scores = mem_grow(s->scores, (count + 1) * sizeof *s->scores);
    for (size_t i = s->score_count; i < count; i++)
        s->scores[i] = 0;
    s->parts.scores = s->scores;
}
