#include "llm/generation.h"
#include "base/cache.h"
#include "base/clock.h"
#include "base/str.h"
#include "gpu/identity.h"
#include "graph/megakernel_test.h"
#include "graph/run.h"
#include "model/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens are taken in by one of these, as many at a time as it has rows; the first
 * takes them one by one, and is what makes new ones. */
static const uint32_t ROWS[] = {1, 8, 32, 128, 512};
enum { MAX_PROGRAMS = sizeof ROWS / sizeof *ROWS, READS = 4 };

enum {
    MOST_TOGETHER = 64,       /* tokens that one dispatch makes at the level `loop` */
    FEW_TOGETHER = 8,         /* as many as it makes on slow devices, too */
    LONG_NS = 1000 * 1000000, /* too long: devices are watched over */
    NOTHING = 0xffffffff,     /* no token: what was not made yet */
};

/* Whether what is on its way back from the GPU has come, and as it should. */
typedef struct coming {
    bool done, ok;
} coming;

/* A token on its way. */
typedef struct arriving {
    coming state;
    uint32_t token;
} arriving;

/* Several tokens that one dispatch makes, from the one at `first` on; or the only one that a prompt made. */
typedef struct chunk {
    coming state;
    uint32_t first, count, tokens[MOST_TOGETHER];
    uint64_t began_ns;
} chunk;

