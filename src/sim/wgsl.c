/* wgsl: splits WGSL into tokens, finds its declarations, and evaluates its constants. */
#include "sim/wgsl.h"
#include "base/number.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens --------------------------------------------------------------------- */

typedef struct lexer {
    const char *path, *text, *at;
    uint32_t line;
    err *e;
} lexer;

/* Comments nest in WGSL. False if one has no end. */
static bool skip_comment(lexer *l)
{
    uint32_t began = l->line;
    if (l->at[1] == '/') {
        l->at += strcspn(l->at, "\n");
        return true;
    }
    for (int depth = 0; *l->at; l->at++) {
        if (*l->at == '\n')
            l->line++;
        int opens = strncmp(l->at, "/*", 2) == 0, closes = strncmp(l->at, "*/", 2) == 0;
        depth += opens - closes;
        l->at += opens | closes;
        if (closes && depth == 0) {
            l->at++;
            return true;
        }
    }
    return err_set(l->e, "%s:%u: a comment without an end", l->path, began);
}

static bool skip_blanks(lexer *l)
{
    for (;;) {
        if (*l->at == '\n')
            l->line++;
        if (isspace((unsigned char)*l->at))
            l->at++;
        else if (l->at[0] == '/' && (l->at[1] == '/' || l->at[1] == '*')) {
            if (!skip_comment(l))
                return false;
        } else
            return true;
    }
}

