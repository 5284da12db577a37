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
    chat_template *template;           /* NULL: texts are continued */
    bool template_is_given, has_texts; /* it was named; tokenizer and template are there */
    bool has_turns, is_plain;          /* the conversation; it was asked to have none */
    err template_error;                /* why the model's own cannot be used */
    chat_think think;
    generation *n;
    conversation *talk;
    sampling how;
    bool continues;      /* what is saved is the text, not the conversation */
    uint64_t model_hash; /* 0: not computed yet */
    char **stops;
    size_t stop_count;
    /* session_logits.c */
    graph *logits_graph;
    graph_run *logits_run;
    uint32_t logits_tok;
};

#endif
