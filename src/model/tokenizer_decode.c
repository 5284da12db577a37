/* tokenizer_decode: from the ids of tokens to text. */
#include "model/tokenizer_internal.h"
#include "model/unicode.h"

#include <string.h>

void tokenizer_piece(const tokenizer *t, int32_t id, bool special, str *out)
{
    if (id < 0 || (size_t)id >= t->words.count)
        return;
    token_text text = t->words.texts[id];
    switch (t->words.types[id]) {
    case TOKEN_CONTROL:
    case TOKEN_UNKNOWN:
        if (special)
            str_add_bytes(out, text.data, text.length);
        break;
    case TOKEN_USER_DEFINED: str_add_bytes(out, text.data, text.length); break;
    case TOKEN_BYTE: spm_decode(text, true, out); break;
    case TOKEN_NORMAL:
        if (t->kind == TOKENIZER_BPE)
            bpe_decode(text, out);
        else if (t->kind == TOKENIZER_WORDPIECE)
            wordpiece_decode(&t->wordpiece, text, out);
        else
            spm_decode(text, false, out);
        break;
    default: break;
    }
}

static void add_replacement(str *out)
{
    str_add(out, "\xEF\xBF\xBD");
}

static void add_byte(decode_stream *s, char byte, str *out)
{
    s->held[s->held_bytes++] = byte;
    int length;
    while (s->held_bytes && (length = utf8_length(s->held, s->held_bytes)) != 0) {
        size_t taken = length > 0 ? (size_t)length : 1;
        if (length > 0)
            str_add_bytes(out, s->held, taken);
        else
            add_replacement(out);
        s->held_bytes -= taken;
        memmove(s->held, s->held + taken, s->held_bytes);
    }
}

void decode_stream_add(decode_stream *s, const tokenizer *t, int32_t id, str *out)
{
    str piece = {0};
    tokenizer_piece(t, id, s->special, &piece);
    for (size_t i = 0; i < piece.length; i++) {
        bool skip = s->strip_space && piece.data[i] == ' ' &&
                    (t->kind == TOKENIZER_WORDPIECE || (t->kind != TOKENIZER_BPE && t->add_space_prefix));
        s->strip_space = false;
        if (!skip)
            add_byte(s, piece.data[i], out);
    }
    str_free(&piece);
}

void decode_stream_end(decode_stream *s, str *out)
{
    for (; s->held_bytes; s->held_bytes--)
        add_replacement(out);
}
