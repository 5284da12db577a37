/* tokenizer_json_tokens: the vocabulary, the added tokens and the merges of a tokenizer.json. */
#include "model/tokenizer_json_internal.h"

#include <string.h>

enum { ADDED_MAX_BYTES = 1024 }; /* an added token; finding one takes time that grows with it */

/* Ids may leave some out, but not so many that memory for them is a burden. */
static bool check_id(json_source *s, const json_t *id, size_t entries, token_text token)
{
    if (!json_is_integer(id) || json_integer_value(id) < 0)
        return err_set(s->e, "%s: the id of the token '%s' must be a whole number", s->name,
                       token_text_shown(token).text);
    if ((uint64_t)json_integer_value(id) >= 2 * (uint64_t)entries + 1024)
        return err_set(s->e, "%s: the id of the token '%s' is %lld, but there are %zu tokens", s->name,
                       token_text_shown(token).text, (long long)json_integer_value(id), entries);
    return true;
}

static bool is_byte_token(token_text t)
{
    static const char digits[] = "0123456789ABCDEFabcdef";
    return t.length == 6 && memcmp(t.data, "<0x", 3) == 0 && t.data[5] == '>' && strchr(digits, t.data[3]) &&
           strchr(digits, t.data[4]);
}

static bool put_token(json_source *s, size_t id, token_text text)
{
    token_text *place = &s->tokens[id];
    if (place->data && (place->length != text.length || memcmp(place->data, text.data, text.length) != 0))
        return err_set(s->e, "%s: the tokens '%s' and '%s' have the same id %zu", s->name,
                       token_text_shown(*place).text, token_text_shown(text).text, id);
    *place = text;
    return true;
}

/* An added token goes by the vocabulary's id where it is in there. */
static const json_t *id_of_added(const json_t *vocab, const json_t *added)
{
    const json_t *id = json_object_get(vocab, json_string_value(json_object_get(added, "content")));
    return id ? id : json_object_get(added, "id");
}

static bool check_added(json_source *s, const json_t *added)
{
    const json_t *content = json_object_get(added, "content");
    if (!json_is_string(content) || json_string_length(content) == 0)
        return err_set(s->e, "%s: an added token has no \"content\"", s->name);
    token_text text = json_text_of(content);
    if (text.length > ADDED_MAX_BYTES)
        return err_set(s->e, "%s: the added token '%s' has %zu bytes, more than %d", s->name,
                       token_text_shown(text).text, text.length, ADDED_MAX_BYTES);
    if (json_key_is_true(added, "single_word"))
        return err_set(s->e, "%s: the added token '%s' stands for single words, which is not supported", s->name,
                       token_text_shown(text).text);
    return true;
}

static bool count_tokens(json_source *s, json_t *vocab, const json_t *added)
{
    size_t entries = json_object_size(vocab) + json_array_size(added), count = 0;
    const char *key;
    json_t *id;
    if (entries > TOKENIZER_MAX_TOKENS)
        return err_set(s->e, "%s: %zu tokens", s->name, entries);
    json_object_foreach(vocab, key, id)
    {
        if (!check_id(s, id, entries, (token_text){key, strlen(key)}))
            return false;
        if ((size_t)json_integer_value(id) >= count)
            count = (size_t)json_integer_value(id) + 1;
    }
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *item = json_array_get(added, i);
        if (!check_added(s, item) ||
            !check_id(s, id_of_added(vocab, item), entries, json_text_of(json_object_get(item, "content"))))
            return false;
        size_t place = (size_t)json_integer_value(id_of_added(vocab, item));
        if (place >= count)
            count = place + 1;
    }
    s->parts.token_count = count;
    return true;
}

