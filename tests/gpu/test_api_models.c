/* Models, sessions and graphs of include/solo.h as someone else's program uses them: nothing else of Solo is included here. */
#include "api_device.h"
#include "temporary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char TEXT[] = "Once upon a time";

/* What came, and when it is enough. */
typedef struct heard {
    char text[4096];
    size_t bytes, pieces, enough;
} heard;

static bool hear(void *user, const char *text, size_t bytes)
{
    heard *h = user;
    assert_int_equal(strlen(text), bytes);
    assert_true(h->bytes + bytes < sizeof h->text);
    memcpy(h->text + h->bytes, text, bytes + 1);
    h->bytes += bytes;
    return ++h->pieces != h->enough;
}

static void tokens_there_and_back(void **unused)
{
    (void)unused;
    solo_error e = {0};
    uint32_t tokens[64];
    char text[64];
    solo_model *m = solo_model_open(NULL, &e);
    ok(m, &e);
    assert_string_equal(solo_model_architecture(m), "llama");
    assert_int_equal(solo_model_vocabulary(m), 4096);
    assert_true(solo_model_context(m) >= 256);
    size_t count = solo_model_tokenize(m, TEXT, 0, tokens, 64, &e);
    assert_true(count > 2 && count < 20);
    assert_int_equal(solo_model_detokenize(m, tokens, count, 0, text, sizeof text), strlen(TEXT));
    assert_string_equal(text, TEXT);
    assert_int_equal(solo_model_detokenize(m, tokens, count, 0, text, 5), strlen(TEXT));
    assert_string_equal(text, "Once");
    assert_int_equal(solo_model_tokenize(m, TEXT, 0, tokens, 1, &e), count);
    assert_int_equal(e.status, 0);
    solo_model_close(m);
}

/* The greedy text is the one whose every token has the largest logit. */
static void a_text_and_its_logits(void **unused)
{
    (void)unused;
    enum { MADE = 6 };
    solo_error e = {0};
    heard all = {0}, some = {.enough = 2}, until = {0};
    solo_answer a, b, c;
    uint32_t tokens[64];
    solo_model *m = solo_model_open(NULL, &e);
    solo_session *s = solo_session_open(device, m, NULL, &e);
    ok(s, &e);
    ok(solo_session_generate(s, TEXT, MADE, hear, &all, &a, &e), &e);
    assert_int_equal(a.end, SOLO_END_LENGTH);
    assert_int_equal(a.answer_tok, MADE);
    assert_true(a.prompt_tok > 2 && a.first_token_s > 0 && a.tok_per_s > 0);
    assert_true(solo_session_level(s) != SOLO_LEVEL_AUTO && solo_session_dispatches(s) > 0);
    ok(solo_session_generate(s, TEXT, MADE, hear, &some, &b, &e), &e);
    assert_int_equal(b.end, SOLO_END_CALLER);
    assert_int_equal(some.pieces, 2);
    assert_memory_equal(some.text, all.text, some.bytes);
    uint32_t vocabulary = solo_model_vocabulary(m);
    size_t count = solo_model_tokenize(m, TEXT, 0, tokens, 64, &e), first = count;
    float *logits = calloc((count + MADE) * vocabulary, sizeof *logits);
    for (; count < first + MADE; count++) {
        ok(solo_session_logits(s, tokens, (uint32_t)count, logits, &e), &e);
        const float *last = logits + (count - 1) * vocabulary;
        tokens[count] = 0;
        for (uint32_t i = 1; i < vocabulary; i++)
            tokens[count] = last[i] > last[tokens[count]] ? i : tokens[count];
    }
    char text[256];
    solo_model_detokenize(m, tokens + first, MADE, SOLO_TOKENS_GO_ON, text, sizeof text);
    assert_string_equal(text, all.text);
    /* the same, until a text that is in it */
    char stop[4] = {all.text[all.bytes / 2], all.text[all.bytes / 2 + 1], 0};
    const char *const stops[] = {stop, NULL};
    solo_session *t =
        solo_session_open(device, m, &(solo_session_options){.stops = stops, .level = SOLO_LEVEL_NONE}, &e);
    ok(solo_session_generate(t, TEXT, MADE, hear, &until, &c, &e), &e);
    assert_int_equal(c.end, SOLO_END_STOP);
    assert_int_equal(until.bytes, (size_t)(strstr(all.text, stop) - all.text));
    ok(solo_session_set_stops(t, NULL, &e) && solo_session_generate(t, TEXT, MADE, NULL, NULL, &c, &e), &e);
    assert_int_equal(c.end, SOLO_END_LENGTH);
    assert_int_equal(solo_session_level(t), SOLO_LEVEL_NONE);
    assert_true(solo_session_dispatches(t) > solo_session_dispatches(s));
    free(logits);
    solo_session_close(t);
    solo_session_close(s);
    solo_model_close(m);
}

