/* grammar: texts that may be written, described in GBNF, as an automaton over bytes.
 *
 *     root  ::= "yes" | "no" | list
 *     list  ::= "[" item ("," item)* "]"      # a comment
 *     item  ::= [a-z]+ | [^\n\x22]{1,3} | .
 *
 * A grammar becomes states with transitions on ranges of bytes; a rule that is named in another is called, and returns.
 * Characters are UTF-8. A matcher reads a text byte by byte and keeps the set of all states that the text may be in,
 * each with the states that calls return to. Sets that came up are kept with their transitions, so that most bytes cost
 * a look into a table.
 *
 * Grammars come from outside: states, depth of calls and size of sets are bounded. A rule that begins with itself is
 * refused.                                                                                                         */
#ifndef SOLO_GRAMMAR_H
#define SOLO_GRAMMAR_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct grammar grammar;

enum {
    GRAMMAR_MOST_BYTES = 256 << 10, /* of its text */
    GRAMMAR_MOST_STATES = 1 << 16,
    GRAMMAR_MOST_RULES = 1024,
};

/* An error names the line. */
grammar *grammar_parse(const char *text, size_t bytes, err *e);
void grammar_free(grammar *g);

/* ---- reading a text ---------------------------------------------------------------------------- */

typedef struct matcher matcher;

enum { MATCHER_DEAD = UINT32_MAX };

/* The grammar must outlive it. */
matcher *matcher_new(const grammar *g);
void matcher_free(matcher *m);

/* Where a text begins. Numbers of sets hold until matcher_tidy. */
uint32_t matcher_start(matcher *m);
/* After one more byte; MATCHER_DEAD: no text goes on so. */
uint32_t matcher_step(matcher *m, uint32_t set, unsigned char byte);
/* May the text end here? */
bool matcher_may_end(const matcher *m, uint32_t set);
/* Forgets sets if there are many, but this one, whose number may then be another. True: it did. */
bool matcher_tidy(matcher *m, uint32_t *set);

#endif
