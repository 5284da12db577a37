/* source: reads and checks the declarations of a simulation. */
#include "sim/source.h"
#include "base/number.h"
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const sim_scalar_names[] = {"f32", "i32", "u32"};

double sim_word_value(uint32_t word, sim_scalar type)
{
    float f;
    memcpy(&f, &word, sizeof f);
    return type == SIM_F32 ? (double)f : type == SIM_I32 ? (double)(int32_t)word : (double)word;
}

enum { MAX_GENES = 65536, MAX_TYPE_DEPTH = 8 };

/* ---- the state's type --------------------------------------------------------------- */

typedef struct type_reader {
    const sim_source *s;
    uint32_t line;
    err *e;
} type_reader;

static sim_type *read_type(type_reader *r, const char *text, int depth);

static void free_type(sim_type *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; t->members && i < t->count; i++)
        free_type(t->members[i].type);
    free_type(t->of);
    free(t->members);
    free(t);
}

static bool scalar_named(const char *name, size_t length, sim_scalar *out)
{
    for (int i = 0; i < 3; i++)
        if (length == 3 && memcmp(name, sim_scalar_names[i], 3) == 0) {
            *out = (sim_scalar)i;
            return true;
        }
    return false;
}

/* vec3<f32> or vec3f */
static bool read_vector(const char *text, sim_type *t)
{
    if (strncmp(text, "vec", 3) != 0 || text[3] < '2' || text[3] > '4')
        return false;
    t->kind = SIM_VECTOR;
    t->count = t->words = (uint32_t)(text[3] - '0');
    size_t n = strlen(text);
    if (n == 5 && strchr("fiu", text[4])) {
        t->scalar = text[4] == 'f' ? SIM_F32 : text[4] == 'i' ? SIM_I32 : SIM_U32;
        return true;
    }
    return n == 9 && text[4] == '<' && text[8] == '>' && scalar_named(text + 5, 3, &t->scalar);
}

/* array<TYPE,COUNT> */
static bool read_array(type_reader *r, const char *text, sim_type *t, int depth)
{
    char inner[WGSL_TYPE_BYTES];
    size_t n = strlen(text);
    snprintf(inner, sizeof inner, "%.*s", (int)(n - strlen("array<>")), text + strlen("array<"));
    char *comma = strrchr(inner, ',');
    double count = 0;
    /* the last comma may belong to an inner type: array<array<f32,2>,3> ends in ",3" all the same */
    if (!comma || text[n - 1] != '>' || !wgsl_evaluate(&r->s->file, comma + 1, &count) || count < 1 ||
        count > SIM_MAX_WORDS || count != floor(count))
        return err_set(r->e, "%s:%u: '%s': a State's arrays have a fixed number of elements, from 1 to %d", r->s->path,
                       r->line, text, SIM_MAX_WORDS);
    *comma = 0;
    t->kind = SIM_ARRAY;
    t->count = (uint32_t)count;
    t->of = read_type(r, inner, depth + 1);
    if (!t->of)
        return false;
    t->words = t->count * t->of->words;
    return true;
}

static bool read_struct(type_reader *r, const wgsl_declaration *d, sim_type *t, int depth)
{
    t->kind = SIM_STRUCT;
    t->members = mem_alloc((d->count + 1) * sizeof *t->members);
    for (uint32_t i = 0; i < d->count; i++) {
        r->line = d->members[i].line;
        sim_type *of = read_type(r, d->members[i].type, depth + 1);
        if (!of)
            return false;
        t->members[t->count++] = (sim_member){d->members[i].name, of};
        t->words += of->words;
        if (t->words > SIM_MAX_WORDS)
            break;
    }
    return t->count > 0 || err_set(r->e, "%s:%u: struct %s is empty", r->s->path, d->line, d->name);
}

static sim_type *read_type(type_reader *r, const char *text, int depth)
{
    sim_type *t = mem_alloc(sizeof *t);
    const wgsl_declaration *d = wgsl_find(&r->s->file, WGSL_STRUCT, text);
    bool ok = true;
    if (depth > MAX_TYPE_DEPTH)
        ok = err_set(r->e, "%s:%u: types within types, more than %d", r->s->path, r->line, MAX_TYPE_DEPTH);
    else if (scalar_named(text, strlen(text), &t->scalar)) {
        t->kind = SIM_SCALAR;
        t->count = t->words = 1;
    } else if (strncmp(text, "array<", 6) == 0)
        ok = read_array(r, text, t, depth);
    else if (d)
        ok = read_struct(r, d, t, depth);
    else if (!read_vector(text, t))
        ok = err_set(r->e, "%s:%u: '%s': a State is made of f32, i32, u32, their vectors, arrays and structs%s",
                     r->s->path, r->line, text, strcmp(text, "bool") == 0 ? " (for bool: u32)" : "");
    if (ok && t->words > SIM_MAX_WORDS)
        ok = err_set(r->e, "%s:%u: a State of more than %d words", r->s->path, r->line, SIM_MAX_WORDS);
    if (!ok) {
        free_type(t);
        return NULL;
    }
    return t;
}

