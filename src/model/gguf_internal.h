/* gguf_internal: what the files that read GGUF share (gguf.c, gguf_reader.c, gguf_metadata.c, gguf_tensors.c,
 * gguf_split.c).
 *
 * The file: "GGUF", version, number of tensors, number of keys; the keys with
 * their values; the tensors' names, shapes, types and places; padding; data. All
 * little-endian. A text is its length in 8 bytes and its bytes. */
#ifndef SOLO_GGUF_INTERNAL_H
#define SOLO_GGUF_INTERNAL_H

#include "base/map.h"
#include "model/gguf.h"

enum {
    GGUF_MIN_KEY_BYTES = 8 + 1 + 4 + 1,            /* a key of one letter, its type, one byte */
    GGUF_MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8, /* a name of one letter, one dimension */
    GGUF_SHOWN_BYTES = 96                          /* of a key or a name, in an error */
};

typedef struct gguf_value gguf_value; /* gguf_metadata.c */

struct gguf {
    char *name;
    map file; /* where gguf_open mapped one */
    uint32_t version;
    gguf_value *values;
    size_t value_count;
    const gguf_value **by_key; /* sorted */
    gguf_tensor *tensors;
    size_t tensor_count;
    const gguf_tensor **by_name; /* sorted */
    gguf **parts;                /* (part_count): the other files of a split model, whose tensors are in the list */
    size_t part_count;
};

/* ---- gguf_reader.c: the header's bytes, none of them read before it is known to be there ---- */

typedef struct gguf_reader {
    const uint8_t *bytes;
    size_t at, available;
    uint64_t file_bytes;
    uint64_t rest; /* bytes that must follow what is being read, at the least */
    const char *name;
    char where[GGUF_SHOWN_BYTES + 64]; /* the key or tensor that is being read */
    uint64_t *wanted;
    err *e;
} gguf_reader;

/* Sets an error that names the file and what is being read. Returns false. */
bool gguf_reader_fail(gguf_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Are there n bytes more, and what must follow them? */
bool gguf_reader_need(gguf_reader *r, uint64_t n);
bool gguf_reader_u32(gguf_reader *r, uint32_t *value);
bool gguf_reader_u64(gguf_reader *r, uint64_t *value);
bool gguf_reader_text(gguf_reader *r, gguf_text *t);
/* A key or a tensor's name. From here on, errors name it. */
bool gguf_reader_name(gguf_reader *r, const char *what, size_t index, size_t limit_bytes, gguf_text *name);

/* A little-endian whole number of so many bytes. */
uint64_t gguf_load(const uint8_t *p, size_t bytes);
bool gguf_is_utf8(gguf_text t);
/* As strcmp. */
int gguf_text_order(gguf_text a, gguf_text b);
/* Of a text whose bytes were checked: as many bytes as an error has room for. */
int gguf_shown(gguf_text t);
/* Room for one more in a list that doubles: what is taken follows what was read. */
void *gguf_with_room(void *list, size_t count, size_t item_bytes);

/* ---- the two lists of a header ---- */

bool gguf_read_values(gguf_reader *r, gguf *g, uint64_t count); /* gguf_metadata.c */
void gguf_free_values(gguf *g);
bool gguf_read_tensors(gguf_reader *r, gguf *g, uint64_t count, uint32_t alignment); /* gguf_tensors.c */

/* Adds the tensors of other parts, whose data stay theirs. A name may be there only once. */
bool gguf_adopt_tensors(gguf *g, gguf *const *parts, size_t count, err *e);

/* ---- one file, and those of a split model (gguf_split.c) ---- */

gguf *gguf_open_file(const char *path, err *e); /* alone, whatever it says of other parts */

/* All parts of the model that `opened`, read from `path`, is one of; itself if it is no part. NULL: it is closed. */
gguf *gguf_open_parts(gguf *opened, const char *path, err *e);
/* The parts, in their order, become one, which is closed as one. NULL: all are closed. */
gguf *gguf_join(gguf **parts, uint32_t count, err *e);

#endif
