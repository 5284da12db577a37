#include "llm/generation.h"
#include "base/clock.h"
#include "base/str.h"
#include "graph/run.h"
#include "model/decoder.h"

#include <stdlib.h>
#include <string.h>

/* Tokens are taken in by one of these, as many at a time as it has rows; the first
 * takes them one by one, and is what makes new ones. */
static const uint32_t ROWS[] = {1, 8, 32, 128, 512};
enum { MAX_PROGRAMS = sizeof ROWS / sizeof *ROWS, READS = 4 };
/* Tokens that one dispatch makes at the level `loop`: few enough that someone who reads along sees them come. */
enum { LOOP_TOK = 8 };

/* A token on its way back from the GPU. */
typedef struct arriving {
    uint32_t token;
    bool done, ok;
} arriving;

struct generation {
    gpu *g;
    graph *graphs[MAX_PROGRAMS];
    uint32_t program_count; /* of a level */
    fusion_level highest, level;
    graph_run *run;
    submit_policy submit;
    graph_place settings, logits, tokens, position_place, count, last, history;
    uint32_t context_tok, vocab_tok;
    bool slides, ahead;
    uint32_t *said; /* (context_tok) what was taken in */
    uint32_t position;
    bool fed;
    /* The token at `position` is made; those up to `asked` are on their way here. */
    uint32_t asked;
    arriving reads[READS]; /* of the token at position p: reads[p % READS] */
    /* At the level `loop`: tokens that came together and were not handed out yet. */
    uint32_t together[LOOP_TOK], together_count, together_at, rounds;
};

/* ---- making -------------------------------------------------------------------- */

void generation_add_choice(graph *g, uint32_t rows, uint32_t context_tok)
{
    node position = graph_find(g, "position");
    node history = graph_input(g, "history", DTYPE_U32, shape1(context_tok + 1));
    node settings = graph_input(g, "sampling", DTYPE_U32, shape1(SAMPLE_WORDS));
    /* Rows may be fewer than the program has: they are counted when it runs. */
    node count = rows > 1 ? graph_input(g, "count", DTYPE_U32, shape1(1)) : 0;
    node so_far = graph_assign(g, position, position, (assign_spec){.added = rows > 1 ? 0 : 1, .more = count});
    graph_sample(g, graph_find(g, "tokens"), graph_find(g, "logits"), settings, so_far, history);
}

static bool make_graphs(generation *n, const model *m, const generation_options *o, err *e)
{
    for (int i = 0; i < MAX_PROGRAMS && ROWS[i] <= n->context_tok; i++) {
        decoder_options d = {.rows = ROWS[i],
                             .context_tok = n->context_tok,
                             .cache = o->exact_cache ? DTYPE_F32 : DTYPE_F16,
                             .one_row = ROWS[i] > 1};
        graph *g = n->graphs[n->program_count] = decoder_graph(m, &d, e);
        if (!g)
            return false;
        n->program_count++;
        generation_add_choice(g, ROWS[i], n->context_tok);
    }
    return true;
}

/* Software needs the processor that asking again and again would keep busy. */
static bool runs_ahead(const gpu *g, submit_policy submit)
{
    return gpu_get_info(g)->type != GPU_TYPE_SOFTWARE && submit != SUBMIT_SYNC;
}

generation *generation_new(gpu *g, const model *m, const generation_options *o, err *e)
{
    const model_config *c = model_get_config(m);
    generation *n = mem_alloc(sizeof *n);
    uint32_t made_for = c->context_tok < GENERATION_DEFAULT_CONTEXT ? c->context_tok : GENERATION_DEFAULT_CONTEXT;
    n->g = g;
    n->context_tok = o->context_tok ? o->context_tok : made_for;
    n->vocab_tok = c->vocab_tok;
    n->slides = o->slide;
    n->submit = o->submit;
    n->ahead = runs_ahead(g, o->submit);
    n->said = mem_alloc((n->context_tok + 1) * sizeof *n->said);
    n->highest = n->level = o->level;
    if (make_graphs(n, m, o, e)) {
        graph_use uses[MAX_PROGRAMS * LEVEL_COUNT];
        uint32_t count = 0;
        for (int level = (int)o->level; level >= (o->all_levels ? 0 : (int)o->level); level--)
            for (uint32_t i = 0; i < n->program_count; i++)
                uses[count++] = (graph_use){n->graphs[i], i > 0 && level > LEVEL_OPS ? LEVEL_OPS : (fusion_level)level};
        n->run = graph_run_new(g, uses, count, decoder_find_weight, &(decoder_weights){m, n->context_tok}, e);
    }
    if (!n->run) {
        generation_free(n);
        return NULL;
    }
    n->settings = graph_run_place(n->run, "sampling");
    n->logits = graph_run_place(n->run, "logits");
    n->tokens = graph_run_place(n->run, "tokens");
    n->position_place = graph_run_place(n->run, "position");
    n->count = graph_run_place(n->run, "count");
    n->last = graph_run_place(n->run, "last");
    n->history = graph_run_place(n->run, "history");
    generation_set_sampling(n, &(sampling){0});
    return n;
}

