/* wgsl: what a WGSL file declares at its top: structs, constants, functions.
 *
 * Parses enough of the language to find them and their lines; the bodies of functions are left to
 * the compiler, which sees the very same lines. Comments, attributes and templates are skipped.  */
#ifndef SOLO_SIM_WGSL_H
#define SOLO_SIM_WGSL_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { WGSL_NAME_BYTES = 64, WGSL_TYPE_BYTES = 128 };

/* A member of a struct or a parameter of a function. The type has no spaces in it. */
typedef struct wgsl_member {
    char name[WGSL_NAME_BYTES], type[WGSL_TYPE_BYTES];
    uint32_t line;
} wgsl_member;

/* A struct and its members, or a function, its parameters and what it returns ("" for nothing). */
typedef struct wgsl_declaration {
    enum { WGSL_STRUCT, WGSL_FUNCTION } kind;
    char name[WGSL_NAME_BYTES], result[WGSL_TYPE_BYTES];
    uint32_t line, count;
    wgsl_member *members;
} wgsl_declaration;

/* const NAME: TYPE = VALUE; or override NAME: TYPE = VALUE; */
typedef struct wgsl_constant {
    char name[WGSL_NAME_BYTES], type[WGSL_TYPE_BYTES]; /* the type "" where none is written */
    bool is_override;
    uint32_t line;
    size_t begin, end;             /* the bytes of the declaration, with its semicolon */
    size_t value_begin, value_end; /* those of its value; begin == end: it has none */
    char set[64];                  /* its new value; "": unchanged */
} wgsl_constant;

typedef struct wgsl_token {
    size_t at;
    uint32_t length, line;
    char kind; /* 'n' name, '0' number, else the character itself */
} wgsl_token;

typedef struct wgsl_file {
    char *text;
    wgsl_token *tokens;
    size_t token_count;
    wgsl_declaration *declarations;
    uint32_t declaration_count;
    wgsl_constant *constants;
    uint32_t constant_count;
} wgsl_file;

/* `path` is for errors, which read "PATH:LINE: what". */
bool wgsl_read(wgsl_file *f, const char *path, const char *text, err *e);
void wgsl_free(wgsl_file *f);
/* Part of reading: what is nested too deeply for a compiler is an error (wgsl_nesting.c). */
bool wgsl_check_nesting(const wgsl_file *f, const char *path, err *e);

/* NULL: there is none. */
const wgsl_declaration *wgsl_find(const wgsl_file *f, int kind, const char *name);
const wgsl_constant *wgsl_find_constant(const wgsl_file *f, const char *name);
/* Whether the token is a name that is called: a member or a local of the same name is not. */
bool wgsl_is_call(const wgsl_file *f, size_t at);
/* The line where a function of that name is called first; 0: nowhere. */
uint32_t wgsl_calls(const wgsl_file *f, const char *name);

/* The value of an expression of numbers, constants, + - * / and parentheses; false if it is anything else. */
bool wgsl_evaluate(const wgsl_file *f, const char *expression, double *value);
bool wgsl_constant_value(const wgsl_file *f, const wgsl_constant *c, double *value);

#endif
