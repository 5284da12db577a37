/* json_values: looking into the JSON files of a Hugging Face folder. */
#ifndef SOLO_JSON_VALUES_H
#define SOLO_JSON_VALUES_H

#include "model/tokenizer.h"

#include <jansson.h>

/* NULL where the key is absent or null. */
const json_t *json_get_present(const json_t *object, const char *key);
bool json_key_is_true(const json_t *object, const char *key);
/* Absent, null or "". */
bool json_key_is_empty(const json_t *object, const char *key);
bool json_key_equals(const json_t *object, const char *key, const char *text);
/* {0} of what is no string. */
token_text json_text_of(const json_t *value);

bool token_text_equals(token_text a, const char *b);

enum { SHOWN_TEXT_BYTES = 80 };
/* A text from the file, short enough and without line ends, for an error. */
typedef struct shown_text {
    char text[SHOWN_TEXT_BYTES + 4];
} shown_text;
shown_text token_text_shown(token_text text);

#endif