/* Reads that are on their way have addresses of ours: they must have come before those go. */
static void settle(generation *n)
{
    enum { GRACE_NS = 1000000000 }; /* a lost device may never answer */
    err unused = {0};
    if (n->asked > n->position)
        gpu_wait(n->g, &unused);
    for (uint32_t p = n->position; p < n->asked; p++)
        for (uint64_t began = clock_ns(); !n->reads[p % READS].done && clock_ns() - began < GRACE_NS;)
            gpu_poll(n->g);
    n->asked = n->position;
    /* A dispatch that made several tokens may be further than what was handed out: back to there. */
    if (n->together_at < n->together_count) {
        graph_run_put(n->run, n->tokens, &n->together[n->together_at], 1);
        graph_run_put(n->run, n->position_place, &n->position, 1);
    }
    n->together_at = n->together_count = 0;
}

void generation_free(generation *n)
{
    if (!n)
        return;
    if (n->run)
        settle(n);
    graph_run_free(n->run);
    for (uint32_t i = 0; i < n->program_count; i++)
        graph_free(n->graphs[i]);
    free(n->said);
    free(n);
}

/* ---- taking in ------------------------------------------------------------------- */

/* The place of a program among those of all levels. */
static uint32_t at_level(const generation *n, uint32_t program)
{
    return (uint32_t)(n->highest - n->level) * n->program_count + program;
}

void generation_set_launch(generation *n, fusion_level level, submit_policy submit)
{
    settle(n);
    n->level = level <= n->highest ? level : n->highest;
    n->submit = submit;
    n->ahead = runs_ahead(n->g, submit);
}

/* The program for the next of `left` tokens: rather one too large than two that are not. */
static uint32_t program_for(const generation *n, uint32_t left)
{
    uint32_t i = 0;
    while (i + 1 < n->program_count && left * 2 > ROWS[i + 1])
        i++;
    return left == 1 ? 0 : i;
}

static void take_in(generation *n, const uint32_t *tokens, uint32_t count, uint32_t program)
{
    graph_place here = {n->history.word + n->position, n->history.words};
    graph_run_put(n->run, here, tokens, count);
    graph_run_put(n->run, n->tokens, tokens, count);
    graph_run_put(n->run, n->position_place, &n->position, 1);
    if (program > 0) {
        uint32_t last = count - 1;
        graph_run_put(n->run, n->count, &count, 1);
        graph_run_put(n->run, n->last, &last, 1);
    }
    graph_run_once(n->run, at_level(n, program), n->submit);
    memcpy(n->said + n->position, tokens, count * sizeof *tokens);
    n->position += count;
}

bool generation_feed(generation *n, const uint32_t *tokens, uint32_t count, err *e)
{
    if (count > n->context_tok - n->position)
        return err_set(e, "%u tokens more do not fit the context: %u of %u are taken", count, n->position,
                       n->context_tok);
    for (uint32_t i = 0; i < count; i++)
        if (tokens[i] >= n->vocab_tok)
            return err_set(e, "%u is no token of this model, which has %u", tokens[i], n->vocab_tok);
    settle(n);
    while (count) {
        uint32_t program = program_for(n, count), some = count < ROWS[program] ? count : ROWS[program];
        take_in(n, tokens, some, program);
        tokens += some;
        count -= some;
        n->fed = true;
    }
    n->asked = n->position;
    return gpu_ok(n->g, e);
}

