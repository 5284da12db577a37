/* sampling_options: the table of sampling, the seed where none is given, and a session by all that. */
#include "cli/sampling_options.h"
#include "base/clock.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_STOPS = 16, MOST_CONTEXT_TOK = 1 << 24 };

const option SAMPLING_TABLE[] = {
    {.name = "temp",
     .value = "T",
     .kind = OPTION_REAL,
     .high = 100,
     INTO(sampling_options, how.temperature),
     .help = "how freely tokens are chosen; 0: always the most likely one"},
    {.name = "top-k",
     .value = "K",
     .kind = OPTION_WHOLE,
     .high = UINT32_MAX,
     INTO(sampling_options, how.top_k),
     .help = "only from the K most likely; 0: from all"},
    {.name = "top-p",
     .value = "P",
     .kind = OPTION_REAL,
     .high = 1,
     INTO(sampling_options, how.top_p),
     .help = "only from the most likely that together have the probability P; 0: from all"},
    {.name = "min-p",
     .value = "P",
     .kind = OPTION_REAL,
     .high = 1,
     INTO(sampling_options, how.min_p),
     .help = "only from those at least P times as likely as the most likely"},
    {.name = "repeat-penalty",
     .value = "R",
     .kind = OPTION_REAL,
     .high = 10,
     INTO(sampling_options, how.repeat_penalty),
     .help = "makes tokens that were there lately less likely; 1: does not",
     .otherwise = "1"},
    {.name = "seed",
     .value = "S",
     .kind = OPTION_WHOLE,
     .high = UINT32_MAX,
     INTO(sampling_options, seed),
     .help = "the same seed gives the same text",
     .otherwise = "another each time"},
    {0}};

const option TEXT_TABLE[] = {{.name = "stop",
                              .value = "TEXT",
                              .kind = OPTION_TEXTS,
                              .low = 1,
                              .high = MAX_STOPS,
                              INTO(sampling_options, stops),
                              .help = "ends the text where this would come; may be given several times"},
                             {.name = "context",
                              .letter = 'c',
                              .value = "N",
                              .kind = OPTION_WHOLE,
                              .low = 1,
                              .high = MOST_CONTEXT_TOK,
                              INTO(sampling_options, context_tok),
                              .help = "at most so many tokens are remembered",
                              .otherwise = "as many as the model was made for, or as fit the memory"},
                             {.name = "cache-type",
                              .value = "TYPE",
                              .names = generation_cache_name,
                              INTO(sampling_options, cache),
                              .help = "of the keys and values that are kept: {names}",
                              .otherwise = "f16"},
                             {0}};

bool sampling_set(sampling_options *o, const char *name, const char *value, err *e)
{
    if (!options_set(SAMPLING_TABLE, o, name, value, e))
        return false;
    if (strcmp(name, "seed") == 0)
        o->how.seed = (uint32_t)o->seed;
    return true;
}

void sampling_choose_seed(sampling_options *o)
{
    if (o->seed < 0) {
        rng r = rng_seed(clock_ns() ^ (uint64_t)getpid() << 32);
        o->seed = (uint32_t)rng_next(&r);
    }
    o->how.seed = (uint32_t)o->seed;
}

sampling sampling_over(const sampling *loaded, const sampling *given, const sampling *defaults, bool seed_is_given)
{
    sampling s = *loaded;
    s.temperature = given->temperature != defaults->temperature ? given->temperature : s.temperature;
    s.top_k = given->top_k != defaults->top_k ? given->top_k : s.top_k;
    s.top_p = given->top_p != defaults->top_p ? given->top_p : s.top_p;
    s.min_p = given->min_p != defaults->min_p ? given->min_p : s.min_p;
    s.repeat_penalty = given->repeat_penalty != defaults->repeat_penalty ? given->repeat_penalty : s.repeat_penalty;
    s.seed = seed_is_given ? given->seed : s.seed;
    return s;
}

session *cli_begin_session(const cli_model *m, const sampling_options *s, session_options o, const model *opened,
                           gpu *g, err *e)
{
    o.generation.level = m->level;
    o.generation.compile = m->wait ? COMPILE_FIRST : COMPILE_AUTO;
    o.generation.chunk_ms = (uint32_t)m->chunk_ms;
    o.generation.context_tok = s->context_tok;
    o.generation.cache = s->cache;
    session *made = session_new(g, opened, &o, e);
    if (!made)
        return NULL;
    session_set_sampling(made, &s->how);
    for (size_t i = 0; i < s->stops.count; i++)
        session_add_stop(made, s->stops.items[i]);
    return made;
}

bool cli_prepare_session(session *s, const model *m, err *e)
{
    if (!session_prepare(s, e))
        return false;
    generation *n = session_generation(s);
    cli_print_notice(n);
    if (generation_context_is_short(n))
        fprintf(stderr,
                "solo: a context of %u tokens, of the %u that the model was made for: -c N asks for more memory\n",
                generation_context(n), model_get_config(m)->context_tok);
    return true;
}