static void a_conversation(void **unused)
{
    (void)unused;
    solo_error e = {0};
    heard one = {0}, two = {0}, again = {0}, anew = {0};
    solo_answer a, b;
    solo_model *m = solo_model_open(NULL, &e);
    solo_session_options o = {.context = 128, .sampling = {.temperature = 1, .top_k = 20, .seed = 3}};
    solo_session *s = solo_session_open(device, m, &o, &e);
    ok(s, &e);
    assert_false(solo_session_chat_again(s, 4, NULL, NULL, NULL, &e));
    assert_string_equal(e.text, "there is no answer yet");
    memset(&e, 0, sizeof e);
    ok(solo_session_chat(s, TEXT, 5, hear, &one, &a, &e) && solo_session_chat(s, " The", 5, hear, &two, &b, &e), &e);
    assert_true(one.bytes > 0 && two.bytes > 0 && b.reused_tok >= a.prompt_tok);
    ok(solo_session_chat_again(s, 5, hear, &again, NULL, &e), &e);
    assert_string_equal(again.text, two.text); /* the same seed */
    ok(solo_session_reset(s, NULL, &e) && solo_session_chat(s, TEXT, 5, hear, &anew, NULL, &e), &e);
    assert_string_equal(anew.text, one.text);
    solo_session_close(s);
    solo_model_close(m);
}

