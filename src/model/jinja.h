/* jinja: runs chat templates: the part of Jinja2 that they use, as transformers sets it up (trim_blocks,
 * lstrip_blocks, loop controls, `{% generation %}`, its own tojson, raise_exception, strftime_now).
 *
 *     jinja_template *t = jinja_parse(text, length, &e);
 *     jinja_run *r = jinja_run_new(t);
 *     jinja_value m = jinja_list(r);
 *     jinja_push(r, m, jinja_text_value(r, "Hello", 5, true));
 *     jinja_set(r, "messages", m);
 *     jinja_render(r, &out, &e);
 *     jinja_run_free(r);
 *     jinja_template_free(t);
 *
 * Templates come from model files and may be hostile: steps, memory and depth are bounded, and there is nothing that
 * reaches outside. An error has the template's line.
 *
 * Each character of a text is either the template's or someone's message ("plain"). It stays so through joining,
 * cutting, replacing and filters; the result says which of its parts are plain, so that nothing in a message becomes a
 * special token.                                                                                                      */
#ifndef SOLO_JINJA_H
#define SOLO_JINJA_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jinja_template jinja_template;
typedef struct jinja_run jinja_run;

/* A value of a run: freed with it. */
typedef struct jinja_value jinja_value;

jinja_template *jinja_parse(const char *text, size_t length, err *e);
void jinja_template_free(jinja_template *t);
/* Is `name` a variable, an attribute or a text of its own somewhere in the template? */
bool jinja_mentions(const jinja_template *t, const char *name);

/* The template must outlive the run. */
jinja_run *jinja_run_new(const jinja_template *t);
void jinja_run_free(jinja_run *r);

/* Seconds since 1970 in local time, for strftime_now; before this call: the system's clock. */
void jinja_set_clock(jinja_run *r, int64_t local_s);
/* Fewer than the default, for tests. */
void jinja_set_limits(jinja_run *r, uint64_t steps, size_t bytes);

jinja_value jinja_none(void);
jinja_value jinja_bool(bool yes);
jinja_value jinja_whole(int64_t number);
jinja_value jinja_real(double number);
jinja_value jinja_text_value(jinja_run *r, const char *text, size_t length, bool plain);
jinja_value jinja_list(jinja_run *r);
jinja_value jinja_dict(jinja_run *r);
void jinja_push(jinja_run *r, jinja_value list, jinja_value item);
void jinja_put(jinja_run *r, jinja_value dict, const char *key, jinja_value item);
/* A key that is not the template's own word. */
void jinja_put_value(jinja_run *r, jinja_value dict, jinja_value key, jinja_value item);
/* A text of JSON as a value; `plain`: its texts are somebody's message. False: it is none, or nests too deep. */
bool jinja_from_json(jinja_run *r, const char *text, size_t length, bool plain, jinja_value *out);
/* A variable of the template. */
void jinja_set(jinja_run *r, const char *name, jinja_value value);

/* A text, and a byte for each of its bytes: 1 where it is plain. Zero-initialise. */
typedef struct jinja_output {
    str text, plain;
} jinja_output;

void jinja_output_free(jinja_output *out);

/* Once for a run. The error of raise_exception is its message. */
bool jinja_render(jinja_run *r, jinja_output *out, err *e);

/* ---- what a value is made of -------------------------------------------------------- */

typedef struct jinja_block jinja_block;

/* A part of a block of bytes, each with its mark. */
typedef struct jinja_text {
    jinja_block *block;
    uint32_t start, length;
} jinja_text;

typedef enum {
    JINJA_UNDEFINED, /* as.text: its name */
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_WHOLE,
    JINJA_REAL,
    JINJA_TEXT,
    JINJA_LIST, /* also tuples, ranges, views of dicts and generators: jinja_items.kind */
    JINJA_DICT,
    JINJA_NAMESPACE,
    JINJA_MACRO,
    JINJA_METHOD,
    JINJA_FUNCTION,
    JINJA_LOOP
} jinja_type;

struct jinja_value {
    uint8_t type;
    bool safe; /* a text that |safe or |escape made: joining escapes the other one */
    union {
        bool yes;
        int64_t whole;
        double real;
        jinja_text text;
        struct jinja_items *items;
        struct jinja_pairs *pairs;
        struct jinja_macro *macro;
        struct jinja_method *method;
        struct jinja_loop *loop;
        int function;
    } as;
};

#endif
