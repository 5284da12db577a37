/* sampling_options: how tokens are chosen, as run and chat take it on the command line, and chat while it runs. */
#ifndef SOLO_SAMPLING_OPTIONS_H
#define SOLO_SAMPLING_OPTIONS_H

#include "cli/cli.h"
#include "llm/session.h"

typedef struct sampling_options {
    sampling how;
    int64_t seed;         /* negative: another each time */
    uint32_t context_tok; /* 0: the default */
    const char *cache;    /* NULL: the default */
    text_list stops;      /* what the arguments point to */
} sampling_options;

extern const option SAMPLING_TABLE[]; /* --temp and what else is chosen by a number */
extern const option TEXT_TABLE[];     /* --stop, -c: where a text ends */

/* Sets what "--NAME" of SAMPLING_TABLE sets. False with an error if the value is wrong, without one if
 * there is no such name. */
bool sampling_set(sampling_options *o, const char *name, const char *value, err *e);

/* Without a seed each run is another. */
void sampling_choose_seed(sampling_options *o);

/* What was loaded from a file, and over it what the command line says otherwise than its defaults. */
sampling sampling_over(const sampling *loaded, const sampling *given, const sampling *defaults, bool seed_is_given);

/* A session with these options, to be prepared. */
session *cli_begin_session(const cli_model *m, const sampling_options *s, session_options o, const model *opened,
                           gpu *g, err *e);
/* Uploads and compiles; notices go to stderr, a line each. */
bool cli_prepare_session(session *s, const model *m, err *e);

#endif
