/* model_text: what a model's files say about text: its tokenizer and its chat template. */
#ifndef SOLO_MODEL_TEXT_H
#define SOLO_MODEL_TEXT_H

#include "base/str.h"
#include "model/model.h"
#include "model/tokenizer.h"

/* From the metadata of a GGUF file or the JSON files of a folder. Errors name the file. */
tokenizer *tokenizer_of_model(const model *m, err *e);
/* The same without the weights having to be there. No path: the built-in model. */
tokenizer *tokenizer_of_path(const char *path, err *e);

/* The template as it is written (Jinja); nothing is appended where there is none. */
bool chat_template_of_model(const model *m, str *out, err *e);
bool chat_template_of_path(const char *path, str *out, err *e);

#endif