static sim_word *name_words(const sim_type *t, const char *name, sim_word *next)
{
    if (t->kind == SIM_SCALAR) {
        snprintf(next->name, sizeof next->name, "%s", name);
        next->type = t->scalar;
        return next + 1;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        char inner[256];
        static const sim_type OF[] = {{.kind = SIM_SCALAR, .scalar = SIM_F32},
                                      {.kind = SIM_SCALAR, .scalar = SIM_I32},
                                      {.kind = SIM_SCALAR, .scalar = SIM_U32}};
        if (t->kind == SIM_VECTOR)
            snprintf(inner, sizeof inner, "%s.%c", name, "xyzw"[i]);
        else if (t->kind == SIM_ARRAY)
            snprintf(inner, sizeof inner, "%s[%u]", name, i);
        else
            snprintf(inner, sizeof inner, "%s%s%s", name, *name ? "." : "", t->members[i].name);
        next = name_words(t->kind == SIM_VECTOR  ? &OF[t->scalar]
                          : t->kind == SIM_ARRAY ? t->of
                                                 : t->members[i].type,
                          inner, next);
    }
    return next;
}

static bool read_state(sim_source *s, err *e)
{
    if (!wgsl_find(&s->file, WGSL_STRUCT, "State"))
        return err_set(e, "%s: 'struct State' is missing: what an individual is", s->path);
    type_reader r = {s, wgsl_find(&s->file, WGSL_STRUCT, "State")->line, e};
    s->state = read_type(&r, "State", 0);
    if (!s->state)
        return false;
    s->words = mem_alloc(s->state->words * sizeof *s->words);
    name_words(s->state, "", s->words);
    return true;
}

/* ---- the functions ------------------------------------------------------------------ */

/* Each parameter must be State, Rng, i or t, as far as `allowed` (letters of "srit") permits. */
static bool check_parameters(const sim_source *s, const wgsl_declaration *d, const char *allowed, err *e)
{
    for (uint32_t k = 0; k < d->count; k++) {
        const wgsl_member *m = &d->members[k];
        char what = 0;
        if (strcmp(m->type, "State") == 0)
            what = 's';
        else if (strcmp(m->type, "ptr<function,Rng>") == 0)
            what = 'r';
        else if (strcmp(m->type, "u32") == 0 && (strcmp(m->name, "i") == 0 || strcmp(m->name, "t") == 0))
            what = m->name[0];
        if (!what || !strchr(allowed, what))
            return err_set(e, "%s:%u: fn %s cannot be given '%s: %s'; it may take%s%s%s%s", s->path, m->line, d->name,
                           m->name, m->type, strchr(allowed, 's') ? " 's: State'" : "",
                           strchr(allowed, 'i') ? " 'i: u32' (the individual)" : "",
                           strchr(allowed, 't') ? " 't: u32' (the step)" : "",
                           strchr(allowed, 'r') ? " 'rng: ptr<function, Rng>'" : "");
    }
    return true;
}

static bool find_function(const sim_source *s, const char *name, const char *allowed, const char *result,
                          const wgsl_declaration **out, err *e)
{
    const wgsl_declaration *d = wgsl_find(&s->file, WGSL_FUNCTION, name);
    *out = d;
    if (!d)
        return err_set(e, "%s: 'fn %s' is missing (it returns %s)", s->path, name, result);
    if (strcmp(d->result, result) != 0)
        return err_set(e, "%s:%u: fn %s returns %s, not %s", s->path, d->line, name, result,
                       d->result[0] ? d->result : "nothing");
    return check_parameters(s, d, allowed, e);
}

static bool find_functions(sim_source *s, err *e)
{
    /* without t: `done` must stay true, or leaving the loop and testing again at each step would differ */
    if (wgsl_find(&s->file, WGSL_FUNCTION, "done") && !find_function(s, "done", "si", "bool", &s->done, e))
        return false;
    return find_function(s, "init", "ir", "State", &s->init, e) &&
           find_function(s, "step", "sirt", "State", &s->step, e) &&
           find_function(s, "score", "si", "f32", &s->score, e);
}

/* What kernels/sim_runtime uses of the language. A file's own `fn log` would take the place of WGSL's there, too: normal()
 * would draw other numbers, without a word. */
