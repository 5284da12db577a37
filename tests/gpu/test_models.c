/* Whole models on every implementation, a dispatch for each operator, against
 * transformers' own logits and greedy tokens. */
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

static void *open_session(const char *path, uint32_t rows)
{
    err e = {0};
    session *s = calloc(1, sizeof *s);
    s->m = model_open(path, &e);
    if (s->m)
        s->g = decoder_graph(s->m, &(decoder_options){rows, GOLDEN_CONTEXT, DTYPE_F32}, &e);
    if (s->g)
        s->r = graph_run_new(device, s->g, decoder_find_weight, &(decoder_weights){s->m, GOLDEN_CONTEXT}, &e);
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
        graph_run_once(s->r);
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
    assert_int_equal(counted.dispatches, runs * graph_run_dispatches(s->r));
    graph_run_free(s->r);
    graph_free(s->g);
    model_close(s->m);
    free(s->logits);
    free(s);
}

static const golden_runner ON_GPU = {open_session, run_tokens, close_session};

static void prompts_at_once(void **unused)
{
    (void)unused;
    for (int a = 0; a < ARCHITECTURE_COUNT; a++)
        golden_prompt_at_once(&ON_GPU, ARCHITECTURES[a]);
}

static void tokens_one_by_one(void **unused)
{
    (void)unused;
    for (int a = 0; a < ARCHITECTURE_COUNT; a++)
        golden_one_by_one(&ON_GPU, ARCHITECTURES[a]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_at_once),
        cmocka_unit_test(tokens_one_by_one),
    };
    return RUN_ON_EACH(tests);
}