bool json_source_tokens(json_source *s)
{
    json_t *vocab = s->vocab ? s->vocab : json_object_get(s->model, "vocab");
    const json_t *added = json_get_present(s->root, "added_tokens");
    if (!json_is_object(vocab))
        return err_set(s->e, "%s: \"model\" has no \"vocab\"", s->name);
    if (added && !json_is_array(added))
        return err_set(s->e, "%s: \"added_tokens\" must be a list", s->name);
    if (!count_tokens(s, vocab, added))
        return false;
    size_t count = s->parts.token_count, added_count = json_array_size(added);
    s->tokens = mem_alloc(count * sizeof *s->tokens);
    s->types = mem_alloc(count);
    s->strips = mem_alloc(count);
    s->added = mem_alloc(added_count * sizeof *s->added);
    memset(s->types, TOKEN_NORMAL, count);
    const char *key;
    json_t *id;
    json_object_foreach(vocab, key, id)
    {
        size_t place = (size_t)json_integer_value(id);
        token_text text = {key, strlen(key)};
        if (!put_token(s, place, text))
            return false;
        if (s->byte_fallback && is_byte_token(text))
            s->types[place] = TOKEN_BYTE;
    }
    for (size_t i = 0; i < added_count; i++) {
        const json_t *item = json_array_get(added, i);
        size_t place = (size_t)json_integer_value(id_of_added(vocab, item));
        token_text text = json_text_of(json_object_get(item, "content"));
        if (!put_token(s, place, text))
            return false;
        s->types[place] = json_key_is_true(item, "special") ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
        s->strips[place] = (uint8_t)((json_key_is_true(item, "lstrip") ? TOKEN_STRIPS_LEFT : 0) |
                                     (json_key_is_true(item, "rstrip") ? TOKEN_STRIPS_RIGHT : 0));
        s->added[i] = (added_token){(int32_t)place, text, json_key_is_true(item, "normalized")};
    }
    s->parts.tokens = s->tokens;
    s->parts.types = s->types;
    s->parts.strips = s->strips;
    s->parts.added = s->added;
    s->parts.added_count = added_count;
    return true;
}

/* "left right", or ["left", "right"]. */
static bool get_merge(const json_t *item, token_merge *m)
{
    if (json_is_array(item) && json_array_size(item) == 2) {
        m->left = json_text_of(json_array_get(item, 0));
        m->right = json_text_of(json_array_get(item, 1));
        return m->left.length && m->right.length;
    }
    token_text text = json_text_of(item);
    const char *space = text.length > 2 ? memchr(text.data + 1, ' ', text.length - 2) : NULL;
    if (!space)
        return false;
    size_t left = (size_t)(space - text.data);
    *m = (token_merge){{text.data, left}, {space + 1, text.length - left - 1}};
    return true;
}

/* `scratch` becomes what is looked for: the one text behind the other. */
static bool has_token(const json_t *vocab, token_text a, token_text b, str *scratch)
{
    scratch->length = 0;
    str_add_bytes(scratch, a.data, a.length);
    str_add_bytes(scratch, b.data, b.length);
    return json_object_get(vocab, scratch->data);
}

/* A merge of tokens that are not there, or into one that is not, means that the vocabulary or the list is another's. */
static bool check_merge(const json_t *vocab, const token_merge *m, str *scratch)
{
    token_text nothing = {"", 0};
    return has_token(vocab, m->left, nothing, scratch) && has_token(vocab, m->right, nothing, scratch) &&
           has_token(vocab, m->left, m->right, scratch);
}

bool json_source_merges(json_source *s)
{
    const json_t *list = json_object_get(s->model, "merges"), *vocab = json_object_get(s->model, "vocab");
    if (!json_is_array(list))
        return err_set(s->e, "%s: \"model\" has no list \"merges\"", s->name);
    size_t count = json_array_size(list);
    if (count > TOKENIZER_MAX_TOKENS)
        return err_set(s->e, "%s: %zu merges", s->name, count);
    s->merges = mem_alloc(count * sizeof *s->merges);
    str scratch = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        if (!get_merge(json_array_get(list, i), &s->merges[i]))
            ok = err_set(s->e, "%s: merge %zu is not of two tokens", s->name, i);
        else if (!check_merge(vocab, &s->merges[i], &scratch))
            ok = err_set(s->e, "%s: merge %zu is of or into a token that is not in the vocabulary: '%s'", s->name, i,
                         token_text_shown((token_text){scratch.data, scratch.length}).text);
    }
    str_free(&scratch);
    if (!ok)
        return false;
    s->parts.merges = s->merges;
    s->parts.merge_count = count;
    return true;
}

int32_t json_source_find(const json_source *s, token_text text)
{
    const json_t *vocab = s->vocab ? s->vocab : json_object_get(s->model, "vocab");
    const json_t *id = text.length ? json_object_get(vocab, text.data) : NULL;
    if (json_is_integer(id))
        return (int32_t)json_integer_value(id);
    for (size_t i = 0; i < s->parts.added_count; i++)
        if (text.length && s->added[i].text.length == text.length &&
            memcmp(s->added[i].text.data, text.data, text.length) == 0)
            return s->added[i].id;
    return TOKEN_NONE;
}
