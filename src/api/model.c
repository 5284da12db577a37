/* The public API's models: what a file is, and its tokens. */
#include "api/model.h"
#include "model/lora.h"
#include "model/model_text.h"

#include <stdlib.h>
#include <string.h>

solo_model *solo_model_open(const char *path, solo_error *to)
{
    err e = {0};
    solo_model *m = mem_alloc(sizeof *m);
    m->m = model_open(path, &e);
    m->t = m->m ? tokenizer_of_model(m->m, &e) : NULL;
    if (api_result(to, &e, m->t != NULL))
        return m;
    solo_model_close(m);
    return NULL;
}

bool solo_model_add_lora(solo_model *m, const char *path, float scale, solo_error *to)
{
    err e = {0};
    return api_is_here(m, to) && api_is_here(path, to) && api_result(to, &e, lora_merge(m->m, path, scale, &e));
}

void solo_model_close(solo_model *m)
{
    if (!m)
        return;
    tokenizer_free(m->t);
    model_close(m->m);
    free(m);
}

const char *solo_model_architecture(const solo_model *m)
{
    return m ? config_arch_name(model_get_config(m->m)->arch) : NULL;
}

uint32_t solo_model_vocabulary(const solo_model *m)
{
    return m ? model_get_config(m->m)->vocab_tok : 0;
}

uint32_t solo_model_context(const solo_model *m)
{
    return m ? model_get_config(m->m)->context_tok : 0;
}

size_t solo_model_tokenize(const solo_model *m, const char *text, int flags, uint32_t *tokens, size_t room,
                           solo_error *to)
{
    err e = {0};
    token_list list = {0};
    if (!api_is_here(m, to) || !api_is_here(text, to))
        return 0;
    bool begins = !(flags & SOLO_TOKENS_GO_ON) && tokenizer_adds_bos(m->t);
    bool ok = tokenizer_encode(m->t, text, strlen(text), !(flags & SOLO_TOKENS_PLAIN), begins, &list, &e);
    size_t count = ok ? list.count : 0, fit = count < room ? count : room;
    if (fit)
        memcpy(tokens, list.ids, fit * sizeof *tokens);
    token_list_free(&list);
    api_result(to, &e, ok);
    return count;
}

size_t solo_model_detokenize(const solo_model *m, const uint32_t *tokens, size_t count, int flags, char *text,
                             size_t room)
{
    str out = {0};
    decode_stream stream = {.strip_space = !(flags & SOLO_TOKENS_GO_ON), .special = flags & SOLO_TOKENS_SPECIAL};
    for (size_t i = 0; m && i < count; i++)
        decode_stream_add(&stream, m->t, (int32_t)tokens[i], &out);
    decode_stream_end(&stream, &out);
    size_t bytes = out.length, fit = bytes < room ? bytes : room ? room - 1 : 0;
    if (fit)
        memcpy(text, out.data, fit);
    if (room)
        text[fit] = 0;
    str_free(&out);
    return bytes;
}

bool solo_model_ends(const solo_model *m, uint32_t token)
{
    return m && tokenizer_ends(m->t, (int32_t)token);
}
