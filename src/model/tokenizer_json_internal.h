/* tokenizer_json_internal: what the tokenizer_json*.c files share. */
#ifndef SOLO_TOKENIZER_JSON_INTERNAL_H
#define SOLO_TOKENIZER_JSON_INTERNAL_H

#include "model/json_values.h"
#include "model/tokenizer_json.h"

enum { MAX_ENDS = 64 };

/* The files, and the parts of a tokenizer that are gathered from them. */
typedef struct json_source {
    const char *name;                     /* tokenizer.json, as errors call it; valid while it is read */
    json_t *root, *settings, *generation; /* tokenizer.json, tokenizer_config.json, generation_config.json, or NULL */
    const json_t *model;                  /* of root */
    tokenizer_parts parts;
    token_text *tokens;
    uint8_t *types, *strips;
    token_merge *merges;
    added_token *added;
    int32_t ends[MAX_ENDS];
    bool byte_fallback;
    /* of Unigram: the tokens by their texts; their scores, and how many there are; what characters become */
    json_t *vocab;
    float *scores;
    size_t score_count;
    char *charsmap;
    int32_t unknown;
    bool marks_spaces; /* the normalizer has put U+2581 for several spaces */
    err *e;
} json_source;

/* All that follows, and a tokenizer of it; the parts and what they point to stay until json_source_free, also where it
 * fails. Zero-initialise but for `e`. A folder without a tokenizer.json is an error. */
tokenizer *json_source_read(json_source *s, const json_file *tokenizer_json, const json_file *config,
                            const json_file *generation);
tokenizer *json_source_read_folder(json_source *s, const char *path);
void json_source_free(json_source *s);

/* The vocabulary and the added tokens; the merges; the token written so, or TOKEN_NONE
 * (tokenizer_json_tokens.c). */
bool json_source_tokens(json_source *s);
bool json_source_merges(json_source *s);
int32_t json_source_find(const json_source *s, token_text text);

/* All of that for tokenizers of encoders, before the tokens; their scores, behind them (tokenizer_json_encoders.c). */
bool json_source_encoder(json_source *s);
void json_source_scores(json_source *s);

/* The normalizer and the pre-tokenizer (tokenizer_json_steps.c). */
bool json_source_cutting(json_source *s);

#endif