void generation_rewind(generation *n, uint32_t position)
{
    settle(n);
    if (position < n->position)
        n->position = n->asked = position;
    n->fed = false;
}

/* ---- giving out ------------------------------------------------------------------ */

void generation_set_sampling(generation *n, const sampling *s)
{
    sample_words words = sample_pack(s);
    settle(n);
    graph_run_put(n->run, n->settings, &words, SAMPLE_WORDS);
}

static void on_arrival(void *user, bool ok)
{
    arriving *a = user;
    a->ok = ok;
    a->done = true;
}

/* Ask for the token at `asked`, which the GPU has made or is making. */
static void ask(generation *n)
{
    arriving *a = &n->reads[n->asked % READS];
    *a = (arriving){0};
    graph_run_get_later(n->run, n->history, n->asked, 1, &a->token, on_arrival, a);
    n->asked++;
}

static bool wait_for(generation *n, arriving *a, err *e)
{
    enum { HANG_S = 300 };
    for (uint64_t began = clock_ns(); !a->done; gpu_poll(n->g))
        if (!gpu_ok(n->g, e))
            return false;
        else if (clock_ns() - began > HANG_S * 1000000000ull)
            return err_set(e, "the GPU did not answer for %d s", HANG_S);
    return a->ok ? gpu_ok(n->g, e) : gpu_ok(n->g, e) && err_set(e, "a token could not be read back");
}

static bool slide(generation *n, err *e)
{
    uint32_t kept = n->context_tok / 2, *tail = mem_alloc(kept * sizeof *tail);
    memcpy(tail, n->said + n->position - kept, kept * sizeof *tail);
    generation_rewind(n, 0);
    bool ok = generation_feed(n, tail, kept, e);
    free(tail);
    return ok;
}

/* Several tokens by one dispatch: the one at `position` is made already, and so will be the one behind them. */
static bool make_together(generation *n, err *e)
{
    uint32_t left = n->context_tok - n->position, count = left < LOOP_TOK ? left : LOOP_TOK;
    if (n->rounds != count)
        graph_run_set_rounds(n->run, at_level(n, 0), n->rounds = count);
    graph_run_once(n->run, at_level(n, 0), n->submit);
    n->together_at = 0;
    n->together_count = count;
    return graph_run_get(n->run, n->history, n->position, count, n->together, e);
}

bool generation_next(generation *n, uint32_t *token, err *e)
{
    if (!n->fed)
        return err_set(e, "nothing was said yet that could be continued");
    if (n->position == n->context_tok && !n->slides)
        return err_set(e, "the context of %u tokens is full", n->context_tok);
    if (n->position == n->context_tok && !slide(n, e))
        return false;
    if (n->level == LEVEL_LOOP) {
        if (n->together_at == n->together_count && !make_together(n, e))
            return false;
        *token = n->together[n->together_at++];
        n->said[n->position++] = *token;
        n->asked = n->position;
        return true;
    }
    if (!n->ahead) {
        if (!graph_run_get(n->run, n->history, n->position, 1, token, e))
            return false;
        graph_run_once(n->run, at_level(n, 0), n->submit);
        n->asked = n->position + 1;
    } else {
        /* While the token at `position` comes here, the GPU already works on what follows it. */
        if (n->asked == n->position)
            ask(n);
        graph_run_once(n->run, at_level(n, 0), n->submit);
        if (n->position + 1 < n->context_tok)
            ask(n);
        arriving *a = &n->reads[n->position % READS];
        if (!wait_for(n, a, e))
            return false;
        *token = a->token;
    }
    n->said[n->position++] = *token;
    return gpu_ok(n->g, e);
}

bool generation_logits(generation *n, float *logits, err *e)
{
    return graph_run_get(n->run, n->logits, 0, n->vocab_tok, logits, e);
}

uint32_t generation_vocab(const generation *n)
{
    return n->vocab_tok;
}

uint32_t generation_position(const generation *n)
{
    return n->position;
}

uint32_t generation_context(const generation *n)
{
    return n->context_tok;
}

uint32_t generation_dispatches(const generation *n)
{
    return graph_run_dispatches(n->run, at_level(n, 0));
}

uint64_t generation_bytes(const generation *n)
{
    return graph_run_bytes(n->run);
}

const plan *generation_plan(const generation *n)
{
    return graph_run_plan(n->run, at_level(n, 0));
}
