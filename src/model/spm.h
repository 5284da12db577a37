/* spm: SentencePiece's merging of texts whose spaces are U+2581, by scores or by a list of merges. */
#ifndef SOLO_SPM_H
#define SOLO_SPM_H

#include "model/bpe.h"
#include "model/vocab.h"

#define SPM_SPACE "\xE2\x96\x81"
enum { SPM_SPACE_BYTES = 3 };

typedef struct spm {
    const vocab *words;
    int32_t byte_ids[256];
    /* No token has a space behind something else, so that nothing merges across the
     * beginning of a word, and words can be done one by one. */
    bool words_apart;
    bool space_splits; /* and each space begins a word, also behind another */
    /* with merges instead of scores */
    bool by_rank, ignore_merges, fuse_unknown, no_byte_tokens;
    int32_t unknown;
    bpe_pairs pairs;
} spm;

void spm_init(spm *s, const vocab *v, const tokenizer_parts *parts);
void spm_free(spm *s);
void spm_encode(const spm *s, merger *m, const char *text, size_t bytes, token_list *out);

/* The bytes of a token: of "<0x0A>" that one, else the text with spaces again. */
void spm_decode(token_text text, bool is_byte, str *out);

#endif
