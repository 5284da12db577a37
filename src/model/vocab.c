/* vocab: a hash table from the text of a token to its id. */
#include "model/vocab.h"

#include <stdlib.h>
#include <string.h>

/* The slot that holds this text, or the free one where it belongs. */
static size_t vocab_slot(const vocab *v, const char *text, size_t length)
{
    size_t at = (size_t)hash_bytes(&v->key, text, length) & v->slot_mask;
    for (; v->slots[at]; at = (at + 1) & v->slot_mask) {
        token_text other = v->texts[v->slots[at] - 1];
        if (other.length == length && memcmp(other.data, text, length) == 0)
            break;
    }
    return at;
}

int32_t vocab_find(const vocab *v, const char *text, size_t length)
{
    if (length == 0 || length > v->longest_bytes)
        return TOKEN_NONE;
    return (int32_t)v->slots[vocab_slot(v, text, length)] - 1;
}

void vocab_init(vocab *v, const tokenizer_parts *parts)
{
    size_t bytes = 0, slots = 16;
    for (size_t i = 0; i < parts->token_count; i++)
        bytes += parts->tokens[i].length;
    while (slots < 2 * parts->token_count)
        slots *= 2;
    *v = (vocab){.count = parts->token_count,
                 .texts = mem_alloc(parts->token_count * sizeof *v->texts),
                 .scores = mem_alloc(parts->token_count * sizeof *v->scores),
                 .types = mem_alloc(parts->token_count),
                 .bytes = mem_alloc(bytes),
                 .slots = mem_alloc(slots * sizeof *v->slots),
                 .slot_mask = slots - 1,
                 .key = hash_new_key()};
    char *at = v->bytes;
    for (size_t i = 0; i < v->count; i++) {
        token_text text = parts->tokens[i];
        v->texts[i] = (token_text){at, text.length};
        v->scores[i] = parts->scores ? parts->scores[i] : 0;
        v->types[i] = parts->types ? parts->types[i] : TOKEN_NORMAL;
        if (text.length == 0)
            continue;
        memcpy(at, text.data, text.length);
        at += text.length;
        if (text.length > v->longest_bytes)
            v->longest_bytes = text.length;
        size_t slot = vocab_slot(v, text.data, text.length);
        if (!v->slots[slot])
            v->slots[slot] = (uint32_t)i + 1;
    }
}

void vocab_free(vocab *v)
{
    free(v->texts);
    free(v->scores);
    free(v->types);
    free(v->bytes);
    free(v->slots);
}
