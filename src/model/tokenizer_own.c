/* tokenizer_own: reading what `solo convert` writes about a tokenizer besides the keys tokenizer.ggml.*. */
#include "model/tokenizer_own.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

const char *const own_flag_names[OWN_FLAGS] = {
    OWN_KEY "add_space_prefix", OWN_KEY "metaspace",      OWN_KEY "prefix_first_only", OWN_KEY "space_splits",
    OWN_KEY "fuse_unknown",     OWN_KEY "no_byte_tokens", OWN_KEY "ignore_merges",     OWN_KEY "nfc",
};

bool *own_flag(tokenizer_parts *p, int i)
{
    bool *flags[OWN_FLAGS] = {&p->add_space_prefix, &p->metaspace,      &p->prefix_first_only, &p->space_splits,
                              &p->fuse_unknown,     &p->no_byte_tokens, &p->ignore_merges,     &p->nfc};
    return flags[i];
}

int32_t *own_id(tokenizer_parts *p, int i)
{
    int32_t *ids[OWN_IDS] = {&p->bos, &p->eos, &p->eot, &p->ending, &p->unknown, &p->padding};
    return ids[i];
}

/* An array of ids of tokens; of `count`, unless that is 0. */
static bool get_ids(const gguf *g, const char *key, size_t count, int64_t least, const tokenizer_parts *parts,
                    gguf_array *a, err *e)
{
    if (!gguf_get_whole_numbers(g, key, a, e))
        return false;
    if (a->count > parts->token_count + OWN_IDS || (count && a->count != count))
        return err_set(e, "%s: %zu of them", key, a->count);
    for (size_t i = 0; i < a->count; i++)
        if (gguf_array_int(a, i) < least || gguf_array_int(a, i) >= (int64_t)parts->token_count)
            return err_set(e, "%s: there is no token %lld", key, (long long)gguf_array_int(a, i));
    return true;
}

static bool read_added(const gguf *g, tokenizer_parts *parts, own_parts *own, err *e)
{
    gguf_array ids, texts, normalized;
    if (!get_ids(g, OWN_KEY "added", 0, 0, parts, &ids, e) || !gguf_get_texts(g, OWN_KEY "added_texts", &texts, e) ||
        !gguf_get_numbers(g, OWN_KEY "added_normalized", &normalized, e))
        return false;
    if (texts.count != ids.count || normalized.count != ids.count)
        return err_set(e, OWN_KEY "added_texts: %zu of them for %zu tokens", texts.count, ids.count);
    own->added = mem_alloc(ids.count * sizeof *own->added);
    own->tokens = mem_alloc(parts->token_count * sizeof *own->tokens);
    memcpy(own->tokens, parts->tokens, parts->token_count * sizeof *own->tokens);
    for (size_t i = 0; i < ids.count; i++) {
        gguf_text text = gguf_array_text(&texts, i);
        int32_t id = (int32_t)gguf_array_int(&ids, i);
        own->tokens[id] = (token_text){text.data, text.length};
        own->added[i] = (added_token){id, own->tokens[id], gguf_array_int(&normalized, i) != 0};
    }
    parts->tokens = own->tokens;
    parts->added = own->added;
    parts->added_count = ids.count;
    return true;
}

static bool read_ids(const gguf *g, tokenizer_parts *parts, own_parts *own, err *e)
{
    gguf_array ids, ends;
    if (!get_ids(g, OWN_KEY "ids", OWN_IDS, TOKEN_NONE, parts, &ids, e) ||
        !get_ids(g, OWN_KEY "ends", 0, 0, parts, &ends, e))
        return false;
    for (int i = 0; i < OWN_IDS; i++)
        *own_id(parts, i) = (int32_t)gguf_array_int(&ids, (size_t)i);
    own->ends = mem_alloc(ends.count * sizeof *own->ends);
    for (size_t i = 0; i < ends.count; i++)
        own->ends[i] = (int32_t)gguf_array_int(&ends, i);
    parts->ends = own->ends;
    parts->end_count = ends.count;
    return true;
}

static bool read_strips(const gguf *g, tokenizer_parts *parts, own_parts *own, err *e)
{
    gguf_array a;
    own->strips = mem_alloc(parts->token_count);
    parts->strips = own->strips;
    if (!gguf_has(g, OWN_KEY "strips"))
        return true;
    if (!gguf_get_whole_numbers(g, OWN_KEY "strips", &a, e))
        return false;
    for (size_t i = 0; i < a.count && i < parts->token_count; i++)
        own->strips[i] = (uint8_t)(gguf_array_int(&a, i) & (TOKEN_STRIPS_LEFT | TOKEN_STRIPS_RIGHT));
    return true;
}

bool own_read(const gguf *g, tokenizer_parts *parts, own_parts *own, err *e)
{
    if (!gguf_has(g, OWN_KEY "added") || (parts->kind != TOKENIZER_BPE && parts->kind != TOKENIZER_SPM))
        return true;
    for (int i = 0; i < OWN_FLAGS; i++)
        if (!gguf_get_bool(g, own_flag_names[i], own_flag(parts, i), e))
            return false;
    if (!read_ids(g, parts, own, e) || !read_added(g, parts, own, e) || !read_strips(g, parts, own, e))
        return false;
    if (parts->kind != TOKENIZER_SPM)
        return true;
    parts->scores = NULL;
    return tokenizer_gguf_merges(g, OWN_KEY "merges", parts, &own->merges, e);
}

void own_free(own_parts *own)
{
    free(own->merges);
    free(own->added);
    free(own->ends);
    free(own->strips);
    free(own->tokens);
}
