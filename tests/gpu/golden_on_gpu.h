/* golden_on_gpu: golden models by separate dispatches on the device that is open. */
#ifndef SOLO_TEST_GOLDEN_ON_GPU_H
#define SOLO_TEST_GOLDEN_ON_GPU_H

#include "golden.h"
#include "gpu/devices.h"
#include "graph/run.h"
#include "model/decoder.h"

typedef struct session {
    model *m;
    graph *g;
    graph_run *r;
    float *logits; /* (rows, vocab) */
    gpu_counters before;
} session;

/* The level that sessions are opened at. */
static fusion_level golden_level = LEVEL_OPS;

static void *open_session(const char *path, uint32_t rows)
{
    err e = {0};
    session *s = calloc(1, sizeof *s);
    s->m = model_open(path, &e);
    if (s->m)
        s->g = decoder_graph(s->m, &(decoder_options){.rows = rows, .context_tok = GOLDEN_CONTEXT}, &e);
    if (s->g)
        s->r = graph_run_new(device, &(graph_use){.g = s->g, .level = golden_level}, 1, decoder_find_weight,
                             &(decoder_weights){.m = s->m, .context_tok = GOLDEN_CONTEXT}, &e);
    if (!s->r)
        fail_msg("%s: %s", path, e.text);
    s->logits = calloc((size_t)rows * model_get_config(s->m)->vocab_tok, sizeof *s->logits);
    s->before = gpu_get_counters(device);
    return s;
}

static const float *run_tokens(void *user, const uint32_t *tokens, uint32_t position)
{
    session *s = user;
    err e = {0};
    bool ok = graph_run_write(s->r, "tokens", tokens, &e) && graph_run_write(s->r, "position", &position, &e);
    if (ok)
        graph_run_once(s->r, 0, SUBMIT_BATCH);
    if (!ok || !graph_run_read(s->r, "logits", s->logits, &e))
        fail_msg("%s", e.text);
    return s->logits;
}

static void close_session(void *user, uint32_t runs)
{
    session *s = user;
    /* Nothing is made per run that could be made once. */
    gpu_counters counted = gpu_counters_since(device, s->before);
    assert_int_equal(counted.bind_groups, 0);
    assert_int_equal(counted.submits, runs);
    assert_int_equal(counted.dispatches, runs * graph_run_dispatches(s->r, 0));
    graph_run_free(s->r);
    graph_free(s->g);
    model_close(s->m);
    free(s->logits);
    free(s);
}

static const golden_runner ON_GPU = {open_session, run_tokens, close_session};

#endif
