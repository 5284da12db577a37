/* session_internal: what the files of a session share. */
#ifndef SOLO_SESSION_INTERNAL_H
#define SOLO_SESSION_INTERNAL_H

#include "graph/run.h"
#include "llm/session.h"

struct session {
    gpu *g;
    const model *m;
    generation_options options;
    tokenizer *own;
    const tokenizer *t;
    chat_format format;
    bool format_is_given, has_texts; /* it was named; tokenizer and format are there */
    bool has_format, has_turns;      /* the model; the conversation */
    generation *n;
    conversation *talk;
    sampling how;
    char **stops;
    size_t stop_count;
    /* session_logits.c */
    graph *logits_graph;
    graph_run *logits_run;
    uint32_t logits_tok;
};

#endif
