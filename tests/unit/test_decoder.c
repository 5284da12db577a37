/* Whole models on the CPU reference, against transformers' own logits and greedy
 * tokens (../shared/models/hf, where it is there). */
#include "golden.h"
#include "graph/cpu.h"
#include "model/decoder.h"

enum { CONTEXT = 64 };

typedef struct session {
    model *m;
    graph *g;
    cpu_run *r;
    uint32_t rows;
} session;

static session open_session(const char *path, uint32_t rows)
{
    err e = {0};
    session s = {.m = model_open(path, &e), .rows = rows};
    if (s.m)
        s.g = decoder_graph(s.m, &(decoder_options){rows, CONTEXT, DTYPE_F32}, &e);
    if (s.g)
        s.r = cpu_run_new(s.g, decoder_find_weight, &(decoder_weights){s.m, CONTEXT}, &e);
    if (!s.r)
        fail_msg("%s: %s", path, e.text);
    return s;
}

static void close_session(session *s)
{
    cpu_run_free(s->r);
    graph_free(s->g);
    model_close(s->m);
}

static const float *run_tokens(session *s, const uint32_t *tokens, uint32_t position)
{
    err e = {0};
    memcpy(cpu_words(s->r, "tokens"), tokens, s->rows * sizeof *tokens);
    cpu_words(s->r, "position")[0] = position;
    if (!cpu_run_once(s->r, &e))
        fail_msg("%s", e.text);
    return cpu_floats(s->r, "logits");
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

/* Token by token through the cache, then on by itself. */
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
        for (; position < json_array_size(prompt); position++) {
            logits = run_tokens(&s, (uint32_t[]){number_at(prompt, position)}, position);
            expect_logits(ARCHITECTURES[a], position, json_array_get(json_object_get(golden, "logits"), position),
                          logits);
        }
        for (size_t i = 0; i < json_array_size(greedy); i++) {
            uint32_t best = 0, right = number_at(greedy, i);
            for (uint32_t t = 1; t < vocab; t++)
                best = logits[t] > logits[best] ? t : best;
            if (best != right && json_number_value(json_array_get(margin, i)) > 1e-3)
                fail_msg("%s: greedy token %zu is %u instead of %u", ARCHITECTURES[a], i, best, right);
            if (position == CONTEXT)
                break;
            logits = run_tokens(&s, &right, position++);
        }
        close_session(&s);
        json_decref(golden);
    }
}

/* ---- errors -------------------------------------------------------------- */

static void what_is_no_model_says_so(void **unused)
{
    (void)unused;
    err e = {0};
    assert_null(model_open("/no/such/model.gguf", &e));
    assert_non_null(strstr(e.text, "/no/such/model.gguf"));
    err_clear(&e);
    assert_null(model_open("/tmp", &e));
    assert_non_null(strstr(e.text, "/tmp/config.json"));
    err_clear(&e);
    assert_null(model_open("/etc/passwd", &e));
    assert_non_null(strstr(e.text, "/etc/passwd"));
}

static void a_context_too_small_is_told(void **unused)
{
    (void)unused;
    char folder[128];
    json_decref(golden_or_skip("llama", folder));
    session s = open_session(folder, 1);
    err e = {0};
    cpu_words(s.r, "position")[0] = CONTEXT;
    assert_false(cpu_run_once(s.r, &e));
    assert_non_null(strstr(e.text, "do not fit keys.0"));
    close_session(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_at_once),
        cmocka_unit_test(tokens_one_by_one),
        cmocka_unit_test(what_is_no_model_says_so),
        cmocka_unit_test(a_context_too_small_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
