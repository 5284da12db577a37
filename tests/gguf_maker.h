/* A GGUF file in the making, for tests of what its keys mean. */
#ifndef SOLO_TEST_GGUF_MAKER_H
#define SOLO_TEST_GGUF_MAKER_H

#include "config_checks.h"
#include "gguf_bytes.h"
#include "model/config_test.h"

#include <stdio.h>
#include <string.h>

/* A file in the making, with tensors of f32, all of them filled with 2. */
typedef struct maker {
    writer file;
    const char *arch;
} maker;

typedef struct key_name {
    char text[128];
} key_name;

/* A key that begins with a dot has the architecture before it. */
static inline key_name full(const maker *m, const char *key)
{
    key_name name;
    snprintf(name.text, sizeof name.text, "%s%s", *key == '.' ? m->arch : "", key);
    return name;
}

static inline void key_u32(maker *m, const char *key, uint32_t value)
{
    add_number(&m->file, full(m, key).text, U32, value, 4);
}

static inline void key_f32(maker *m, const char *key, float value)
{
    add_real(&m->file, full(m, key).text, F32, value);
}

static inline void key_text(maker *m, const char *key, const char *value)
{
    add_text(&m->file, full(m, key).text, value);
}

static inline void key_numbers(maker *m, const char *key, uint32_t a, uint32_t b)
{
    add_array(&m->file, full(m, key).text, U32, 2);
    put(&m->file.keys, a, 4);
    put(&m->file.keys, b, 4);
}

static inline void key_tokens(maker *m, uint32_t count)
{
    add_array(&m->file, "tokenizer.ggml.tokens", TEXT, count);
    for (uint32_t i = 0; i < count; i++)
        put_text(&m->file.keys, "t");
}

static inline void tensor(maker *m, const char *name, uint64_t columns, uint64_t rows)
{
    pad(&m->file.data, 32);
    add_entry(&m->file, name, TYPE_F32, rows ? 2 : 1, (uint64_t[]){columns, rows}, m->file.data.length);
    for (uint64_t i = 0; i < columns * (rows ? rows : 1); i++)
        put(&m->file.data, 0x40000000, 4);
}

/* A small model of this architecture, all but the sizes left out. */
static inline maker make(const char *arch)
{
    maker m = {.arch = arch};
    key_text(&m, "general.architecture", arch);
    key_u32(&m, ".block_count", 4);
    key_u32(&m, ".embedding_length", 64);
    key_u32(&m, ".feed_forward_length", 96);
    key_u32(&m, ".attention.head_count", 4);
    return m;
}

/* Whether a configuration comes of it. Frees what was made. */
static inline bool finish(maker *m, bool with_data, model_config *c, err *e)
{
    size_t data_bytes = m->file.data.length;
    str s = finish_file(&m->file);
    *e = (err){0};
    gguf *g = gguf_read(s.data, with_data ? s.length : s.length - data_bytes, s.length, "f.gguf", NULL, e);
    if (!g)
        fail_msg("%s", e->text);
    bool ok = config_from_gguf(g, c, e);
    gguf_close(g);
    str_free(&s);
    return ok;
}

static inline model_config finish_good(maker *m)
{
    model_config c;
    err e;
    if (!finish(m, true, &c, &e))
        fail_msg("%s", e.text);
    return c;
}

static inline void finish_refused(maker *m, const char *part)
{
    model_config c;
    err e;
    assert_false(finish(m, true, &c, &e));
    if (!strstr(e.text, part))
        fail_msg("\"%s\" does not mention \"%s\"", e.text, part);
}

#endif
