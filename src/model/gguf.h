/* gguf: a GGUF file (versions 2 and 3), all of it checked before it is used.
 *
 * The header (metadata and the list of tensors) is read from memory; the tensors'
 * data need not be there. A file on disk is mapped (gguf_open). In a browser only
 * the header is in memory, and a tensor's place in the file is what one needs.
 *
 * Nothing is copied: strings and arrays point into the header's bytes, which stay
 * until gguf_close. Strings are not terminated. Memory is taken in proportion to
 * the bytes that are there, never to a count that the file claims.
 *
 * Keys, names of tensors and texts are UTF-8, keys and names without control
 * characters. The items of an array of texts may be any bytes: a token can be a
 * piece of a character.                                                       */
#ifndef SOLO_GGUF_H
#define SOLO_GGUF_H

#include "base/err.h"
#include "graph/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gguf gguf;

typedef struct gguf_text {
    const char *data;
    size_t length;
} gguf_text;

enum { GGUF_MAX_DIMS = 4 };

typedef struct gguf_tensor {
    gguf_text name;
    tensor_type type;
    uint32_t dim_count;
    uint64_t dims[GGUF_MAX_DIMS]; /* dims[0] is the contiguous one; unused ones are 1 */
    uint64_t offset, bytes;       /* in the file, or the part of it that it is in */
    const void *data;             /* NULL if only the header is in memory */
} gguf_tensor;

/* Map a file, and if it is a part of a split model (NAME-00002-of-00003.gguf) all the others beside it: they look like
 * one. Errors name the file and what in it is wrong. */
gguf *gguf_open(const char *path, err *e);

/* Read a header from `bytes`, of which `available` are there out of a file of
 * `file_bytes`. The bytes must outlive the gguf. When the header is longer than
 * what is available, the error's text says how many more bytes to bring, and
 * `*wanted` (if given) how many are known to be needed in all; it is 0 when more
 * bytes would not help. */
gguf *gguf_read(const void *bytes, size_t available, uint64_t file_bytes, const char *name, uint64_t *wanted, err *e);

void gguf_close(gguf *g);

size_t gguf_tensor_count(const gguf *g);
const gguf_tensor *gguf_tensor_at(const gguf *g, size_t i);
const gguf_tensor *gguf_find_tensor(const gguf *g, const char *name); /* or NULL */

/* Which part of a split model this file says it is. */
typedef struct gguf_part {
    uint32_t number, count; /* from 0; a model that is not split is part 0 of 1 */
    uint32_t tensors;       /* of all parts */
} gguf_part;
bool gguf_get_part(const gguf *g, gguf_part *p, err *e);

/* ---- metadata ------------------------------------------------------------ */

/* Each returns false with an error that names the key if it is missing or of
 * another type. Whole numbers of every width convert where they fit. */
bool gguf_has(const gguf *g, const char *key);
bool gguf_get_u32(const gguf *g, const char *key, uint32_t *value, err *e);
bool gguf_get_f32(const gguf *g, const char *key, float *value, err *e);
bool gguf_get_bool(const gguf *g, const char *key, bool *value, err *e);
bool gguf_get_text(const gguf *g, const char *key, gguf_text *value, err *e);

/* An array of texts or of numbers. */
typedef struct gguf_array {
    size_t count;
    const struct gguf_value *value; /* opaque */
} gguf_array;
bool gguf_get_texts(const gguf *g, const char *key, gguf_array *array, err *e);
bool gguf_get_numbers(const gguf *g, const char *key, gguf_array *array, err *e); /* any width, or bool */
bool gguf_get_whole_numbers(const gguf *g, const char *key, gguf_array *array, err *e);
bool gguf_get_reals(const gguf *g, const char *key, gguf_array *array, err *e);
/* Nothing, or 0, past the end or of the other kind of array. An int is cut to a
 * whole number and to what 64 bits hold. */
gguf_text gguf_array_text(const gguf_array *array, size_t i);
int64_t gguf_array_int(const gguf_array *array, size_t i);
double gguf_array_float(const gguf_array *array, size_t i);

/* Every key, for listing, in the order of the file. */
size_t gguf_key_count(const gguf *g);
gguf_text gguf_key_at(const gguf *g, size_t i);

#endif