static bool is_name_part(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

static size_t token_length(const char *at)
{
    size_t n = 1;
    bool number = isdigit((unsigned char)at[0]) || (at[0] == '.' && isdigit((unsigned char)at[1]));
    if (!number && !is_name_part(at[0]))
        return 1;
    while (is_name_part(at[n]) || (number && at[n] == '.') ||
           (number && (at[n] == '+' || at[n] == '-') && (at[n - 1] == 'e' || at[n - 1] == 'E') &&
            strncmp(at, "0x", 2) != 0))
        n++;
    return n;
}

static bool read_tokens(wgsl_file *f, const char *path, err *e)
{
    lexer l = {path, f->text, f->text, 1, e};
    size_t room = 0;
    while (skip_blanks(&l) && *l.at) {
        if (f->token_count == room)
            f->tokens = mem_grow(f->tokens, (room = room ? 2 * room : 256) * sizeof *f->tokens);
        size_t n = token_length(l.at);
        char kind = *l.at;
        if (isdigit((unsigned char)kind) || (kind == '.' && n > 1))
            kind = '0';
        else if (is_name_part(kind))
            kind = 'n';
        f->tokens[f->token_count++] = (wgsl_token){(size_t)(l.at - f->text), (uint32_t)n, l.line, kind};
        l.at += n;
    }
    return e->kind == ERR_NONE;
}

static bool is_word(const wgsl_file *f, const wgsl_token *t, const char *word)
{
    return t->length == strlen(word) && memcmp(f->text + t->at, word, t->length) == 0;
}

/* ---- declarations ----------------------------------------------------------------- */

typedef struct reader {
    wgsl_file *f;
    const char *path;
    size_t at;
    err *e;
} reader;

static const wgsl_token END = {.kind = 0};

static const wgsl_token *peek(const reader *r)
{
    return r->at < r->f->token_count ? &r->f->tokens[r->at] : &END;
}

static uint32_t line_of(const reader *r)
{
    size_t n = r->f->token_count;
    return r->at < n ? r->f->tokens[r->at].line : n ? r->f->tokens[n - 1].line : 1;
}

static bool expect(reader *r, char kind, const char *what)
{
    if (peek(r)->kind != kind)
        return err_set(r->e, "%s:%u: %s is expected here", r->path, line_of(r), what);
    r->at++;
    return true;
}

static bool take_name(reader *r, char out[WGSL_NAME_BYTES])
{
    const wgsl_token *t = peek(r);
    if (!expect(r, 'n', "a name"))
        return false;
    if (t->length >= WGSL_NAME_BYTES)
        return err_set(r->e, "%s:%u: a name of more than %d bytes", r->path, t->line, WGSL_NAME_BYTES - 1);
    snprintf(out, WGSL_NAME_BYTES, "%.*s", (int)t->length, r->f->text + t->at);
    return true;
}

/* A type up to whatever ends it outside of its own <> and (), without spaces. */
static bool take_type(reader *r, const char *ends, char out[WGSL_TYPE_BYTES])
{
    size_t n = 0;
    uint32_t line = line_of(r);
    for (int depth = 0; peek(r)->kind && (depth > 0 || !strchr(ends, peek(r)->kind)); r->at++) {
        const wgsl_token *t = peek(r);
        depth += (t->kind == '<' || t->kind == '(') - (t->kind == '>' || t->kind == ')');
        if (n + t->length >= WGSL_TYPE_BYTES)
            return err_set(r->e, "%s:%u: a type of more than %d bytes", r->path, line, WGSL_TYPE_BYTES - 1);
        memcpy(out + n, r->f->text + t->at, t->length);
        n += t->length;
    }
    out[n] = 0;
    return n > 0 || err_set(r->e, "%s:%u: a type is expected here", r->path, line);
}

/* @name or @name(...) */
static void skip_attributes(reader *r)
{
    while (peek(r)->kind == '@') {
        r->at += 2;
        int depth = 0;
        if (peek(r)->kind == '(')
            do {
                depth += (peek(r)->kind == '(') - (peek(r)->kind == ')');
                r->at++;
            } while (depth > 0 && peek(r)->kind);
    }
}

/* name: type, name: type, up to what closes the list */
static bool take_members(reader *r, wgsl_declaration *d, char close)
{
    const char ends[] = {',', close, 0};
    while (peek(r)->kind != close) {
        d->members = mem_grow(d->members, (d->count + 1) * sizeof *d->members);
        wgsl_member *m = &d->members[d->count++];
        *m = (wgsl_member){0};
        skip_attributes(r);
        m->line = line_of(r);
        if (!take_name(r, m->name) || !expect(r, ':', "a colon and a type") || !take_type(r, ends, m->type))
            return false;
        if (peek(r)->kind == ',')
            r->at++;
        else if (peek(r)->kind != close)
            return expect(r, close, close == '}' ? "'}'" : "')'");
    }
    r->at++;
    return true;
}

static bool skip_block(reader *r)
{
    uint32_t line = line_of(r);
    int depth = 0;
    do {
        if (!peek(r)->kind)
            return err_set(r->e, "%s:%u: a '{' without its '}'", r->path, line);
        depth += (peek(r)->kind == '{') - (peek(r)->kind == '}');
        r->at++;
    } while (depth > 0);
    return true;
}

static wgsl_declaration *new_declaration(reader *r, int kind)
{
    wgsl_file *f = r->f;
    f->declarations = mem_grow(f->declarations, (f->declaration_count + 1) * sizeof *f->declarations);
    wgsl_declaration *d = &f->declarations[f->declaration_count++];
    *d = (wgsl_declaration){.line = line_of(r)};
    d->kind = kind == WGSL_STRUCT ? WGSL_STRUCT : WGSL_FUNCTION;
    return d;
}

static bool take_struct(reader *r)
{
    wgsl_declaration *d = new_declaration(r, WGSL_STRUCT);
    return take_name(r, d->name) && expect(r, '{', "'{'") && take_members(r, d, '}');
}

static bool take_function(reader *r)
{
    wgsl_declaration *d = new_declaration(r, WGSL_FUNCTION);
    if (!take_name(r, d->name) || !expect(r, '(', "'('") || !take_members(r, d, ')'))
        return false;
    if (peek(r)->kind == '-') {
        r->at += 2;
        skip_attributes(r);
        if (!take_type(r, "{", d->result))
            return false;
    }
    return peek(r)->kind == '{' ? skip_block(r) : expect(r, '{', "'{'");
}

static bool take_constant(reader *r, bool is_override, size_t begin)
{
    wgsl_file *f = r->f;
    f->constants = mem_grow(f->constants, (f->constant_count + 1) * sizeof *f->constants);
    wgsl_constant *c = &f->constants[f->constant_count++];
    *c = (wgsl_constant){.is_override = is_override, .line = line_of(r), .begin = begin};
    if (!take_name(r, c->name))
        return false;
    if (peek(r)->kind == ':') {
        r->at++;
        if (!take_type(r, "=;", c->type))
            return false;
    }
    if (peek(r)->kind == '=') {
        r->at++;
        c->value_begin = c->value_end = peek(r)->at;
        for (; peek(r)->kind && peek(r)->kind != ';'; r->at++)
            c->value_end = peek(r)->at + peek(r)->length;
    }
    c->end = peek(r)->at + 1;
    return expect(r, ';', "';'");
}

/* enable, requires, alias, const_assert: up to the semicolon */
static bool skip_statement(reader *r)
{
    while (peek(r)->kind && peek(r)->kind != ';')
        r->at++;
    return expect(r, ';', "';'");
}

static bool take_declaration(reader *r)
{
    skip_attributes(r);
    const wgsl_token *t = peek(r);
    if (t->kind == ';') {
        r->at++;
        return true;
    }
    if (!expect(r, 'n', "a declaration"))
        return false;
    if (is_word(r->f, t, "struct"))
        return take_struct(r);
    if (is_word(r->f, t, "fn"))
        return take_function(r);
    if (is_word(r->f, t, "const") || is_word(r->f, t, "override"))
        return take_constant(r, is_word(r->f, t, "override"), t->at);
    /* it would keep its value between steps in one dispatch, and lose it between two dispatches */
    if (is_word(r->f, t, "var"))
        return err_set(r->e, "%s:%u: a var outside of functions: a State is where things are kept", r->path, t->line);
    return skip_statement(r);
}

bool wgsl_read(wgsl_file *f, const char *path, const char *text, err *e)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* a byte order mark, as editors write it, which WGSL does not have */
    *f = (wgsl_file){.text = mem_dup(text + (strncmp(text, mark, 3) == 0 ? 3 : 0))};
    reader r = {f, path, 0, e};
    bool ok = read_tokens(f, path, e) && wgsl_check_nesting(f, path, e);
    while (ok && r.at < f->token_count)
        ok = take_declaration(&r);
    if (!ok)
        wgsl_free(f);
    return ok;
}

