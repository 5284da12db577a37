/* tokenizer_encode: from a text to the ids of its tokens. */
#include "model/nfc.h"
#include "model/tokenizer_internal.h"
#include "model/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 1 << 30 };

/* ---- normalizing --------------------------------------------------------------------- */

/* Appends a text with U+2581 for each space; and what of it is plain, if that is asked
 * for. */
static void add_with_marks(const char *text, size_t bytes, const char *plain, str *out, str *plain_out)
{
    for (size_t at = 0; at < bytes;) {
        const char *space = memchr(text + at, ' ', bytes - at);
        size_t end = space ? (size_t)(space - text) : bytes;
        str_add_bytes(out, text + at, end - at);
        if (plain_out)
            str_add_bytes(plain_out, plain + at, end - at);
        if (space) {
            str_add(out, SPM_SPACE);
            for (int i = 0; plain_out && i < SPM_SPACE_BYTES; i++)
                str_add_bytes(plain_out, plain + end, 1);
        }
        at = end + 1;
    }
}

void tokenizer_normalize(const tokenizer *t, const marked_text *text, str *out, str *plain_out)
{
    if (t->kind == TOKENIZER_WORDPIECE) {
        wordpiece_normalize(&t->wordpiece, text->data, text->bytes, text->plain, out, plain_out);
        return;
    }
    if (t->kind == TOKENIZER_UNIGRAM) {
        unigram_normalize(&t->unigram, text->data, text->bytes, text->plain, out, plain_out);
        return;
    }
    if (t->kind == TOKENIZER_SPM && !t->metaspace) {
        if (t->add_space_prefix && text->bytes) {
            str_add(out, SPM_SPACE);
            if (plain_out)
                str_add_bytes(plain_out, (const char[SPM_SPACE_BYTES]){0}, SPM_SPACE_BYTES);
        }
        add_with_marks(text->data, text->bytes, text->plain, out, plain_out);
        return;
    }
    if (t->nfc) {
        nfc_add(text->data, text->bytes, text->plain, out, plain_out);
        return;
    }
    str_add_bytes(out, text->data, text->bytes);
    if (plain_out)
        str_add_bytes(plain_out, text->plain, text->bytes);
}

/* ---- encoding --------------------------------------------------------------------------- */

/* What an encoding works with, from one piece of text to the next. */
typedef struct workspace {
    merger merger;
    pre_text text;
    pre_words words;
    str bytes, normalized, plain;
    fragments found;
} workspace;

static void encode_bpe(const tokenizer *t, workspace *w, const char *text, size_t bytes, token_list *out)
{
    if (t->add_space_prefix && text[0] != ' ') {
        w->bytes.length = 0;
        str_add(&w->bytes, " ");
        str_add_bytes(&w->bytes, text, bytes);
        pre_text_set(&w->text, w->bytes.data, w->bytes.length);
    } else
        pre_text_set(&w->text, text, bytes);
    pre_split(t->pre, &w->text, &w->words);
    uint32_t at = 0;
    for (uint32_t i = 0; i < w->words.count; i++) {
        w->bytes.length = 0;
        for (; at < w->words.ends[i]; at++) {
            char c[4];
            str_add_bytes(&w->bytes, c, utf8_put(w->text.points[at], c));
        }
        bpe_encode(&t->bpe, &w->merger, w->bytes.data, w->bytes.length, out);
    }
}

static void encode_spm(const tokenizer *t, workspace *w, const char *text, size_t bytes, bool at_start, token_list *out)
{
    if (!t->metaspace) { /* normalizing did it */
        spm_encode(&t->spm, &w->merger, text, bytes, out);
        return;
    }
    bool has_space = text[0] == ' ' || (bytes >= SPM_SPACE_BYTES && memcmp(text, SPM_SPACE, SPM_SPACE_BYTES) == 0);
    w->bytes.length = 0;
    if (t->add_space_prefix && !has_space && (at_start || !t->prefix_first_only))
        str_add(&w->bytes, SPM_SPACE);
    add_with_marks(text, bytes, NULL, &w->bytes, NULL);
    spm_encode(&t->spm, &w->merger, w->bytes.data, w->bytes.length, out);
}

