/* tokenizer_json: a tokenizer from the files of a Hugging Face folder.
 *
 *     tokenizer.json          the vocabulary, the merges, how text is cut: it must be there
 *     tokenizer_config.json   which tokens begin and end a text
 *     generation_config.json  more tokens that end one
 *
 * Of the model type "BPE", two kinds of tokenizer.json are understood: byte-level with a
 * pre-tokenizer whose pattern is known (GPT-2, Llama 3, Qwen, Mistral NeMo), and
 * SentencePiece-like with U+2581 for spaces (Llama 2, Mistral, Phi-3, Gemma). Encoders have
 * "WordPiece", as BERT has it, and "Unigram" with U+2581 for spaces (XLM-R). What is
 * not understood is an error that names it: nothing is guessed.                       */
#ifndef SOLO_TOKENIZER_JSON_H
#define SOLO_TOKENIZER_JSON_H

#include "model/tokenizer.h"

typedef struct json_file {
    const char *name; /* for errors */
    const char *text; /* NULL: there is no such file */
    size_t length;
} json_file;

tokenizer *tokenizer_from_json(const json_file *tokenizer_json, const json_file *config, const json_file *generation,
                               err *e);
tokenizer *tokenizer_from_folder(const char *path, err *e);

/* Appends the template for conversations that tokenizer_config.json has; nothing if
 * there is none. Of several the one called "default". */
bool chat_template_in_folder(const char *path, str *out, err *e);

#endif
