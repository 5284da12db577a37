/* synth_tokenizer: a made-up vocabulary of any size. */
#include "base/str.h"
#include "model/synth_internal.h"
#include "model/tokenizer.h"

/* gpt2's: the 256 bytes, a letter after a space, made-up words, and at the end what
 * begins and ends a text. Any text can be encoded, and any token printed. */
enum { BYTES = 256, LETTERS = 26, FIRST_WORD = BYTES + LETTERS, CONTROLS = 2 };

#define SPACE "\xc4\xa0" /* U+0120 stands for a space */

/* The character that stands for a byte: itself if it can be seen, else one after U+0100. */
static void put_byte(str *s, int byte)
{
    int point = byte, hidden = 0;
    for (int b = 0; b <= byte; b++) {
        bool seen = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        if (b == byte && !seen)
            point = 0x100 + hidden;
        hidden += !seen;
    }
    char utf8[2] = {(char)(0xc0 | point >> 6), (char)(0x80 | (point & 63))};
    if (point < 0x80)
        str_addf(s, "%c", point);
    else
        str_add_bytes(s, utf8, 2);
}

/* Syllables, as many as it takes: every number has a word of its own. */
static void put_word(str *s, uint32_t number)
{
    static const char first[] = "bdfgklmnprstvz", second[] = "aeiou";
    enum { FIRST = sizeof first - 1, SECOND = sizeof second - 1 };
    str_add(s, number % 4 ? SPACE : ""); /* most begin a word */
    number += FIRST * SECOND;            /* two syllables at least, unlike a letter */
    for (; number; number /= FIRST * SECOND) {
        uint32_t syllable = number % (FIRST * SECOND);
        str_addf(s, "%c%c", first[syllable / SECOND], second[syllable % SECOND]);
    }
}

static void token_text_of(str *s, uint32_t id, uint32_t count)
{
    s->length = 0;
    if (id < BYTES)
        put_byte(s, (int)id);
    else if (id < FIRST_WORD)
        str_addf(s, SPACE "%c", 'a' + (int)id - BYTES);
    else if (id + CONTROLS < count)
        put_word(s, id - FIRST_WORD);
    else
        str_add(s, id + 1 == count ? "<|end|>" : "<|begin|>");
}

void synth_write_tokenizer(gguf_writer *w, uint32_t vocab, const char *pre, bool add_bos)
{
    str text = {0};
    gguf_write_text(w, "tokenizer.ggml.model", "gpt2");
    gguf_write_text(w, "tokenizer.ggml.pre", pre);
    gguf_write_array(w, "tokenizer.ggml.tokens", GGUF_KIND_TEXT, vocab);
    for (uint32_t i = 0; i < vocab; i++) {
        token_text_of(&text, i, vocab);
        gguf_write_item_text(w, text.data, text.length);
    }
    gguf_write_array(w, "tokenizer.ggml.token_type", GGUF_KIND_I32, vocab);
    for (uint32_t i = 0; i < vocab; i++)
        gguf_write_item_whole(w, i + CONTROLS < vocab ? TOKEN_NORMAL : TOKEN_CONTROL);
    gguf_write_array(w, "tokenizer.ggml.merges", GGUF_KIND_TEXT, LETTERS);
    for (char letter = 'a'; letter <= 'z'; letter++) {
        text.length = 0;
        str_addf(&text, SPACE " %c", letter);
        gguf_write_item_text(w, text.data, text.length);
    }
    str_free(&text);
    gguf_write_u32(w, "tokenizer.ggml.bos_token_id", vocab - 2);
    gguf_write_u32(w, "tokenizer.ggml.eos_token_id", vocab - 1);
    gguf_write_bool(w, "tokenizer.ggml.add_bos_token", add_bos);
}
