/* chat: makes tokens of what a chat template writes. */
#include "model/chat.h"

#include <stdlib.h>
#include <string.h>

void chat_text_free(chat_text *t)
{
    str_free(&t->text);
    free(t->plain);
    *t = (chat_text){0};
}

bool chat_encode(const chat_template *t, const tokenizer *tokens, const chat_message *messages, size_t count,
                 const chat_options *o, token_list *out, err *e)
{
    str bos = {0}, eos = {0};
    chat_text text = {0};
    str_add(&bos, "");
    str_add(&eos, "");
    tokenizer_piece(tokens, tokenizer_bos(tokens), true, &bos);
    tokenizer_piece(tokens, tokenizer_eos(tokens), true, &eos);
    bool ok = chat_render(t, messages, count, o, bos.data, eos.data, &text, e);
    /* the template's own, not a message that begins with the same letters */
    bool begins = ok && bos.length && text.text.length >= bos.length &&
                  memcmp(text.text.data, bos.data, bos.length) == 0 &&
                  (text.plain_count == 0 || text.plain[0].start >= bos.length);
    ok = ok && tokenizer_encode_partly(tokens, text.text.data, text.text.length, text.plain, text.plain_count,
                                       !begins && tokenizer_adds_bos(tokens), out, e);
    chat_text_free(&text);
    str_free(&bos);
    str_free(&eos);
    return ok;
}