/* Messages that the caller keeps, tools, and a session that goes on in another one. */
static void messages_tools_and_saved_sessions(void **unused)
{
    (void)unused;
    static const char template[] = "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}"
                                   "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
    static const char tools[] = "[{\"type\": \"function\", \"function\": {\"name\": \"add\"}}]";
    const solo_message talk[] = {{.role = SOLO_ROLE_USER, .content = "1+3?"},
                                 {.role = SOLO_ROLE_ASSISTANT, .content = "", .tool_calls = "[]"},
                                 {.role = SOLO_ROLE_TOOL, .content = "4", .tool_call_id = "c1", .name = "add"}};
    char path[TEMPORARY_BYTES];
    close(temporary_file(path, "api"));
    solo_error e = {0};
    heard one = {0}, two = {0}, other = {0}, none = {0};
    solo_answer a, b;
    solo_model *m = solo_model_open(NULL, &e);
    solo_session_options o = {
        .context = 128, .chat_template = template, .sampling = {.temperature = 1, .top_k = 20, .seed = 3}};
    solo_session *s = solo_session_open(device, m, &o, &e), *t = solo_session_open(device, m, &o, &e);
    ok(s && t, &e);
    assert_int_equal(solo_session_context(s), 0);
    ok(solo_session_set_tools(s, tools, &e) && solo_session_set_messages(s, talk, 3, &e), &e);
    ok(solo_session_answer(s, 5, hear, &one, &a, &e), &e);
    assert_int_equal(solo_session_context(s), 128);
    assert_int_equal(solo_session_message_count(s), 4);
    solo_message last = solo_session_message(s, 3), result = solo_session_message(s, 2);
    assert_true(last.role == SOLO_ROLE_ASSISTANT && strcmp(last.content, one.text) == 0);
    assert_true(result.role == SOLO_ROLE_TOOL && strcmp(result.name, "add") == 0);
    assert_false(solo_session_take_calls(s)); /* a story calls nothing */
    ok(solo_session_set_sampling(t, NULL, &e), &e);
    assert_int_equal(solo_session_sampling(t).top_k, 0);
    ok(solo_session_save(s, path, &e) && solo_session_load(t, path, &e) && solo_session_set_tools(t, tools, &e), &e);
    solo_sampling how = solo_session_sampling(t);
    assert_true(how.temperature == 1 && how.top_k == 20 && how.seed == 3);
    ok(solo_session_chat(s, "More", 5, hear, &two, &a, &e) && solo_session_chat(t, "More", 5, hear, &other, &b, &e),
       &e);
    assert_string_equal(two.text, other.text);
    assert_true(a.reused_tok == b.reused_tok && a.reused_tok > 0);
    assert_false(solo_session_set_tools(s, "{}", &e));
    assert_non_null(strstr(e.text, "no list of tools"));
    memset(&e, 0, sizeof e);
    assert_false(solo_session_load(s, "/no/such", &e));
    memset(&e, 0, sizeof e);
    assert_false(solo_session_add_message(s, &(solo_message){.role = (solo_role)9, .content = ""}, &e));
    memset(&e, 0, sizeof e);
    ok(solo_session_chat(s, "More", 5, hear, &none, NULL, &e), &e); /* nothing was lost */
    solo_session_close(s);
    solo_session_close(t);
    solo_model_close(m);
    unlink(path);
}

/* A text's vector is the same at all levels, and of length 1 where that is asked for; what fails says why. */
static void embeddings_of_texts(void **unused)
{
    (void)unused;
    solo_error e = {0};
    float one[36], other[36], squares = 0;
    solo_model *m = solo_model_open("tests/data/embeddings/bert-mean", &e);
    solo_embedder *n = solo_embedder_open(device, m, NULL, &e);
    ok(n, &e);
    assert_int_equal(solo_embedder_width(n), 36);
    ok(solo_embedder_embed(n, "the quick fox", one, &e), &e);
    for (int i = 0; i < 36; i++)
        squares += one[i] * one[i];
    assert_true(squares > 0.9999f && squares < 1.0001f);
    assert_false(
        solo_embedder_embed(n,
                            "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o p q "
                            "r s t u v w x y z",
                            other, &e));
    assert_non_null(strstr(e.text, "takes 50"));
    memset(&e, 0, sizeof e);
    solo_embedder_close(n);
    solo_embedder_options o = {.level = SOLO_LEVEL_TOKEN, .pooling = SOLO_POOLING_MEAN, .context = 16};
    n = solo_embedder_open(device, m, &o, &e);
    ok(n && solo_embedder_embed(n, "the quick fox", other, &e), &e);
    for (int i = 0; i < 36; i++)
        assert_true(one[i] - other[i] < 1e-5f && other[i] - one[i] < 1e-5f);
    solo_embedder_close(n);
    o = (solo_embedder_options){.pooling = (solo_pooling)9};
    assert_null(solo_embedder_open(device, m, &o, &e));
    assert_int_equal(e.status, 2);
    solo_model_close(m);
    memset(&e, 0, sizeof e);
    m = solo_model_open(NULL, &e);
    assert_null(solo_embedder_open(device, m, NULL, &e));
    assert_non_null(strstr(e.text, "do not say how"));
    assert_int_equal(solo_embedder_width(NULL), 0);
    solo_model_close(m);
}

enum { WIDE = 6, ROWS = 4 };