static void encode_piece(const tokenizer *t, workspace *w, const char *text, size_t bytes, bool at_start,
                         token_list *out)
{
    if (bytes == 0) /* normalizing left nothing */
        return;
    if (t->kind == TOKENIZER_BPE)
        encode_bpe(t, w, text, bytes, out);
    else if (t->kind == TOKENIZER_WORDPIECE)
        wordpiece_encode(&t->wordpiece, text, bytes, out);
    else if (t->kind == TOKENIZER_UNIGRAM)
        unigram_encode(&t->unigram, text, bytes, at_start, out);
    else
        encode_spm(t, w, text, bytes, at_start, out);
}

/* Text between the tokens that were found in it as it is. */
static void encode_text(const tokenizer *t, workspace *w, const marked_text *text, bool at_start, token_list *out)
{
    w->normalized.length = w->plain.length = 0;
    tokenizer_normalize(t, text, &w->normalized, text->plain && t->normalized.count ? &w->plain : NULL);
    if (t->normalized.count == 0) {
        encode_piece(t, w, w->normalized.data, w->normalized.length, at_start, out);
        return;
    }
    marked_text normalized = {w->normalized.data, w->normalized.length, text->all_plain,
                              text->plain ? w->plain.data : NULL};
    w->found.count = 0;
    specials_cut(&t->normalized, &normalized, &w->found);
    for (size_t i = 0; i < w->found.count; i++) {
        fragment f = w->found.items[i];
        if (f.id >= 0)
            token_list_add(out, f.id);
        else
            encode_piece(t, w, normalized.data + f.start, f.length, at_start && f.start == 0, out);
    }
}

static bool encode_marked(const tokenizer *t, const marked_text *text, bool add_bos, token_list *out, err *e)
{
    if (text->bytes > MAX_TEXT_BYTES)
        return err_set(e, "the text is larger than 1 GiB");
    if (add_bos && t->bos >= 0)
        token_list_add(out, t->bos);
    if (text->bytes == 0)
        return true;
    workspace w = {0};
    fragments f = {0};
    specials_cut(&t->raw, text, &f);
    for (size_t i = 0; i < f.count; i++) {
        fragment piece = f.items[i];
        marked_text part = {text->data + piece.start, piece.length, text->all_plain,
                            text->plain ? text->plain + piece.start : NULL};
        if (piece.id >= 0)
            token_list_add(out, piece.id);
        else
            encode_text(t, &w, &part, piece.start == 0, out);
    }
    free(f.items);
    free(w.found.items);
    merger_free(&w.merger);
    pre_text_free(&w.text);
    pre_words_free(&w.words);
    str_free(&w.bytes);
    str_free(&w.normalized);
    str_free(&w.plain);
    return true;
}

bool tokenizer_encode(const tokenizer *t, const char *text, size_t bytes, bool parse_special, bool add_bos,
                      token_list *out, err *e)
{
    return encode_marked(t, &(marked_text){text, bytes, !parse_special, NULL}, add_bos, out, e);
}

bool tokenizer_encode_partly(const tokenizer *t, const char *text, size_t bytes, const text_span *plain,
                             size_t plain_count, bool add_bos, token_list *out, err *e)
{
    char *marks = mem_alloc(bytes);
    for (size_t i = 0; i < plain_count; i++)
        if (plain[i].start <= bytes && plain[i].length <= bytes - plain[i].start)
            memset(marks + plain[i].start, 1, plain[i].length);
    bool ok = encode_marked(t, &(marked_text){text, bytes, false, marks}, add_bos, out, e);
    free(marks);
    return ok;
}
