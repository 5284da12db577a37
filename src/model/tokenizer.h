/* tokenizer: text to token ids and back.
 *
 * Decoders have two families: byte-level BPE ("gpt2": ranked merges inside words that a
 * pre-tokenizer cuts) and SentencePiece-like merging by score ("llama": no words,
 * spaces are U+2581, what is not in the vocabulary falls back to bytes).
 *
 * Encoders have two more: WordPiece ("bert": the longest tokens of a word) and Unigram
 * ("t5": of all ways to cut a text the likeliest).
 *
 * A tokenizer is made from `tokenizer_parts`, which any file format can fill in.
 * It copies what it needs; the source may be closed afterwards. It never changes,
 * so that several threads may use one.                                          */
#ifndef SOLO_TOKENIZER_H
#define SOLO_TOKENIZER_H

#include "base/err.h"
#include "base/str.h"
#include "model/gguf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tokenizer tokenizer;

enum { TOKEN_NONE = -1, TOKENIZER_MAX_TOKENS = 1 << 28 };

typedef struct token_list {
    int32_t *ids;
    size_t count, capacity;
} token_list;

void token_list_add(token_list *list, int32_t id);
void token_list_free(token_list *list);

/* ---- making one ------------------------------------------------------------ */

typedef enum { TOKENIZER_BPE, TOKENIZER_SPM, TOKENIZER_WORDPIECE, TOKENIZER_UNIGRAM } tokenizer_kind;

/* GGUF's own numbers. */
typedef enum {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,      /* found in text only when asked for, printed only when asked for */
    TOKEN_USER_DEFINED = 4, /* always found in text, before anything is merged */
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6 /* "<0x0A>" */
} token_type;

/* Spaces around a token found in text that go with it. */
enum { TOKEN_STRIPS_LEFT = 1, TOKEN_STRIPS_RIGHT = 2 };

typedef struct token_text {
    const char *data; /* not terminated */
    size_t length;
} token_text;

typedef struct token_merge {
    token_text left, right;
} token_merge;

/* A token that is looked for in text before anything is merged. */
typedef struct added_token {
    int32_t id;
    token_text text; /* as it is written in text */
    bool normalized; /* looked for in the normalized text, as its own normalized form */
} added_token;

typedef struct tokenizer_parts {
    tokenizer_kind kind;
    size_t token_count;
    const token_text *tokens; /* (token_count) a token's place is its id */
    const float *scores;      /* (token_count) SPM without merges: higher merges first; else NULL */
    const uint8_t *types;     /* (token_count) token_type; NULL: all are normal */
    const uint8_t *strips;    /* (token_count) TOKEN_STRIPS_ bits; NULL: none */
    size_t merge_count;
    const token_merge *merges; /* (merge_count) BPE, SPM instead of scores: the first merges first */
    token_text pre;            /* BPE: the pre-tokenizer's name (pretokenize.h) */
    /* The tokens looked for in text, the leftmost first; NULL: those whose type says so,
     * the longest first. */
    size_t added_count;
    const added_token *added; /* (added_count) */
    size_t end_count;
    const int32_t *ends;                     /* (end_count) they end a text, besides those known to */
    int32_t bos, eos, eot, unknown, padding; /* TOKEN_NONE: there is none */
    bool add_bos, add_eos;
    int32_t ending; /* what add_eos puts behind a text, if that is not eos; or TOKEN_NONE */
    /* SPM: a space goes before the text, and before what follows a special token. BPE:
     * too, unless there is one. */
    bool add_space_prefix;
    bool metaspace;         /* SPM: only where there is none yet ... */
    bool prefix_first_only; /* ... and, with metaspace, only at the very beginning */
    bool space_splits;      /* SPM: nothing merges across the beginning of a space */
    bool fuse_unknown;      /* SPM with merges: one unknown token for several in a row */
    bool no_byte_tokens;    /* SPM with merges: what is not in the vocabulary is unknown */
    bool ignore_merges;     /* a word that is a token is not merged */
    bool nfc;               /* BPE: the text is brought into Unicode's form NFC first */
    /* WordPiece: what stands before the first piece of a word and before the others ("" and "##"); words of more
     * characters are unknown (0: none is); how a text is normalized. Without a lower case, accents stay. */
    token_text first_prefix, next_prefix;
    uint32_t most_characters;
    bool clean_text, space_chinese, strip_accents, lowercase;
    /* Unigram: what characters become (unigram.h), and when that is looked up for them one by one. Of spaces, those
     * at the ends go, several become one, or all whitespace separates words. With add_space_prefix, metaspace,
     * prefix_first_only and space_splits as above. `no_byte_tokens` as above, too. */
    token_text charsmap;
    bool by_graphemes, strips_start, strips_end, merges_spaces, whitespace_splits;
} tokenizer_parts;

