/* source: a simulation as its author wrote it, read and checked.
 *
 *     struct State { x: f32, v: f32 }                      what an individual is
 *     fn init(i: u32, rng: ptr<function, Rng>) -> State    how it begins
 *     fn step(s: State, t: u32) -> State                   one step
 *     fn score(s: State) -> f32                            how well it did: higher is better
 *     fn done(s: State) -> bool                            if there: no further steps for this one
 *
 * The functions take what they name: a State, a pointer to an Rng, `i` (which individual) and
 * `t` (which step, from 0), in any order. `override NAME: TYPE = VALUE;` is a parameter,
 * `const GENES = N;` gives every individual N numbers of its own that gene(k) reads,
 * data(row, column) reads a table, other(j) the state of another individual as the step
 * before left it: individuals are then coupled, and all take a step before any takes the next. */
#ifndef SOLO_SIM_SOURCE_H
#define SOLO_SIM_SOURCE_H

#include "sim/wgsl.h"

enum { SIM_MAX_WORDS = 1024 };

typedef enum { SIM_F32, SIM_I32, SIM_U32 } sim_scalar;
extern const char *const sim_scalar_names[];

/* A word of the state. Its place: word w of individual i is at w * population + i. */
typedef struct sim_word {
    char name[96]; /* "x", "position.y", "cash[3]" */
    sim_scalar type;
} sim_word;

/* A word as a number. */
double sim_word_value(uint32_t word, sim_scalar type);

typedef struct sim_type sim_type;
typedef struct sim_member {
    const char *name;
    sim_type *type;
} sim_member;
struct sim_type {
    enum { SIM_SCALAR, SIM_VECTOR, SIM_ARRAY, SIM_STRUCT } kind;
    sim_scalar scalar;   /* of a scalar or a vector */
    uint32_t count;      /* components, elements or members */
    uint32_t words;      /* all of it */
    sim_type *of;        /* an array's elements */
    sim_member *members; /* a struct's */
};

typedef struct sim_source {
    char *path; /* as errors name it */
    wgsl_file file;
    sim_type *state;
    sim_word *words; /* (state->words) */
    const wgsl_declaration *init, *step, *score, *done;
    uint32_t genes; /* 0: individuals have none */
    bool genes_bounded;
    double gene_low, gene_high;
    uint32_t steps, population; /* what the file suggests, const STEPS and const POPULATION; 0: nothing */
    bool is_coupled, uses_data;
} sim_source;

bool sim_source_read(sim_source *s, const char *path, const char *text, err *e);
void sim_source_free(sim_source *s);

/* "NAME=VALUE" for one of the file's overrides. */
bool sim_source_set(sim_source *s, const char *assignment, err *e);

/* The file's text with the overrides as constants, line for line. To be freed. */
char *sim_source_text(const sim_source *s);

#endif