void wgsl_free(wgsl_file *f)
{
    for (uint32_t i = 0; i < f->declaration_count; i++)
        free(f->declarations[i].members);
    free(f->declarations);
    free(f->constants);
    free(f->tokens);
    free(f->text);
    *f = (wgsl_file){0};
}

const wgsl_declaration *wgsl_find(const wgsl_file *f, int kind, const char *name)
{
    for (uint32_t i = 0; i < f->declaration_count; i++)
        if ((int)f->declarations[i].kind == kind && strcmp(f->declarations[i].name, name) == 0)
            return &f->declarations[i];
    return NULL;
}

const wgsl_constant *wgsl_find_constant(const wgsl_file *f, const char *name)
{
    for (uint32_t i = 0; i < f->constant_count; i++)
        if (strcmp(f->constants[i].name, name) == 0)
            return &f->constants[i];
    return NULL;
}

bool wgsl_is_call(const wgsl_file *f, size_t at)
{
    const wgsl_token *t = f->tokens + at;
    return t->kind == 'n' && at + 1 < f->token_count && t[1].kind == '(' && (at == 0 || t[-1].kind != '.');
}

uint32_t wgsl_calls(const wgsl_file *f, const char *name)
{
    for (size_t i = 0; i < f->token_count; i++)
        if (wgsl_is_call(f, i) && is_word(f, &f->tokens[i], name))
            return f->tokens[i].line;
    return 0;
}

/* ---- values of constants ------------------------------------------------------------ */

enum {
    MAX_DEPTH = 64,     /* of parentheses and of constants named in constants */
    MAX_FACTORS = 10000 /* constants that use others twice, and so on, would take exponential time */
};