static const char *const PREDECLARED[] = {"array",
                                          "atomic",
                                          "atomicAdd",
                                          "atomicExchange",
                                          "atomicLoad",
                                          "atomicMax",
                                          "atomicOr",
                                          "atomicStore",
                                          "bitcast",
                                          "bool",
                                          "clamp",
                                          "cos",
                                          "exp",
                                          "f32",
                                          "i32",
                                          "log",
                                          "max",
                                          "min",
                                          "ptr",
                                          "select",
                                          "sin",
                                          "sqrt",
                                          "storageBarrier",
                                          "u32",
                                          "vec2",
                                          "vec3",
                                          "vec4",
                                          "workgroupBarrier",
                                          "workgroupUniformLoad"};

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool name_is_free(const sim_source *s, const char *name, uint32_t line, err *e)
{
    static const char *const ours[] = {"Rng",  "random",    "random_u32",   "normal",     "normal2", "gene",
                                       "data", "data_rows", "data_columns", "population", "steps",   "other"};
    if (is_among(name, PREDECLARED, sizeof PREDECLARED / sizeof *PREDECLARED))
        return err_set(e, "%s:%u: '%s' is WGSL's own, and Solo uses it; take another name", s->path, line, name);
    if (strncmp(name, "solo_", 5) == 0 || strncmp(name, "other_", 6) == 0 ||
        is_among(name, ours, sizeof ours / sizeof *ours))
        return err_set(e, "%s:%u: the name '%s' is Solo's own; take another one", s->path, line, name);
    return true;
}

/* The file must not declare what the runtime declares or uses. */
static bool names_are_free(const sim_source *s, err *e)
{
    const wgsl_file *f = &s->file;
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->declaration_count; i++)
        ok = name_is_free(s, f->declarations[i].name, f->declarations[i].line, e);
    for (uint32_t i = 0; ok && i < f->constant_count; i++)
        ok = name_is_free(s, f->constants[i].name, f->constants[i].line, e);
    for (size_t i = 0; ok && i + 1 < f->token_count; i++) {
        const wgsl_token *t = &f->tokens[i];
        char name[WGSL_NAME_BYTES];
        if (t->kind != 'n' || t->length != 5 || memcmp(f->text + t->at, "alias", 5) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)t[1].length, f->text + t[1].at);
        ok = name_is_free(s, name, t[1].line, e);
    }
    return ok;
}

/* ---- constants with a meaning --------------------------------------------------------- */

/* 0 if there is no such constant. */
static bool count_named(const sim_source *s, const char *name, double most, uint32_t *out, err *e)
{
    const wgsl_constant *c = wgsl_find_constant(&s->file, name);
    double value;
    if (!c)
        return true;
    if (!wgsl_constant_value(&s->file, c, &value) || value < 1 || value > most || value != floor(value))
        return err_set(e, "%s:%u: %s is a whole number from 1 to %.0f", s->path, c->line, name, most);
    *out = (uint32_t)value;
    return true;
}

static bool find_genes(sim_source *s, err *e)
{
    const wgsl_constant *low = wgsl_find_constant(&s->file, "GENE_LOW");
    const wgsl_constant *high = wgsl_find_constant(&s->file, "GENE_HIGH");
    s->gene_low = -1;
    s->gene_high = 1;
    if (!count_named(s, "GENES", MAX_GENES, &s->genes, e))
        return false;
    if (!s->genes && wgsl_calls(&s->file, "gene"))
        return err_set(e, "%s:%u: gene() is used, and there is no 'const GENES = ...;' that says how many", s->path,
                       wgsl_calls(&s->file, "gene"));
    if (!low && !high)
        return true;
    s->genes_bounded = true;
    if (!low || !high || !wgsl_constant_value(&s->file, low, &s->gene_low) ||
        !wgsl_constant_value(&s->file, high, &s->gene_high) || !(s->gene_low < s->gene_high))
        return err_set(e, "%s:%u: GENE_LOW and GENE_HIGH are two numbers, the first the lower one", s->path,
                       (low ? low : high)->line);
    return true;
}

static bool uses_others(const wgsl_file *f)
{
    for (size_t i = 0; i < f->token_count; i++) {
        const wgsl_token *t = &f->tokens[i];
        const char *at = f->text + t->at;
        if (wgsl_is_call(f, i) && t->length >= 5 && memcmp(at, "other", 5) == 0 && (t->length == 5 || at[5] == '_'))
            return true;
    }
    return false;
}

static bool check_overrides(const sim_source *s, err *e)
{
    for (uint32_t i = 0; i < s->file.constant_count; i++) {
        const wgsl_constant *c = &s->file.constants[i];
        sim_scalar unused;
        if (!c->is_override)
            continue;
        if (!scalar_named(c->type, strlen(c->type), &unused) || c->value_end == c->value_begin)
            return err_set(e, "%s:%u: a parameter is written 'override %s: f32 = VALUE;' (or i32, u32)", s->path,
                           c->line, c->name);
    }
    return true;
}