struct generation {
    gpu *g;
    graph *graphs[MAX_PROGRAMS];
    uint32_t program_count; /* of a level */
    uint32_t programs[LEVEL_COUNT][MAX_PROGRAMS];
    bool has_level[LEVEL_COUNT];
    fusion_level level;
    fusion_level begun; /* the one that is being made compile_in_background; LEVEL_AUTO: none is */
    graph_run *run;
    submit_policy submit;
    graph_place settings, logits, tokens, position_place, count, last, history;
    uint32_t context_tok, vocab_tok;
    bool slides, ahead;
    uint32_t *said; /* (context_tok) what was taken in */
    uint32_t position;
    uint32_t written; /* the last token that the GPU may have put into the history */
    uint32_t limit;   /* no token beyond this position is wanted */
    bool fed;
    /* The token at `position` is made; those up to `asked` are on their way here, one by one or in chunks. */
    uint32_t asked;
    arriving reads[READS]; /* of the token at position p: reads[p % READS] */
    /* At the level `loop`: the chunk that tokens are handed out from, and the one behind it. */
    chunk chunks[2];
    uint32_t chunk_at, chunk_count, together, rounds;
    uint64_t chunk_ns; /* long enough for a dispatch: someone who reads along sees its tokens at once */
    uint32_t stops[MEGAKERNEL_MAX_STOPS], stop_count;
    char notice[1200];
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

static bool compare_with_ops(generation *n, err *e);
static void write_stops(generation *n);

static uint32_t program_of(const generation *n, uint32_t program)
{
    return n->programs[n->level][program];
}

/* How many tokens the next dispatch of the level `loop` makes. */
static void set_rounds(generation *n, uint32_t rounds)
{
    if (n->level == LEVEL_LOOP && n->rounds != rounds)
        graph_run_set_rounds(n->run, program_of(n, 0), n->rounds = rounds);
}

/* In the history, what comes after `position` was not made. */
static void forget_beyond(generation *n, uint32_t position)
{
    uint32_t count = n->written > position ? n->written - position : 0;
    uint32_t *nothing = mem_alloc((count + 1) * sizeof *nothing);
    memset(nothing, 0xff, count * sizeof *nothing);
    if (count)
        graph_run_put(n->run, (graph_place){n->history.word + position + 1, n->history.words}, nothing, count);
    free(nothing);
    n->written = position;
}

/* The token at `position` once more, by separate dispatches, from the one before it. */
static void make_again(generation *n)
{
    uint32_t before = n->position - 1;
    graph_run_put(n->run, n->tokens, &n->said[before], 1);
    graph_run_put(n->run, n->position_place, &before, 1);
    graph_run_once(n->run, n->programs[LEVEL_OPS][0], SUBMIT_BATCH);
    n->written = n->asked = n->position;
}

static void let_come(generation *n, const coming *c)
{
    enum { GRACE_NS = 1000000000 }; /* a lost device may never answer */
    for (uint64_t began = clock_ns(); !c->done && clock_ns() - began < GRACE_NS;)
        gpu_poll(n->g);
}

/* Reads that are on their way have addresses of ours: they must have come before those are used for others, or go. */
static void drain(generation *n)
{
    err unused = {0};
    if (n->asked > n->position || n->chunk_count)
        gpu_wait(n->g, &unused);
    for (uint32_t p = n->position; p < n->asked && !n->chunk_count; p++)
        let_come(n, &n->reads[p % READS].state);
    for (uint32_t i = 0; i < n->chunk_count; i++)
        let_come(n, &n->chunks[(n->chunk_at + i) % 2].state);
}

static void settle(generation *n)
{
    bool together = n->chunk_count > 0;
    uint32_t next = NOTHING;
    drain(n);
    for (uint32_t i = 0; i < n->chunk_count; i++) {
        const chunk *c = &n->chunks[(n->chunk_at + i) % 2];
        if (n->position >= c->first && n->position < c->first + c->count)
            next = c->tokens[n->position - c->first];
    }
    n->chunk_count = 0;
    n->asked = n->position;
    if (!n->run || !n->fed)
        return;
    /* The GPU may be further than what was handed out: back to there. */
    if (n->written > n->position && together) {
        if (next != NOTHING) {
            graph_run_put(n->run, n->tokens, &next, 1);
            graph_run_put(n->run, n->position_place, &n->position, 1);
        } else if (n->position > 0)
            make_again(n);
    }
}

/* Software needs the processor that asking again and again would keep busy. */
static bool runs_ahead(const gpu *g, submit_policy submit)
{
    return gpu_get_info(g)->type != GPU_TYPE_SOFTWARE && submit != SUBMIT_SYNC;
}

/* A level above ops differs from it in the program for one token only, and has ops beside it: for prompts, and in case
 * it gives up. */
static graph_run *make_run(generation *n, const model *m, const generation_options *o, err *e)
{
    graph_use uses[MAX_PROGRAMS * LEVEL_COUNT];
    uint32_t count = 0;
    /* Software takes its time to compile, and may never be told a long text. */
    bool later = gpu_get_info(n->g)->type == GPU_TYPE_SOFTWARE;
    fusion_level highest = graph_run_level(n->g, o->level);
    for (int level = (int)highest; level >= LEVEL_NONE; level--) {
        if (level < (int)highest && !o->all_levels && !(level == LEVEL_OPS && highest > LEVEL_OPS))
            continue;
        n->has_level[level] = true;
        for (uint32_t i = 0; i < n->program_count; i++) {
            n->programs[level][i] = count;
            if (i == 0 || level <= LEVEL_OPS)
                uses[count++] =
                    (graph_use){n->graphs[i], (fusion_level)level, later && i > 0, o->compile_in_background};
        }
    }
    for (int level = LEVEL_TOKEN; level < LEVEL_COUNT; level++)
        for (uint32_t i = 1; n->has_level[level] && i < n->program_count; i++)
            n->programs[level][i] = n->programs[LEVEL_OPS][i];
    return graph_run_new(n->g, uses, count, decoder_find_weight, &(decoder_weights){m, n->context_tok}, e);
}

/* Levels that cannot be had here: ops instead, and why. */
static void drop_levels(generation *n, fusion_level wanted)
{
    for (int level = LEVEL_TOKEN; level < LEVEL_COUNT; level++)
        if (n->has_level[level] && !graph_run_megakernel(n->run, n->programs[level][0])) {
            n->has_level[level] = false;
            if (graph_run_is_compiling(n->run, n->programs[level][0]))
                n->begun = (fusion_level)level;
            else
                snprintf(n->notice, sizeof n->notice,
                         "one dispatch cannot be had: %s; each step has a dispatch of its own",
                         graph_run_why_not(n->run, n->programs[level][0]));
        }
    n->level = wanted;
    while (!n->has_level[n->level])
        n->level--;
}

/* From here on ops, and why. */
static void stop_using_one(generation *n, const char *why)
{
    n->has_level[LEVEL_TOKEN] = n->has_level[LEVEL_LOOP] = false;
    n->level = LEVEL_OPS;
    snprintf(n->notice, sizeof n->notice, "%s", why);
}

/* With memory as it is at first. */
static bool begin(generation *n, fusion_level level, err *e)
{
    drop_levels(n, level);
    forget_beyond(n, 0);
    generation_set_sampling(n, &(sampling){0});
    write_stops(n);
    return compare_with_ops(n, e);
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
    n->limit = n->written = n->context_tok;
    n->together = 1;
    n->chunk_ns = (o->chunk_ms ? o->chunk_ms : GENERATION_DEFAULT_CHUNK_MS) * 1000000ull;
    if (make_graphs(n, m, o, e))
        n->run = make_run(n, m, o, e);
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
    if (!begin(n, graph_run_level(g, o->level), e)) {
        generation_free(n);
        return NULL;
    }
    return n;
}

bool generation_is_compiling(const generation *n)
{
    return n->begun != LEVEL_AUTO;
}

bool generation_finish_compile(generation *n, err *e)
{
    fusion_level level = n->begun;
    if (level == LEVEL_AUTO)
        return true;
    generation_rewind(n, 0);
    n->begun = LEVEL_AUTO;
    n->written = n->context_tok; /* all of the history is zeros, not nothing */
    generation_set_sampling(n, &(sampling){0});
    if (!graph_run_finish_compile(n->run, n->programs[level][0], e))
        return false;
    n->has_level[level] = true;
    if (begin(n, level, e))
        return true;
    n->has_level[level] = false; /* no one has seen that it makes the same tokens */
    n->level = LEVEL_OPS;
    return false;
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

void generation_set_launch(generation *n, fusion_level level, submit_policy submit)
{
    settle(n);
    int wanted = level == LEVEL_AUTO ? LEVEL_LOOP : (int)level;
    while (level == LEVEL_AUTO && !n->has_level[wanted])
        wanted--;
    n->level = n->has_level[wanted] ? (fusion_level)wanted : LEVEL_OPS;
    n->submit = submit;
    n->ahead = runs_ahead(n->g, submit);
    forget_beyond(n, n->position);
}

/* The program for the next of `left` tokens: rather one too large than two that are not. In software a few tokens are taken in one
 * by one before kernels for many are compiled, which take a second. */
static uint32_t program_for(const generation *n, uint32_t left)
{
    enum { FEW = 12 };
    uint32_t i = 0;
    if (left <= FEW && gpu_get_info(n->g)->type == GPU_TYPE_SOFTWARE)
        return 0;
    while (i + 1 < n->program_count && left * 2 > ROWS[i + 1])
        i++;
    return left == 1 ? 0 : i;
}

/* Only the last token of a text may go by one dispatch: if that gives up, it is the only one to be made again. */
static void take_in(generation *n, const uint32_t *tokens, uint32_t count, uint32_t program, bool last_too)
{
    fusion_level level = n->level > LEVEL_OPS && !last_too ? LEVEL_OPS : n->level;
    graph_place here = {n->history.word + n->position, n->history.words};
    graph_run_put(n->run, here, tokens, count);
    graph_run_put(n->run, n->tokens, tokens, count);
    graph_run_put(n->run, n->position_place, &n->position, 1);
    if (program > 0) {
        uint32_t last = count - 1;
        graph_run_put(n->run, n->count, &count, 1);
        graph_run_put(n->run, n->last, &last, 1);
    }
    if (program == 0)
        set_rounds(n, 1);
    graph_run_once(n->run, n->programs[level][program], n->submit);
    n->written = n->position + count;
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
    forget_beyond(n, n->position);
    while (count) {
        uint32_t program = program_for(n, count), some = count < ROWS[program] ? count : ROWS[program];
        take_in(n, tokens, some, program, some == count);
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
    n->limit = n->context_tok;
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
    coming *c = user;
    c->ok = ok;
    c->done = true;
}

/* Ask for the token at `asked`, which the GPU has made or is making. */
static void ask(generation *n)
{
    arriving *a = &n->reads[n->asked % READS];
    *a = (arriving){0};
    graph_run_get_later(n->run, n->history, n->asked, 1, &a->token, on_arrival, &a->state);
    n->asked++;
}

enum { HANG_S = 300 };

/* Until what was asked for has come, `ok` or not. */
static bool wait_for(generation *n, const coming *c, err *e)
{
    for (uint64_t began = clock_ns(); !c->done; gpu_poll(n->g))
        if (!gpu_ok(n->g, e))
            return false;
        else if (clock_ns() - began > HANG_S * 1000000000ull)
            return err_set(e, "the GPU did not answer for %d s", HANG_S);
    return gpu_ok(n->g, e) && (c->ok || err_set(e, "a token could not be read back"));
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

static bool is_stop(const generation *n, uint32_t token)
{
    for (uint32_t i = 0; i < n->stop_count; i++)
        if (n->stops[i] == token)
            return true;
    return false;
}

/* What is made already and not on its way here; else one dispatch for several tokens. */
static void launch_chunk(generation *n)
{
    chunk *c = &n->chunks[(n->chunk_at + n->chunk_count) % 2];
    *c = (chunk){.first = n->asked, .count = 1, .began_ns = clock_ns()};
    if (n->asked > n->written) {
        uint32_t left = n->limit > n->asked ? n->limit - n->asked : 1;
        c->count = left < n->together ? left : n->together;
        set_rounds(n, c->count);
        graph_run_once(n->run, program_of(n, 0), n->submit);
        n->written += c->count;
    }
    graph_run_get_later(n->run, n->history, c->first, c->count, c->tokens, on_arrival, &c->state);
    n->asked += c->count;
    n->chunk_count++;
}

/* More tokens in a dispatch until it takes as long as it may. */
static void choose_together(generation *n, const chunk *c)
{
    uint64_t ns = clock_ns() - c->began_ns;
    if (ns < n->chunk_ns || n->together < FEW_TOGETHER)
        n->together = n->together * 2 < MOST_TOGETHER ? n->together * 2 : MOST_TOGETHER;
    else if (ns > LONG_NS && n->together > 1)
        n->together /= 2;
}

/* A dispatch left before the token at `position` was made: because the one before it was the last that is wanted, or
 * because its workgroups waited for each other in vain. That token, and in the second case all others, by separate
 * dispatches. */
static bool go_on_apart(generation *n, uint32_t *token, err *e)
{
    drain(n);
    n->chunk_count = 0;
    n->asked = n->position;
    if (!gpu_wait(n->g, e))
        return false;
    bool gave_up = false;
    megakernel *whole = graph_run_megakernel(n->run, program_of(n, 0));
    if (whole && !megakernel_timed_out(whole, &gave_up, e))
        return false;
    if (gave_up)
        stop_using_one(n, "the workgroups of one dispatch waited for each other in vain; from here on each step has a "
                          "dispatch of its own");
    else if (!is_stop(n, n->said[n->position - 1]))
        return err_set(e, "a dispatch ended without a token, and without giving up");
    forget_beyond(n, n->position - 1);
    make_again(n);
    return graph_run_get(n->run, n->history, n->position, 1, token, e) &&
           (*token != NOTHING || err_set(e, "no token was made"));
}

/* Wants the token at `position`. */
static bool next_of_chunk(generation *n, uint32_t *token, err *e)
{
    chunk *c = &n->chunks[n->chunk_at];
    if (n->chunk_count && n->position == c->first + c->count) {
        n->chunk_at = 1 - n->chunk_at;
        n->chunk_count--;
        c = &n->chunks[n->chunk_at];
    }
    if (!n->chunk_count)
        launch_chunk(n);
    bool came = c->state.done;
    if (n->ahead && n->chunk_count < 2 && n->asked < n->limit)
        launch_chunk(n);
    if (!came) {
        if ((!n->ahead && !gpu_wait(n->g, e)) || !wait_for(n, &c->state, e))
            return false;
        choose_together(n, c);
    }
    *token = c->tokens[n->position - c->first];
    return true;
}

/* The same, a token to a dispatch, or to many. */
static bool next_alone(generation *n, uint32_t *token, err *e)
{
    if (!n->ahead) {
        if (!graph_run_get(n->run, n->history, n->position, 1, token, e))
            return false;
        if (*token == NOTHING)
            return true;
        graph_run_once(n->run, program_of(n, 0), n->submit);
        n->asked = n->written = n->position + 1;
        return true;
    }
    /* While the token at `position` comes here, the GPU already works on what follows it. */
    if (n->asked == n->position)
        ask(n);
    graph_run_once(n->run, program_of(n, 0), n->submit);
    n->written = n->position + 1;
    if (n->position + 1 < n->context_tok)
        ask(n);
    arriving *a = &n->reads[n->position % READS];
    if (!wait_for(n, &a->state, e))
        return false;
    *token = a->token;
    return true;
}

bool generation_next(generation *n, uint32_t *token, err *e)
{
    if (!n->fed)
        return err_set(e, "nothing was said yet that could be continued");
    if (n->position == n->context_tok && !n->slides)
        return err_set(e, "the context of %u tokens is full", n->context_tok);
    if (n->position == n->context_tok && !slide(n, e))
        return false;
    if (!(n->level == LEVEL_LOOP ? next_of_chunk : next_alone)(n, token, e))
        return false;
    if (*token == NOTHING) {
        if (!go_on_apart(n, token, e))
            return false;
        if (n->level != LEVEL_LOOP) { /* as next_alone leaves it */
            graph_run_once(n->run, program_of(n, 0), n->submit);
            n->written = n->position + 1;
        }
    }
    n->said[n->position++] = *token;
    if (n->asked < n->position)
        n->asked = n->position;
    return gpu_ok(n->g, e);
}

static void write_stops(generation *n)
{
    for (int level = LEVEL_TOKEN; level < LEVEL_COUNT; level++)
        if (n->has_level[level])
            megakernel_set_stops(graph_run_megakernel(n->run, n->programs[level][0]), n->tokens.word, n->stops,
                                 n->stop_count);
}

void generation_set_stops(generation *n, const uint32_t *tokens, uint32_t count)
{
    settle(n);
    n->stop_count = count < MEGAKERNEL_MAX_STOPS ? count : 0; /* more than it can look for: it looks for none */
    memcpy(n->stops, tokens, n->stop_count * sizeof *tokens);
    write_stops(n);
}

void generation_set_limit(generation *n, uint32_t tokens)
{
    n->limit = tokens < n->context_tok - n->position ? n->position + tokens : n->context_tok;
}

const char *generation_take_notice(generation *n, char *text, size_t size)
{
    if (!n->notice[0])
        return NULL;
    snprintf(text, size, "%s", n->notice);
    n->notice[0] = '\0';
    return text;
}

fusion_level generation_level(const generation *n)
{
    return n->level;
}

/* ---- one dispatch against many ------------------------------------------------------ */

enum { COMPARED_TOK = 24 };

static bool make_compared(generation *n, fusion_level level, uint32_t *tokens, err *e)
{
    uint32_t words[] = {1 % n->vocab_tok, 2 % n->vocab_tok, 3 % n->vocab_tok};
    generation_set_launch(n, level, n->submit);
    generation_rewind(n, 0);
    bool ok = generation_feed(n, words, 3, e);
    generation_set_limit(n, COMPARED_TOK);
    for (uint32_t i = 0; ok && i < COMPARED_TOK; i++)
        ok = generation_next(n, &tokens[i], e);
    return ok;
}

/* Several workgroups in one dispatch are believed when they have made the same tokens as separate dispatches, once for
 * each device, implementation, driver and kernel. */
static bool compare_with_ops(generation *n, err *e)
{
    const megakernel *whole = graph_run_megakernel(n->run, n->programs[n->level][0]);
    if (!whole || megakernel_form(whole)->groups == 1 || gpu_get_info(n->g)->type == GPU_TYPE_SOFTWARE ||
        n->context_tok < COMPARED_TOK + 4)
        return true;
    fusion_level level = n->level;
    submit_policy submit = n->submit;
    uint32_t right[COMPARED_TOK], tokens[COMPARED_TOK];
    str key = {0};
    str_addf(&key, "one dispatch against many, kernel %016llx, %u workgroups\n",
             (unsigned long long)megakernel_text_hash(whole), megakernel_form(whole)->groups);
    gpu_add_identity(gpu_get_info(n->g), &key);
    char *known = cache_get(key.data);
    bool ok = true, same = known && strcmp(known, "same") == 0;
    if (!known) {
        ok = make_compared(n, LEVEL_OPS, right, e) && make_compared(n, level, tokens, e);
        same = ok && memcmp(right, tokens, sizeof right) == 0 && n->level == level;
        if (ok && n->level == level) /* a time-out says nothing about the next time */
            cache_put(key.data, same ? "same" : "different");
        generation_rewind(n, 0);
        generation_set_launch(n, level, submit);
    }
    if (ok && !same && n->has_level[level])
        stop_using_one(n,
                       "one dispatch made other tokens than many on this device; each step has a dispatch of its own");
    free(known);
    str_free(&key);
    return ok;
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
    return graph_run_dispatches(n->run, program_of(n, 0));
}

uint32_t generation_workgroups(const generation *n, uint32_t *threads)
{
    const megakernel *whole = graph_run_megakernel(n->run, program_of(n, 0));
    *threads = whole ? megakernel_form(whole)->threads : 0;
    return whole ? megakernel_form(whole)->groups : 0;
}

uint64_t generation_bytes(const generation *n)
{
    return graph_run_bytes(n->run);
}

const plan *generation_plan(const generation *n)
{
    return graph_run_plan(n->run, program_of(n, 0));
}

void generation_stall(generation *n, uint32_t barrier)
{
    settle(n);
    for (int level = LEVEL_TOKEN; level < LEVEL_COUNT; level++)
        if (n->has_level[level])
            megakernel_set_stall(graph_run_megakernel(n->run, n->programs[level][0]), barrier);
}