/* y = relu(x w'), stored in the row that each run moves on. */
static solo_graph *small_graph(const float *weight)
{
    solo_graph *g = solo_graph_new();
    solo_node x = solo_graph_input(g, "x", SOLO_F32, (solo_shape){{1, WIDE}});
    solo_node row = solo_graph_input(g, "row", SOLO_U32, (solo_shape){{1}});
    solo_node w = solo_graph_weight(g, "w", SOLO_WEIGHT_F32, (solo_shape){{WIDE, WIDE}}, weight);
    solo_node kept = solo_graph_state(g, "kept", SOLO_F32, (solo_shape){{ROWS, 1, WIDE}});
    solo_node y = solo_graph_unary(g, SOLO_RELU, solo_graph_matmul(g, x, w));
    solo_graph_store(g, kept, solo_graph_reshape(g, y, (solo_shape){{1, 1, WIDE}}), row);
    solo_graph_output(g, "y", y);
    solo_graph_assign(g, row, row, 1);
    return g;
}

static void graphs_at_every_level(void **unused)
{
    (void)unused;
    float weight[WIDE * WIDE], x[WIDE], right[WIDE], y[WIDE], kept[ROWS][WIDE], put[ROWS][WIDE];
    solo_error e = {0};
    for (int i = 0; i < WIDE * WIDE; i++)
        weight[i] = (float)(i % 7 - 3);
    for (int i = 0; i < ROWS * WIDE; i++)
        put[i / WIDE][i % WIDE] = (float)-i;
    for (int i = 0; i < WIDE; i++) {
        x[i] = (float)(i - 2);
        right[i] = 0;
    }
    for (int i = 0; i < WIDE; i++) {
        for (int k = 0; k < WIDE; k++)
            right[i] += (float)(k - 2) * weight[i * WIDE + k];
        right[i] = right[i] > 0 ? right[i] : 0;
    }
    solo_graph *g = small_graph(weight);
    for (int level = SOLO_LEVEL_AUTO; level <= SOLO_LEVEL_LOOP; level++) {
        solo_run *r = solo_run_new(device, g, &(solo_run_options){.level = (solo_level)level}, &e);
        ok(r, &e);
        assert_true(solo_run_level(r) == (solo_level)level || level == SOLO_LEVEL_AUTO);
        assert_int_equal(solo_run_dispatches(r) == 1, level > SOLO_LEVEL_OPS);
        uint32_t row = 1;
        ok(solo_run_write(r, "x", x, sizeof x, &e) && solo_run_write(r, "row", &row, sizeof row, &e) &&
               solo_run_write(r, "kept", put, sizeof put, &e) && solo_run_go(r, 2, &e) &&
               solo_run_read(r, "y", y, sizeof y, &e) && solo_run_read(r, "kept", kept, sizeof kept, &e) &&
               solo_run_read(r, "row", &row, sizeof row, &e),
           &e);
        assert_int_equal(row, 3);
        float y_again[WIDE], kept_again[ROWS][WIDE];
        ok(solo_run_read_many(r, (const char *const[]){"row", "kept", "y"}, (void *const[]){&row, kept_again, y_again},
                              (const size_t[]){sizeof row, sizeof kept_again, sizeof y_again}, 3, &e) &&
               solo_run_read_many(r, NULL, NULL, NULL, 0, &e),
           &e);
        assert_true(row == 3 && memcmp(y, y_again, sizeof y) == 0 && memcmp(kept, kept_again, sizeof kept) == 0);
        for (int i = 0; i < WIDE; i++) {
            assert_true(fabsf(y[i] - right[i]) < 1e-4f);
            assert_true(kept[0][i] == put[0][i] && kept[3][i] == put[3][i]); /* written before, left alone */
            assert_true(fabsf(kept[1][i] - right[i]) < 1e-4f && fabsf(kept[2][i] - right[i]) < 1e-4f);
        }
        solo_run_free(r);
    }
    solo_graph_free(g);
}

