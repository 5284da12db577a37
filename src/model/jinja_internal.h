/* jinja_internal: what the files of the interpreter share.
 *
 *     jinja_lex.c      text to tokens, with Jinja's rules for white space
 *     jinja_parse*.c   tokens to a tree of nodes
 *     jinja_value.c    memory with a limit, lists and dicts, truth, equality, order
 *     jinja_text.c     texts with marks
 *     jinja_json.c     values as text: Python's repr, and JSON; jinja_from_json.c: the way back
 *     jinja_run.c      statements, scopes, macros
 *     jinja_eval.c     expressions; jinja_args.c: arguments
 *     jinja_filters*.c, jinja_tests.c, jinja_methods*.c, jinja_functions.c
 *
 * Nothing unwinds: the first error is kept in the core, and from then on every step does nothing.              */
#ifndef SOLO_JINJA_INTERNAL_H
#define SOLO_JINJA_INTERNAL_H

#include "model/jinja.h"

enum {
    JINJA_MAX_DEPTH = 400,       /* of statements and expressions inside each other, macros included */
    JINJA_MAX_NESTING = 100,     /* the same while reading a template */
    JINJA_MAX_RANGE = 100000,    /* as in Jinja's sandbox */
    JINJA_MAX_STEPS = 32000000,  /* a second or two */
    JINJA_MAX_BYTES = 128 << 20, /* of a run */
    JINJA_MAX_TEMPLATE = 4 << 20 /* bytes of a template's text */
};

/* ---- the core: memory, limits and the error ------------------------------------------ */

typedef struct jinja_core {
    struct jinja_chunk *chunks;
    size_t bytes, most_bytes;
    uint64_t steps, most_steps;
    uint32_t depth, line;
    bool failed;
    char message[600];
} jinja_core;

/* Zeroed; ends with the core. It is given even over the limit, but the core has failed then: who asks for much asks
 * jinja_has_room first. */
