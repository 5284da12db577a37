/* convert: a model's weights written as a GGUF file that llama.cpp reads, too, with the same logits.
 *
 * They come from a Hugging Face folder, or from a GGUF file whose weights are f32,
 * f16 or bf16. Only a few rows are in memory at a time. Not in the browser. */
#ifndef SOLO_CONVERT_H
#define SOLO_CONVERT_H

#include "base/str.h"
#include "model/gguf_write.h"
#include "model/tokenizer.h"

/* What files can be made of: types that type_from_f32 writes, and mixes of them; NULL past the last one. */
const char *convert_type_name(uint32_t i);

/* `type`: of the matrices, one of these; NULL: the one that they have.
 * `notes` gets lines about what a user should know. */
bool convert_model(const char *from, const char *to, const char *type, str *notes, err *e);

/* The keys tokenizer.ggml.* from a folder's tokenizer.json and what lies beside it
 * (convert_tokenizer.c). Without one the file says that it has no vocabulary. */
bool convert_tokenizer(gguf_writer *w, const char *folder, uint32_t vocab_tok, str *notes, err *e);

/* The same of a tokenizer.json that was read, and the tokenizer of it (tokenizer_json_internal.h). */
struct json_source;
bool convert_tokenizer_read(gguf_writer *w, const struct json_source *json, const tokenizer *t, const char *folder,
                            uint32_t vocab_tok, str *notes, err *e);

#endif