static void callers_memory(void **unused)
{
    (void)unused;
    float weight[WIDE * WIDE] = {0}, x[WIDE] = {1, 2, 3, 4, 5, 6}, y[WIDE], kept[ROWS][WIDE], own[ROWS][WIDE];
    solo_error e = {0};
    for (int i = 0; i < WIDE; i++)
        weight[i * WIDE + i] = 2;
    solo_graph *g = small_graph(weight);
    solo_run *r = solo_run_new(device, g, NULL, &e);
    solo_buffer *in = solo_buffer_new(device, sizeof x, &e), *out = solo_buffer_new(device, sizeof y, &e);
    solo_buffer *state = solo_buffer_new(device, sizeof kept, &e);
    memset(own, 0, sizeof own);
    own[3][2] = 77;
    ok(solo_buffer_write(in, 0, x, sizeof x, &e) && solo_buffer_write(state, 0, own, sizeof own, &e) &&
           solo_run_bind(r, "x", in, &e) && solo_run_bind(r, "y", out, &e) && solo_run_bind(r, "kept", state, &e) &&
           solo_run_go(r, 1, &e) && solo_buffer_read(out, 0, y, sizeof y, &e) &&
           solo_buffer_read(state, 0, kept, sizeof kept, &e),
       &e);
    for (int i = 0; i < WIDE; i++)
        assert_true(y[i] == 2 * x[i] && kept[0][i] == 2 * x[i] && kept[1][i] == 0);
    assert_true(kept[3][2] == 77);
    /* no longer bound: what is there stays */
    x[0] = 10;
    ok(solo_buffer_write(in, 0, x, sizeof x, &e) && solo_run_bind(r, "x", NULL, &e) && solo_run_go(r, 1, &e) &&
           solo_buffer_read(out, 0, y, sizeof y, &e),
       &e);
    assert_true(y[0] == 2);
    solo_buffer_free(in);
    solo_buffer_free(out);
    solo_buffer_free(state);
    solo_run_free(r);
    solo_graph_free(g);
}

