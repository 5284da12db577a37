/* gguf_write: a GGUF file (version 3), written as it comes.
 *
 *     gguf_writer *w = gguf_writer_open(path, e);
 *     gguf_write_text(w, "general.architecture", "llama"); ...   every key
 *     gguf_write_tensor(w, "token_embd.weight", TYPE_F16, 2, dims); ...   every tensor's place
 *     gguf_write_data(w, bytes, n); ...   their data, in that order, in pieces of any size
 *     ok = gguf_writer_close(w, true, e);
 *
 * Nothing but a buffer is held in memory. The file is written beside its target and
 * renamed at the end; where the file system can do it, it has no name until then, so
 * that even a killed program leaves nothing behind. The first thing that goes wrong is
 * kept, makes the rest do nothing, and is told by gguf_writer_close. Not in the browser. */
#ifndef SOLO_GGUF_WRITE_H
#define SOLO_GGUF_WRITE_H

#include "base/err.h"
#include "model/gguf.h"

typedef struct gguf_writer gguf_writer;

/* GGUF's own numbers for the kinds of values. */
typedef enum {
    GGUF_KIND_U8 = 0,
    GGUF_KIND_I8 = 1,
    GGUF_KIND_U16 = 2,
    GGUF_KIND_I16 = 3,
    GGUF_KIND_U32 = 4,
    GGUF_KIND_I32 = 5,
    GGUF_KIND_F32 = 6,
    GGUF_KIND_BOOL = 7,
    GGUF_KIND_TEXT = 8,
    GGUF_KIND_ARRAY = 9,
    GGUF_KIND_U64 = 10,
    GGUF_KIND_I64 = 11,
    GGUF_KIND_F64 = 12
} gguf_kind;

/* NULL if the file cannot be written there. */
gguf_writer *gguf_writer_open(const char *path, err *e);

/* ---- keys, before any tensor -------------------------------------------- */

void gguf_write_whole(gguf_writer *w, const char *key, gguf_kind kind, int64_t value); /* cut to the kind */
void gguf_write_real(gguf_writer *w, const char *key, gguf_kind kind, double value);   /* F32 or F64 */
void gguf_write_u32(gguf_writer *w, const char *key, uint32_t value);
void gguf_write_f32(gguf_writer *w, const char *key, float value);
void gguf_write_bool(gguf_writer *w, const char *key, bool value);
void gguf_write_text(gguf_writer *w, const char *key, const char *text); /* what is not UTF-8 becomes U+FFFD */

/* An array whose items are told one after the other: exactly `count` of them. */
void gguf_write_array(gguf_writer *w, const char *key, gguf_kind items, uint64_t count);
void gguf_write_item_whole(gguf_writer *w, int64_t value);
void gguf_write_item_real(gguf_writer *w, double value);
void gguf_write_item_text(gguf_writer *w, const char *text, size_t length);

/* Key number `i` of another file, as it stands there. */
void gguf_write_copy(gguf_writer *w, const gguf *from, size_t i);

/* ---- tensors ------------------------------------------------------------- */

/* dims[0] is the contiguous one, and a multiple of the type's block. */
void gguf_write_tensor(gguf_writer *w, const char *name, tensor_type type, uint32_t dim_count, const uint64_t *dims);

/* False once something went wrong, so that long work can stop. */
bool gguf_write_data(gguf_writer *w, const void *bytes, size_t count);
/* The data of all tensors that are left: zeros, a hole in the file. */
bool gguf_write_no_data(gguf_writer *w);

/* With `keep`, the file takes its place if it is complete; else nothing is left. */
bool gguf_writer_close(gguf_writer *w, bool keep, err *e);

#endif
