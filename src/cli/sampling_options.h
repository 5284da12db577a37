/* sampling_options: how tokens are chosen, as run and chat take it on the command line,
 * and chat while it runs. */
#ifndef SOLO_SAMPLING_OPTIONS_H
#define SOLO_SAMPLING_OPTIONS_H

#include "cli/cli.h"
#include "llm/generation.h"

enum { MAX_STOPS = 16 };

typedef struct sampling_options {
    sampling how;
    bool has_seed;
    uint32_t context_tok;         /* 0: the default */
    const char *stops[MAX_STOPS]; /* what the arguments point to */
    size_t stop_count;
} sampling_options;

/* Takes `word` with its value if it is one of these. False with an error: the value is
 * wrong. False without one: the word is not one of these. */
bool sampling_word(cli_args *a, const char *word, sampling_options *o);

/* Sets what "--NAME" sets. False with an error if the value is wrong, without one if
 * there is no such name. */
bool sampling_set(sampling_options *o, const char *name, const char *value, err *e);

/* Without a seed each run is another. */
void sampling_choose_seed(sampling_options *o);

extern const char SAMPLING_HELP[];

#endif