void *jinja_alloc(jinja_core *k, size_t bytes);
bool jinja_has_room(jinja_core *k, size_t bytes);
void jinja_core_free(jinja_core *k);
/* Both return false. */
bool jinja_fail(jinja_core *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool jinja_fail_with(jinja_core *k, jinja_text message);
/* Counts work; false: there was too much of it, or an earlier error. */
bool jinja_step(jinja_core *k, size_t cost);
/* Around what calls itself; jinja_leave only if it is true. */
bool jinja_enter(jinja_core *k);
void jinja_leave(jinja_core *k);

/* ---- texts ------------------------------------------------------------------------------ */

struct jinja_block {
    uint32_t used, capacity;
    char *data, *marks; /* (capacity) each; a mark is 1 where the byte is plain */
};

typedef struct jinja_builder {
    jinja_core *k;
    jinja_block *block;
} jinja_builder;

static inline const char *jinja_bytes(jinja_text t)
{
    return t.block ? t.block->data + t.start : "";
}

static inline jinja_text jinja_part(jinja_text t, size_t start, size_t length)
{
    return (jinja_text){t.block, t.start + (uint32_t)start, (uint32_t)length};
}

void jinja_add(jinja_builder *b, const char *bytes, size_t length, bool plain);
void jinja_add_word(jinja_builder *b, const char *word);
void jinja_add_text(jinja_builder *b, jinja_text t);
/* One character, marked like a byte of another text. */
void jinja_add_point(jinja_builder *b, uint32_t point, bool plain);
jinja_text jinja_built(const jinja_builder *b);
jinja_text jinja_text_of(jinja_core *k, const char *bytes, size_t length, bool plain);
jinja_text jinja_join(jinja_core *k, jinja_text a, jinja_text b);

bool jinja_same(jinja_text a, jinja_text b);
bool jinja_is(jinja_text a, const char *word);
int jinja_order(jinja_text a, jinja_text b);
/* SIZE_MAX: not there. */
size_t jinja_find(jinja_core *k, jinja_text in, jinja_text what, size_t from);
size_t jinja_find_last(jinja_core *k, jinja_text in, jinja_text what);
bool jinja_starts(jinja_text t, jinja_text with);
bool jinja_ends(jinja_text t, jinja_text with);
bool jinja_is_space(uint32_t point); /* as Python's str.isspace */
/* `chars` NULL: white space. */
jinja_text jinja_strip(jinja_text t, const jinja_text *chars, bool left, bool right);
jinja_text jinja_replace(jinja_core *k, jinja_text t, jinja_text old, jinja_text by, int64_t most);
size_t jinja_count_points(jinja_core *k, jinja_text t);
/* The byte at which the character of that number begins. */
size_t jinja_point_at(jinja_text t, size_t number);
bool jinja_has_only_ascii(jinja_text t);
typedef enum { CASE_LOWER, CASE_UPPER, CASE_CAPITAL, CASE_TITLE, CASE_TITLE_FILTER } jinja_case;
jinja_text jinja_cased(jinja_core *k, jinja_text t, jinja_case how);
jinja_text jinja_escape(jinja_core *k, jinja_text t);
/* The bytes of the line at `at`, and with its end in `whole`. */
size_t jinja_line_length(jinja_text t, size_t at, size_t *whole);

/* ---- values ------------------------------------------------------------------------------- */

typedef enum { ITEMS_LIST, ITEMS_TUPLE, ITEMS_RANGE, ITEMS_VIEW, ITEMS_GENERATOR } items_kind;

typedef struct jinja_items {
    items_kind kind;
    size_t count, capacity;
    jinja_value *at; /* (count) */
} jinja_items;

typedef struct jinja_pair {
    jinja_value key, value;
} jinja_pair;

typedef struct jinja_pairs {
    size_t count, capacity;
    jinja_pair *at; /* (count) in the order in which they came */
} jinja_pairs;

typedef struct jinja_method {
    jinja_value self;
    int name;
} jinja_method;

typedef struct jinja_loop {
    const jinja_items *items;
    size_t index;
    jinja_value *changed; /* the last arguments of loop.changed */
} jinja_loop;

static inline jinja_value jinja_undefined(jinja_text name)
{
    return (jinja_value){.type = JINJA_UNDEFINED, .as.text = name};
}

static inline jinja_value jinja_text_as(jinja_text t)
{
    return (jinja_value){.type = JINJA_TEXT, .as.text = t};
}

jinja_value jinja_items_new(jinja_core *k, items_kind kind);
jinja_value jinja_pairs_new(jinja_core *k);
void jinja_items_add(jinja_core *k, jinja_items *items, jinja_value v);
void jinja_pairs_set(jinja_core *k, jinja_pairs *pairs, jinja_value key, jinja_value v);
jinja_value *jinja_pairs_find(jinja_core *k, const jinja_pairs *pairs, jinja_value key);
void jinja_pairs_remove(jinja_pairs *pairs, const jinja_value *value);
/* A text, a number, none, or a tuple of those. */
bool jinja_can_be_key(jinja_core *k, jinja_value v);

static inline bool jinja_is_items(jinja_value v, items_kind kind)
{
    return v.type == JINJA_LIST && v.as.items->kind == kind;
}

bool jinja_is_true(jinja_value v);
bool jinja_is_number(jinja_value v); /* bools too, as in Python */
double jinja_as_real(jinja_value v);
bool jinja_equal(jinja_core *k, jinja_value a, jinja_value b);
/* <0, 0, >0; fails for what Python does not compare. */
int jinja_compare(jinja_core *k, jinja_value a, jinja_value b);
/* What a for loop goes over: a list of it; a generator is empty afterwards. NULL: fails. */
jinja_items *jinja_iterate(jinja_core *k, jinja_value v);
bool jinja_length(jinja_core *k, jinja_value v, size_t *length);
bool jinja_contains(jinja_core *k, jinja_value in, jinja_value what);
const char *jinja_type_name(jinja_value v); /* Python's */

/* ---- values as text -------------------------------------------------------------------- */

jinja_text jinja_str(jinja_core *k, jinja_value v);
void jinja_add_repr(jinja_builder *b, jinja_value v);
void jinja_add_real(jinja_builder *b, double number);

typedef struct jinja_json {
    bool ascii, sorted;
    const jinja_text *indent; /* NULL: on one line */
    jinja_text comma, colon;
} jinja_json;

void jinja_add_json(jinja_builder *b, jinja_value v, const jinja_json *how, uint32_t depth);
void jinja_sort(jinja_core *k, jinja_value *items, jinja_value *keys, size_t count, bool reverse);

/* ---- the tree ------------------------------------------------------------------------------ */

typedef enum {
    /* statements; the children in a .. d */
    S_DATA,     /* value */
    S_OUTPUT,   /* a: the expression */
    S_IF,       /* a: test; b: body; c: else */
    S_FOR,      /* a: target; b: what; c: filter; d: body; e: else */
    S_SET,      /* a: target; b: value */
    S_SET_BODY, /* a: target; b: filters around E_BODY; c: body */
    S_MACRO,    /* symbol: name; a: parameters, E_NAME with a default in `a`; b: body */
    S_CALL,     /* a: the call; b: parameters; c: body */
    S_FILTER,   /* b: filters around E_BODY; c: body */
    S_WITH,     /* a: targets; b: values; c: body */
    S_SCOPE,    /* c: body: {% generation %} */
    S_BREAK,
    S_CONTINUE,
    /* expressions */
    E_CONST,           /* value */
    E_NAME,            /* symbol */
    E_BODY,            /* what the body of a filter block wrote */
    E_ATTR,            /* a; value: the name */
    E_ITEM,            /* a; b: the index */
    E_SLICE,           /* a; b, c, d: start, end, step, or NULL */
    E_CALL,            /* a; b: arguments */
    E_FILTER,          /* a; b: arguments; op: filter; value: its name */
    E_TEST,            /* the same; E_NOT around it where negated */
    E_NOT,             /* a */
    E_NEGATIVE,        /* a */
    E_POSITIVE,        /* a */
    E_MATH,            /* a op b */
    E_AND,             /* a, b */
    E_OR,              /* a, b */
    E_COMPARE,         /* a; b: list of E_OPERAND */
    E_OPERAND,         /* op a */
    E_CONCAT,          /* a: list */
    E_IF,              /* b if a else c */
    E_LIST,            /* a: list */
    E_TUPLE,           /* a: list */
    E_DICT,            /* a: list of keys and values in turn */
    E_KEYWORD,         /* an argument: value: name; a */
    E_SPREAD,          /* *a */
    E_SPREAD_KEYWORDS, /* **a */
    E_PLACE            /* an attribute of a namespace that is set: symbol; value */
} jinja_kind;

typedef struct jinja_node {
    uint8_t kind;
    uint16_t op; /* characters of an operator, the second times 256; else a filter's or test's number */
    uint32_t line, symbol;
    struct jinja_node *a, *b, *c, *d, *e, *next;
    jinja_value value;
} jinja_node;

#define OP2(a, b) ((uint16_t)((a) | (b) << 8))
enum { OP_IN = OP2('i', 'n'), OP_NOT_IN = OP2('n', 'i') };

/* Symbols that are there in every template. */
enum { SYMBOL_LOOP, SYMBOL_CALLER, SYMBOL_VARARGS, SYMBOL_KWARGS, SYMBOL_OWN };

struct jinja_template {
    jinja_core k;
    jinja_node *body;
    jinja_text *symbols; /* (symbol_count) */
    uint32_t symbol_count, symbol_capacity;
    bool uses[SYMBOL_OWN]; /* the own ones */
};

uint32_t jinja_symbol(jinja_template *t, jinja_text name);

typedef enum {
    T_END,
    T_DATA,
    T_OUTPUT,
    T_OUTPUT_END,
    T_TAG,
    T_TAG_END,
    T_NAME,
    T_STRING,
    T_WHOLE,
    T_REAL,
    T_OP
} token_kind;

typedef struct jinja_token {
    token_kind kind;
    uint16_t op;
    uint32_t line;
    const char *text;
    size_t length;
} jinja_token;

typedef struct jinja_tokens {
    jinja_token *at;
    size_t count, capacity;
} jinja_tokens;

/* The tokens point into `source`, which has had its line ends made "\n". Free `at`. */
bool jinja_lex(jinja_core *k, const str *source, jinja_tokens *out);

typedef struct jinja_parser {
    jinja_template *t;
    jinja_core *k; /* the template's */
    const jinja_token *now;
    uint32_t loops; /* around here */
} jinja_parser;

jinja_node *jinja_node_new(jinja_parser *p, jinja_kind kind);
bool jinja_take_op(jinja_parser *p, uint16_t op);
bool jinja_take_name(jinja_parser *p, const char *name);
bool jinja_at_name(const jinja_parser *p, const char *name);
bool jinja_expect_op(jinja_parser *p, uint16_t op);
jinja_text jinja_expect_name(jinja_parser *p);
bool jinja_unexpected(jinja_parser *p, const char *wanted);
jinja_node *jinja_parse_expression(jinja_parser *p);
/* One or several with commas between them; `with_if` false: `if` ends it. */
jinja_node *jinja_parse_tuple(jinja_parser *p, bool with_if);
/* The filters that follow, around `on`; `first`: without the bar before the first. */
jinja_node *jinja_parse_filters(jinja_parser *p, jinja_node *on, bool first);
jinja_node *jinja_parse_postfix(jinja_parser *p, jinja_node *on);
jinja_node *jinja_parse_target(jinja_parser *p, bool with_places);

/* ---- running ----------------------------------------------------------------------------------- */

typedef struct jinja_variable {
    uint32_t symbol;
    jinja_value value;
    struct jinja_variable *next;
} jinja_variable;

typedef struct jinja_scope {
    struct jinja_scope *parent;
    jinja_variable *variables;
    bool is_kept; /* a macro uses it */
} jinja_scope;

typedef struct jinja_macro {
    const jinja_node *node; /* S_MACRO, or S_CALL for its body */
    jinja_scope *around;
} jinja_macro;

struct jinja_run {
    jinja_core k;
    const jinja_template *t;
    jinja_scope *scope;
    jinja_variable *unused; /* of scopes that ended */
    jinja_builder *out;
    jinja_value body; /* of the filter block being run */
    bool has_clock;
    int64_t local_s;
};

/* The arguments of a call. */
typedef struct jinja_args {
    jinja_items *given;
    jinja_pairs *named; /* NULL: none */
} jinja_args;

/* By its place or its name; false: not given. */
bool jinja_arg(jinja_core *k, const jinja_args *args, size_t place, const char *name, jinja_value *out);
bool jinja_arg_whole(jinja_core *k, const jinja_args *args, size_t place, const char *name, int64_t *out);
bool jinja_arg_true(jinja_core *k, const jinja_args *args, size_t place, const char *name, bool otherwise);
bool jinja_arg_text(jinja_core *k, const jinja_args *args, size_t place, const char *name, jinja_text *out);

jinja_value *jinja_lookup(jinja_run *r, uint32_t symbol);
void jinja_assign(jinja_run *r, uint32_t symbol, jinja_value v);
jinja_value jinja_eval(jinja_run *r, const jinja_node *n);
jinja_args jinja_eval_args(jinja_run *r, const jinja_node *list);
jinja_value jinja_call(jinja_run *r, jinja_value what, const jinja_args *args);
jinja_value jinja_call_macro(jinja_run *r, const jinja_macro *m, const jinja_args *args);
jinja_value jinja_get_attribute(jinja_run *r, jinja_value of, jinja_text name);
jinja_value jinja_get_item(jinja_run *r, jinja_value of, jinja_value index);
jinja_value jinja_get_slice(jinja_run *r, jinja_value of, const jinja_value bounds[3]);
jinja_value jinja_math(jinja_run *r, uint16_t op, jinja_value a, jinja_value b);
jinja_value jinja_percent(jinja_run *r, jinja_text format, jinja_value values);

int jinja_filter_named(jinja_text name); /* -1: there is none; the next three, too */
jinja_value jinja_filter(jinja_run *r, int filter, jinja_value v, const jinja_args *args);
int jinja_test_named(jinja_text name);
bool jinja_test(jinja_run *r, int test, jinja_value v, const jinja_args *args);
int jinja_method_named(jinja_value self, jinja_text name);
jinja_value jinja_call_method(jinja_run *r, const jinja_method *m, const jinja_args *args);
int jinja_text_method_named(jinja_text name);
jinja_value jinja_call_text_method(jinja_run *r, int method, jinja_value self, const jinja_args *args);
int jinja_function_named(jinja_text name);
jinja_value jinja_call_function(jinja_run *r, int function, const jinja_args *args);
/* The number of a word among words that end in "\0" each. */
int jinja_find_word(const char *words, jinja_text word);

#endif