/* Tokens that are empty are never found. Of tokens with the same text the first is
 * found. Merges whose parts or result are no tokens are left out. A score that is
 * no number counts as the lowest. */
tokenizer *tokenizer_new(const tokenizer_parts *parts, err *e);

/* From the keys tokenizer.ggml.*; errors name the key. */
tokenizer *tokenizer_from_gguf(const gguf *g, err *e);

void tokenizer_free(tokenizer *t);

/* ---- its special tokens -------------------------------------------------------- */

int32_t tokenizer_bos(const tokenizer *t); /* these: or TOKEN_NONE */
int32_t tokenizer_eos(const tokenizer *t);
bool tokenizer_adds_bos(const tokenizer *t); /* does a text begin with it? */
bool tokenizer_adds_eos(const tokenizer *t);
int32_t tokenizer_ending(const tokenizer *t);        /* what a text then ends with: eos, or another one */
bool tokenizer_ends(const tokenizer *t, int32_t id); /* a turn or a text is over */
enum { TOKENIZER_MAX_ENDS = 15 };
uint32_t tokenizer_list_ends(const tokenizer *t,
                             uint32_t ids[TOKENIZER_MAX_ENDS]); /* the first of those; returns how many */

/* ---- encoding ------------------------------------------------------------------ */

/* Append the ids of a text. With `parse_special`, control tokens written in it are
 * those tokens; else they are text. `add_bos` puts BOS first, if there is one. The
 * text may be any bytes: those that are not UTF-8 are byte tokens for SPM, and
 * U+FFFD for BPE. Fails only for a text of more than 1 GiB. */
bool tokenizer_encode(const tokenizer *t, const char *text, size_t bytes, bool parse_special, bool add_bos,
                      token_list *out, err *e);

/* A part of a text, in bytes. */
typedef struct text_span {
    size_t start, length;
} text_span;

/* The same for a text of which parts are plain: control tokens that are written there,
 * or reach into it, are text. Those elsewhere are tokens. */
bool tokenizer_encode_partly(const tokenizer *t, const char *text, size_t bytes, const text_span *plain,
                             size_t plain_count, bool add_bos, token_list *out, err *e);

/* ---- decoding ------------------------------------------------------------------- */

/* Append the bytes of one token, which may be part of a character. Control tokens
 * and the unknown one have none unless `special`; nor has an id out of range. */
void tokenizer_piece(const tokenizer *t, int32_t id, bool special, str *out);

/* Text as tokens come in, in whole characters. Zero-initialise; begin a text that
 * was encoded from its start with `strip_space`, to take off the space that SPM put
 * there. */
typedef struct decode_stream {
    bool strip_space; /* until the first byte */
    bool special;     /* print control tokens, too */
    char held[4];     /* the beginning of a character */
    size_t held_bytes;
} decode_stream;

/* Append what is complete. Bytes that are no character become U+FFFD, each. */
void decode_stream_add(decode_stream *s, const tokenizer *t, int32_t id, str *out);
void decode_stream_end(decode_stream *s, str *out);

#endif