static void mistakes_are_errors(void **unused)
{
    (void)unused;
    solo_error none = {0};
    solo_model *m = solo_model_open(NULL, &none);
    solo_session *s = solo_session_open(device, m, &(solo_session_options){.context = 16}, &none);
    float x[WIDE], weight[WIDE * WIDE] = {0};
    uint32_t token = 4096;
    char many[400] = "";
    for (int i = 0; i < 60; i++)
        strcat(many, "word ");
    FAILS(solo_model_open("/no/such/file.gguf", &e), 1, "/no/such/file.gguf");
    FAILS(solo_session_open(device, m, &(solo_session_options){.chat_template = "x"}, &e), 2, "no template 'x'");
    FAILS(solo_session_open(device, m, &(solo_session_options){.level = (solo_level)9}, &e), 2, "no such level");
    FAILS(solo_session_open(device, m, &(solo_session_options){.cache_type = "q9"}, &e), 2, "not 'q9'");
    FAILS(solo_model_add_lora(m, "/no/such", 1, &e), 1, "/no/such");
    FAILS(solo_session_open(device, NULL, NULL, &e), 2, "NULL");
    FAILS(solo_session_logits(s, &token, 1, x, &e), 2, "4096 is no token");
    FAILS(solo_session_generate(s, many, 1, NULL, NULL, NULL, &e), 1, "do not fit the context");
    FAILS(solo_session_chat(s, many, 1, NULL, NULL, NULL, &e), 1, "too many for a context of 16");
    FAILS(solo_session_generate(s, NULL, 1, NULL, NULL, NULL, &e), 2, "NULL");
    FAILS(solo_session_chat(s, NULL, 1, NULL, NULL, NULL, &e), 2, "NULL");
    FAILS(solo_session_save(s, NULL, &e), 2, "NULL");
    FAILS(solo_session_load(s, NULL, &e), 2, "NULL");
    FAILS(solo_model_tokenize(m, NULL, 0, NULL, 0, &e), 2, "NULL");
    FAILS(solo_model_add_lora(m, NULL, 1, &e), 2, "NULL");
    FAILS(solo_graph_open(NULL, &e), 2, "NULL");
    FAILS(solo_graph_from_torch(NULL, NULL, 0, &e), 2, "NULL");
    const solo_sampling senseless[] = {{.temperature = -1},    {.temperature = NAN},   {.temperature = INFINITY},
                                       {.top_p = 1.5f},        {.top_p = NAN},         {.min_p = -1},
                                       {.repeat_penalty = -1}, {.repeat_penalty = NAN}};
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
        FAILS(solo_session_set_sampling(s, &senseless[i], &e), 2, "from 0 to");
        FAILS(solo_session_open(device, m, &(solo_session_options){.sampling = senseless[i]}, &e), 2, "from 0 to");
    }
    solo_graph *g = small_graph(weight);
    solo_run *r = solo_run_new(device, g, NULL, &none);
    solo_buffer *b = solo_buffer_new(device, 8, &none);
    ok(r && b, &none);
    FAILS(solo_run_write(r, NULL, x, sizeof x, &e), 2, "NULL");
    FAILS(solo_run_read(r, NULL, x, sizeof x, &e), 2, "NULL");
    FAILS(solo_run_bind(r, NULL, b, &e), 2, "NULL");
    const char *const two[] = {"x", "z"}, *const half[] = {"x", NULL};
    void *const into[] = {x, x}, *const nowhere[] = {x, NULL};
    const size_t all[] = {sizeof x, sizeof x}, few[] = {sizeof x, 4};
    FAILS(solo_run_read_many(r, two, into, all, 2, &e), 2, "no input, output or state z");
    FAILS(solo_run_read_many(r, half, into, all, 2, &e), 2, "NULL");
    FAILS(solo_run_read_many(r, (const char *const[]){"x", "x"}, nowhere, all, 2, &e), 2, "NULL");
    FAILS(solo_run_read_many(r, (const char *const[]){"x", "x"}, into, few, 2, &e), 2, "x has 24 bytes, not 4");
    FAILS(solo_run_read_many(r, NULL, into, all, 2, &e), 2, "NULL");
    FAILS(solo_run_write(r, "z", x, sizeof x, &e), 2, "no input, output or state z");
    FAILS(solo_run_write(r, "x", x, 4, &e), 2, "x has 24 bytes, not 4");
    FAILS(solo_run_write(r, "y", x, sizeof x, &e), 2, "y is an output");
    FAILS(solo_run_bind(r, "x", b, &e), 2, "a buffer of 24 bytes");
    FAILS(solo_buffer_read(b, 4, x, 8, &e), 2, "of a buffer of 8");
    FAILS(solo_buffer_new(device, 6, &e), 2, "a buffer of 6 bytes");
    FAILS(solo_buffer_new(device, 1ull << 60, &e), 1, "the device has up to");
    solo_buffer *after = solo_buffer_new(device, 8, &none);
    ok(after, &none);
    solo_buffer_free(after);
    solo_graph *bad = solo_graph_new();
    solo_graph_output(bad, "o",
                      solo_graph_matmul(bad, solo_graph_input(bad, "x", SOLO_F32, (solo_shape){{1, 3}}),
                                        solo_graph_weight(bad, "w", SOLO_WEIGHT_F32, (solo_shape){{4, 4}}, x)));
    FAILS(solo_run_new(device, bad, NULL, &e), 1, "matmul");
    for (int i = 0; i < 5; i++) {
        solo_graph *unknown = solo_graph_new();
        solo_node in = solo_graph_input(unknown, "x", i == 3 ? SOLO_F16 : SOLO_F32, (solo_shape){{4}});
        solo_node out = i == 0   ? solo_graph_unary(unknown, (solo_unary)(SOLO_GELU_ERF + 1), in)
                        : i == 1 ? solo_graph_binary(unknown, (solo_binary)99, in, in)
                        : i == 2 ? solo_graph_reduce(unknown, (solo_reduce)-1, in)
                        : i == 3 ? in
                                 : solo_graph_state(unknown, "s", (solo_type)7, (solo_shape){{4}});
        solo_graph_output(unknown, "o", out);
        FAILS(solo_run_new(device, unknown, NULL, &e), 1, "graph: there is no ");
        solo_graph_free(unknown);
    }
    /* the first error stays, whatever fails after it */
    solo_error first = {0};
    solo_session *never = solo_session_open(device, solo_model_open("/no/such", &first), NULL, &first);
    assert_false(solo_session_chat(never, "x", 1, NULL, NULL, NULL, &first));
    assert_non_null(strstr(first.text, "/no/such"));
    solo_graph_free(bad);
    solo_buffer_free(b);
    solo_run_free(r);
    solo_graph_free(g);
    solo_session_close(s);
    solo_model_close(m);
}

