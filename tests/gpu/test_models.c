/* Whole models on every implementation, a dispatch for each operator, against
 * transformers' own logits and greedy tokens. */
#include "golden.h"
#include "gpu/devices.h"
#include "graph/run.h"
#include "model/decoder.h"

enum { CONTEXT = 64 };

typedef struct session {
    model *m;
    graph *g;
    graph_run *r;
    float *logits; /* (rows, vocab) */
} session;

static session open_session(const char *path, uint32_t rows)
{
    err e = {0};
    session s = {.m = model_open(path, &e)};
    if (s.m)
        s.g = decoder_graph(s.m, &(decoder_options){rows, CONTEXT, DTYPE_F32}, &e);
    if (s.g)
        s.r = graph_run_new(device, s.g, decoder_find_weight, &(decoder_weights){s.m, CONTEXT}, &e);
    if (!s.r)
        fail_msg("%s: %s", path, e.text);
    s.logits = calloc((size_t)rows * model_get_config(s.m)->vocab_tok, sizeof *s.logits);
    return s;
}

static void close_session(session *s)
{
    graph_run_free(s->r);
    graph_free(s->g);
    model_close(s->m);
    free(s->logits);
}

static const float *run_tokens(session *s, const uint32_t *tokens, uint32_t position)
{
    err e = {0};
    bool ok = graph_run_write(s->r, "tokens", tokens, &e) && graph_run_write(s->r, "position", &position, &e);
    if (ok)
        graph_run_once(s->r);
    if (!ok || !graph_run_read(s->r, "logits", s->logits, &e))
        fail_msg("%s", e.text);
    return s->logits;
}

static void prompts_at_once(void **unused)
{
    (void)unused;
    for (int a = 0; a < ARCHITECTURE_COUNT; a++) {
        char folder[128];
        json_t *golden = golden_or_skip(ARCHITECTURES[a], folder), *prompt = json_object_get(golden, "prompt");
        uint32_t count = (uint32_t)json_array_size(prompt), tokens[CONTEXT];
        for (uint32_t i = 0; i < count; i++)
            tokens[i] = number_at(prompt, i);
        session s = open_session(folder, count);
        const float *logits = run_tokens(&s, tokens, 0);
        for (uint32_t i = 0; i < count; i++)
            expect_logits(ARCHITECTURES[a], i, json_array_get(json_object_get(golden, "logits"), i),
                          logits + (size_t)i * model_get_config(s.m)->vocab_tok);
        close_session(&s);
        json_decref(golden);
    }
}

static void tokens_one_by_one(void **unused)
{
    (void)unused;
    for (int a = 0; a < ARCHITECTURE_COUNT; a++) {
        char folder[128];
        json_t *golden = golden_or_skip(ARCHITECTURES[a], folder), *prompt = json_object_get(golden, "prompt");
        json_t *greedy = json_object_get(golden, "greedy"), *margin = json_object_get(golden, "greedy_margin");
        session s = open_session(folder, 1);
        uint32_t vocab = model_get_config(s.m)->vocab_tok, position = 0;
        const float *logits = NULL;
        gpu_counters before = gpu_get_counters(device);
        for (; position < json_array_size(prompt); position++) {
            logits = run_tokens(&s, (uint32_t[]){number_at(prompt, position)}, position);
            expect_logits(ARCHITECTURES[a], position, json_array_get(json_object_get(golden, "logits"), position),
                          logits);
        }
        for (size_t i = 0; i < json_array_size(greedy) && position < CONTEXT; i++) {
            uint32_t best = 0, right = number_at(greedy, i);
            for (uint32_t t = 1; t < vocab; t++)
                best = logits[t] > logits[best] ? t : best;
            if (best != right && json_number_value(json_array_get(margin, i)) > 1e-3)
                fail_msg("%s: greedy token %zu is %u instead of %u", ARCHITECTURES[a], i, best, right);
            logits = run_tokens(&s, &right, position++);
        }
        /* Nothing is made per token that could be made once. */
        gpu_counters counted = gpu_counters_since(device, before);
        assert_int_equal(counted.bind_groups, 0);
        assert_int_equal(counted.submits, position);
        assert_int_equal(counted.dispatches, position * graph_run_dispatches(s.r));
        close_session(&s);
        json_decref(golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_at_once),
        cmocka_unit_test(tokens_one_by_one),
    };
    return RUN_ON_EACH(tests);
}
