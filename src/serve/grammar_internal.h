/* grammar_internal: the states of a grammar. */
#ifndef SOLO_GRAMMAR_INTERNAL_H
#define SOLO_GRAMMAR_INTERNAL_H

#include "serve/grammar.h"

typedef enum {
    STATE_JUMP,  /* to `next` */
    STATE_SPLIT, /* to `next` or `other` */
    STATE_BYTES, /* to `next` by a byte from `low` to `high` */
    STATE_CALL,  /* to the rule `other`, which returns to `next` */
    STATE_END,   /* of a rule */
    STATE_DEAD,  /* nothing goes on from here */
} state_kind;

typedef struct grammar_state {
    uint8_t kind, low, high;
    uint32_t next, other;
} grammar_state;

typedef struct grammar_rule {
    char *name;
    uint32_t start;
    uint32_t line; /* where it is named first */
    bool is_defined, can_be_empty;
} grammar_rule;

struct grammar {
    grammar_state *states; /* (state_count) */
    uint32_t state_count, state_capacity;
    grammar_rule *rules; /* (rule_count) */
    uint32_t rule_count, rule_capacity;
    uint32_t root;
    uint8_t byte_class[256]; /* bytes of the same class are alike everywhere */
};

enum { NO_STATE = UINT32_MAX };

/* A part of the automaton: in at `start`, out at `end`, a jump that leads nowhere yet. */
typedef struct fragment {
    uint32_t start, end;
} fragment;

/* NO_STATE: there are too many. */
uint32_t grammar_add_state(grammar *g, state_kind kind, uint32_t next, uint32_t other);

typedef struct code_range {
    uint32_t low, high;
} code_range;

/* One character of these ranges, which are put in order. False: too many states. */
bool grammar_add_class(grammar *g, code_range *ranges, size_t count, bool is_negated, fragment *out);

/* All rules are there, none begins with itself; finds the root, and what can be empty. */
bool grammar_check(grammar *g, err *e);

#endif