/* Texts that are not there, messages that are not there, numbers that nothing can be chosen by. */
static void what_cannot_be_is_refused(void **unused)
{
    (void)unused;
    solo_error e = {0};
    solo_model *m = solo_model_open(NULL, &e);
    solo_session *s = solo_session_open(device, m, NULL, &e);
    ok(s, &e);
#define REFUSED(call) \
    do { \
        assert_false(call); \
        assert_int_equal(e.status, 2); \
        memset(&e, 0, sizeof e); \
    } while (0)
    REFUSED(solo_model_tokenize(m, NULL, 0, NULL, 0, &e));
    REFUSED(solo_model_add_lora(m, NULL, 1, &e));
    REFUSED(solo_graph_open(NULL, &e));
    REFUSED(solo_graph_from_torch(NULL, NULL, 0, &e));
    REFUSED(solo_decoder_new(device, NULL, NULL, 0, NULL, &e));
    REFUSED(solo_session_generate(s, NULL, 1, NULL, NULL, NULL, &e));
    REFUSED(solo_session_chat(s, NULL, 1, NULL, NULL, NULL, &e));
    REFUSED(solo_session_add_message(s, NULL, &e));
    REFUSED(solo_session_set_messages(s, NULL, 1, &e));
    REFUSED(solo_session_save(s, NULL, &e));
    REFUSED(solo_session_load(s, NULL, &e));
    ok(solo_session_generate(s, TEXT, 1, NULL, NULL, NULL, &e), &e);
    solo_message none = solo_session_message(s, solo_session_message_count(s));
    assert_true(none.role == SOLO_ROLE_SYSTEM && !none.content && !none.name);
    static const solo_sampling odd[] = {
        {.temperature = NAN}, {.temperature = -1}, {.temperature = INFINITY}, {.temperature = 1, .top_p = -1},
        {.top_p = NAN},       {.min_p = 2},        {.repeat_penalty = -1},    {.repeat_penalty = NAN}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        REFUSED(solo_session_set_sampling(s, &odd[i], &e));
        REFUSED(solo_session_open(device, m, &(solo_session_options){.sampling = odd[i]}, &e));
    }
    REFUSED(solo_session_open(device, m, &(solo_session_options){.context = UINT32_MAX}, &e));
#undef REFUSED
    solo_session_close(s);
    solo_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_there_and_back),
        cmocka_unit_test(a_text_and_its_logits),
        cmocka_unit_test(embeddings_of_texts),
        cmocka_unit_test(a_conversation),
        cmocka_unit_test(messages_tools_and_saved_sessions),
        cmocka_unit_test(graphs_at_every_level),
        cmocka_unit_test(callers_memory),
        cmocka_unit_test(mistakes_are_errors),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("dawn", tests, open_dawn, shut);
}