/* All that may depend on parameters. */
static bool read_sizes(sim_source *s, err *e)
{
    free_type(s->state);
    free(s->words);
    s->state = NULL;
    s->words = NULL;
    return read_state(s, e) && find_genes(s, e) && count_named(s, "STEPS", 4294967294.0, &s->steps, e) &&
           count_named(s, "POPULATION", 4294967295.0, &s->population, e);
}

bool sim_source_read(sim_source *s, const char *path, const char *text, err *e)
{
    *s = (sim_source){.path = mem_dup(path)};
    bool ok = wgsl_read(&s->file, path, text, e) && names_are_free(s, e) && check_overrides(s, e) && read_sizes(s, e) &&
              find_functions(s, e);
    if (!ok) {
        sim_source_free(s);
        return false;
    }
    s->is_coupled = uses_others(&s->file);
    s->uses_data =
        wgsl_calls(&s->file, "data") || wgsl_calls(&s->file, "data_rows") || wgsl_calls(&s->file, "data_columns");
    return true;
}

void sim_source_free(sim_source *s)
{
    free_type(s->state);
    free(s->words);
    free(s->path);
    wgsl_free(&s->file);
    *s = (sim_source){0};
}

/* ---- parameters ------------------------------------------------------------------------ */

static void list_parameters(const sim_source *s, str *out)
{
    for (uint32_t i = 0; i < s->file.constant_count; i++)
        if (s->file.constants[i].is_override)
            str_addf(out, "%s%s", out->length ? ", " : "", s->file.constants[i].name);
}

/* The value as WGSL writes it, if it is one of this type. */
static bool write_value(const char *type, const char *text, char out[64])
{
    char *end;
    errno = 0;
    if (strcmp(type, "f32") == 0) {
        double value = number_read(text, &end);
        if (errno || end == text || *end || !isfinite((float)value))
            return false;
        number_locale l = number_begin();
        snprintf(out, 64, "%.9g", value);
        number_end(l);
        if (!strpbrk(out, ".e"))
            snprintf(out + strlen(out), 8, ".0");
        return true;
    }
    long long value = strtoll(text, &end, 0);
    bool is_signed = type[0] == 'i';
    if (errno || end == text || *end || value < (is_signed ? INT32_MIN : 0) ||
        value > (is_signed ? INT32_MAX : (long long)UINT32_MAX))
        return false;
    /* the lowest i32 has no literal: its digits alone are too large */
    snprintf(out, 64, value == INT32_MIN ? "-2147483647 - 1" : "%lld", value);
    return true;
}

bool sim_source_set(sim_source *s, const char *assignment, err *e)
{
    size_t n = strcspn(assignment, "=");
    char name[WGSL_NAME_BYTES] = "";
    if (n < sizeof name)
        snprintf(name, sizeof name, "%.*s", (int)n, assignment);
    const wgsl_constant *c = wgsl_find_constant(&s->file, name);
    if (!assignment[n])
        return err_set_kind(e, ERR_USAGE, "a parameter is given as NAME=VALUE, not '%s'", assignment);
    if (!c || !c->is_override) {
        str all = {0};
        list_parameters(s, &all);
        err_set_kind(e, ERR_USAGE, "%s has no parameter '%.*s'%s%s", s->path, (int)n, assignment,
                     all.data ? "; it has " : "", all.data ? all.data : "");
        str_free(&all);
        return false;
    }
    char value[sizeof c->set];
    if (!write_value(c->type, assignment + n + 1, value))
        return err_set_kind(e, ERR_USAGE, "the parameter %s takes a number of type %s, not '%s'", name, c->type,
                            assignment + n + 1);
    memcpy(s->file.constants[c - s->file.constants].set, value, sizeof value);
    return read_sizes(s, e);
}

/* `override` becomes `const`, with the value that was set; a value over several lines leaves empty lines, so that those
 * below keep their numbers. */
char *sim_source_text(const sim_source *s)
{
    str out = {0};
    const char *text = s->file.text;
    size_t at = 0;
    for (uint32_t i = 0; i < s->file.constant_count; i++) {
        const wgsl_constant *c = &s->file.constants[i];
        if (!c->is_override)
            continue;
        str_add_bytes(&out, text + at, c->begin - at);
        str_add(&out, "const");
        at = c->begin + strlen("override");
        if (!c->set[0])
            continue;
        str_add_bytes(&out, text + at, c->value_begin - at);
        str_add(&out, c->set);
        for (size_t k = c->value_begin; k < c->value_end; k++)
            if (text[k] == '\n')
                str_add(&out, "\n");
        at = c->value_end;
    }
    str_add(&out, text + at);
    return out.data;
}