typedef struct evaluation {
    const wgsl_file *f;
    const char *at;
    int depth, *budget;
    bool whole; /* no number with a point or an exponent so far: division cuts off */
    bool ok;
} evaluation;

static double sum(evaluation *v);

static void skip_spaces(evaluation *v)
{
    v->at += strspn(v->at, " \t\r\n");
}

static double number(evaluation *v)
{
    size_t n = token_length(v->at);
    bool hex = strncmp(v->at, "0x", 2) == 0 || strncmp(v->at, "0X", 2) == 0;
    char digits[64], *end;
    snprintf(digits, sizeof digits, "%.*s", (int)n, v->at);
    double value = number_read(digits, &end);
    if (!hex && (strpbrk(digits, ".eEfh")))
        v->whole = false;
    if (n >= sizeof digits || (*end && (end[1] || !strchr(hex ? "iu" : "iufh", *end))))
        v->ok = false;
    v->at += n;
    return value;
}

static double named(evaluation *v)
{
    char name[WGSL_NAME_BYTES];
    size_t n = token_length(v->at);
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), v->at);
    v->at += n;
    skip_spaces(v);
    if (*v->at == '(' && (strcmp(name, "u32") == 0 || strcmp(name, "i32") == 0 || strcmp(name, "f32") == 0)) {
        v->at++;
        double value = sum(v);
        v->ok = v->ok && *v->at == ')';
        v->at += *v->at == ')';
        v->whole = name[0] != 'f';
        return v->whole ? trunc(value) : value;
    }
    const wgsl_constant *c = wgsl_find_constant(v->f, name);
    v->ok = v->ok && c && c->value_end > c->value_begin;
    if (!v->ok)
        return 0;
    size_t length = c->set[0] ? strlen(c->set) : c->value_end - c->value_begin;
    char *text = mem_alloc(length + 1);
    memcpy(text, c->set[0] ? c->set : v->f->text + c->value_begin, length);
    evaluation inner = {v->f, text, v->depth + 1, v->budget, true, true};
    double value = sum(&inner);
    v->ok = inner.ok && !*inner.at;
    v->whole = v->whole && (c->type[0] ? c->type[0] != 'f' : inner.whole);
    free(text);
    return value;
}

static double factor(evaluation *v)
{
    skip_spaces(v);
    if (++v->depth > MAX_DEPTH || --*v->budget < 0)
        v->ok = false;
    double value = 0;
    if (!v->ok)
        return 0;
    if (*v->at == '-') {
        v->at++;
        value = -factor(v);
    } else if (*v->at == '(') {
        v->at++;
        value = sum(v);
        v->ok = v->ok && *v->at == ')';
        v->at += *v->at == ')';
    } else if (isdigit((unsigned char)*v->at) || *v->at == '.')
        value = number(v);
    else if (is_name_part(*v->at))
        value = named(v);
    else
        v->ok = false;
    skip_spaces(v);
    v->depth--;
    return value;
}

static double product(evaluation *v)
{
    double value = factor(v);
    while (v->ok && (*v->at == '*' || *v->at == '/')) {
        bool times = *v->at++ == '*';
        double by = factor(v);
        v->ok = v->ok && (times || by != 0);
        if (v->ok)
            value = times ? value * by : v->whole ? trunc(value / by) : value / by;
    }
    return value;
}

static double sum(evaluation *v)
{
    double value = product(v);
    while (v->ok && (*v->at == '+' || *v->at == '-')) {
        bool plus = *v->at++ == '+';
        double other = product(v);
        value = plus ? value + other : value - other;
    }
    return value;
}

bool wgsl_evaluate(const wgsl_file *f, const char *expression, double *value)
{
    int budget = MAX_FACTORS;
    evaluation v = {f, expression, 0, &budget, true, true};
    *value = sum(&v);
    return v.ok && !*v.at;
}

bool wgsl_constant_value(const wgsl_file *f, const wgsl_constant *c, double *value)
{
    return wgsl_evaluate(f, c->name, value);
}
