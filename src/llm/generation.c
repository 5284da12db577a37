/* generation: makes a generation on its device, sets its options, and answers questions about it. */
#include "llm/generation.h"
#include "graph/megakernel_test.h"
#include "llm/generation_internal.h"
#include "llm/generation_test.h"
#include "model/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint32_t generation_rows[MAX_PROGRAMS] = {1, 8, 32, 128, 512};

/* ---- making -------------------------------------------------------------------- */

void generation_add_choice(graph *g, uint32_t rows, uint32_t context_tok)
{
    node position = graph_find(g, "position");
    node history = graph_input(g, "history", DTYPE_U32, shape1(context_tok + 1));
    node settings = graph_input(g, "sampling", DTYPE_U32, shape1(SAMPLE_WORDS));
    /* A program may get fewer rows than it has: the count is set when it runs. */
    node count = rows > 1 ? graph_input(g, "count", DTYPE_U32, shape1(1)) : 0;
    node so_far = graph_assign(g, position, position, (assign_spec){.added = rows > 1 ? 0 : 1, .more = count});
    graph_sample(g, graph_find(g, "tokens"), graph_find(g, "logits"), settings, so_far, history);
}

static const struct {
    const char *name;
    dtype type;
} CACHES[] = {{"f16", DTYPE_F16}, {"f32", DTYPE_F32}, {"q8_0", DTYPE_Q8_0}, {"q4_0", DTYPE_Q4_0}};
enum { CACHE_COUNT = sizeof CACHES / sizeof *CACHES };

const char *generation_cache_name(uint32_t i)
{
    return i < CACHE_COUNT ? CACHES[i].name : NULL;
}

bool generation_find_cache(const char *name, dtype *type, err *e)
{
    for (int i = 0; i < CACHE_COUNT; i++)
        if (!name || strcmp(name, CACHES[i].name) == 0) {
            *type = CACHES[i].type;
            return true;
        }
    return err_set_kind(e, ERR_USAGE, "a KV cache is f16, f32, q8_0 or q4_0, not '%s'", name);
}

static bool make_graphs(generation *n, const model *m, const generation_options *o, err *e)
{
    dtype cache;
    if (!generation_find_cache(o->cache, &cache, e))
        return false;
    for (uint32_t i = 0; i < MAX_PROGRAMS && generation_rows[i] <= n->context_tok; i++) {
        decoder_options d = {.rows = generation_rows[i],
                             .context_tok = n->context_tok,
                             .cache = cache,
                             .one_row = generation_rows[i] > 1,
                             .angles_given = true};
        graph *g = n->graphs[n->program_count] = decoder_graph(m, &d, e);
        if (!g)
            return false;
        n->program_count++;
        generation_add_choice(g, generation_rows[i], n->context_tok);
    }
    return true;
}

bool generation_in_background(generation_compile when, fusion_level level, bool all_levels)
{
    return !all_levels && (when == COMPILE_IN_BACKGROUND || (when == COMPILE_AUTO && level == LEVEL_AUTO));
}

/* A level above ops differs from it only in the program for one token, and has ops beside it: for prompts, and in case
 * of a time-out. */
static graph_run *make_run(generation *n, const model *m, const generation_options *o, err *e)
{
    graph_use uses[MAX_PROGRAMS * LEVEL_COUNT];
    uint32_t count = 0;
    /* Software devices compile slowly, and may never get a long prompt; elsewhere text appears before all is compiled. */
    bool background = generation_in_background(o->compile, o->level, o->all_levels);
    bool later = gpu_get_info(n->g)->type == GPU_TYPE_SOFTWARE || background;
    fusion_level highest = graph_run_level(n->g, o->level);
    uint32_t needed = generation_first_program(n, o->prompt_tok);
    for (int level = (int)highest; level >= LEVEL_NONE; level--) {
        if (level < (int)highest && !o->all_levels && !(level == LEVEL_OPS && highest > LEVEL_OPS))
            continue;
        n->has_level[level] = true;
        for (uint32_t i = 0; i < n->program_count; i++) {
            n->programs[level][i] = count;
            if (i == 0 || level <= LEVEL_OPS)
                uses[count++] = (graph_use){n->graphs[i], (fusion_level)level, later && i > 0 && i != needed,
                                            background, o->text_waits};
        }
    }
    for (int level = LEVEL_TOKEN; level < LEVEL_COUNT; level++)
        for (uint32_t i = 1; n->has_level[level] && i < n->program_count; i++)
            n->programs[level][i] = n->programs[LEVEL_OPS][i];
    decoder_weights weights = {.m = m, .context_tok = n->context_tok};
    graph_run *r = graph_run_new(n->g, uses, count, decoder_find_weight, &weights, e);
    decoder_weights_free(&weights);
    return r;
}

/* Levels that are not possible here: ops instead, with the reason. */
static void drop_levels(generation *n, fusion_level wanted)
{
    for (int level = LEVEL_TOKEN; level < LEVEL_COUNT; level++)
        if (n->has_level[level] && !graph_run_megakernel(n->run, n->programs[level][0])) {
            n->has_level[level] = false;
            if (graph_run_is_compiling(n->run, n->programs[level][0]))
                n->compiling = (fusion_level)level;
            else
                snprintf(n->notice, sizeof n->notice, GENERATION_NOT_POSSIBLE,
                         graph_run_why_not(n->run, n->programs[level][0]));
        }
    n->level = wanted;
    while (!n->has_level[n->level])
        n->level--;
}

void generation_set_stops_of_levels(generation *n)
{
    for (int level = LEVEL_TOKEN; level < LEVEL_COUNT; level++)
        if (n->has_level[level])
            megakernel_set_stops(graph_run_megakernel(n->run, n->programs[level][0]), n->tokens.word, n->stops,
                                 n->stop_count);
}

void generation_fall_back(generation *n, const char *why)
{
    n->has_level[LEVEL_TOKEN] = n->has_level[LEVEL_LOOP] = false;
    n->level = LEVEL_OPS;
    snprintf(n->notice, sizeof n->notice, "%s", why);
}

/* Starts with cleared memory. */
static bool begin(generation *n, fusion_level level, err *e)
{
    drop_levels(n, level);
    generation_put_angles(n);
    generation_forget_beyond(n, 0);
    generation_set_sampling(n, &(sampling){0});
    generation_set_stops_of_levels(n);
    return generation_compare_with_ops(n, e);
}

static void keep_angles(generation *n, const model_config *c)
{
    if (!decoder_changes_angles(c, n->context_tok))
        return;
    n->short_tok = c->rope_original_tok;
    n->angle_count = c->rope_dims / 2;
    for (int i = 0; i < 2; i++) {
        n->angles[i] = mem_alloc(CONFIG_MAX_HEAD_DIM / 2 * sizeof(float));
        decoder_angles(c, i == 1, n->angles[i]);
    }
}

generation *generation_new(gpu *g, const model *m, const generation_options *o, err *e)
{
    const model_config *c = model_get_config(m);
    generation *n = mem_alloc(sizeof *n);
    n->g = g;
    if (!generation_choose_context(n, m, o, e)) {
        generation_free(n);
        return NULL;
    }
    n->vocab_tok = c->vocab_tok;
    n->trained_tok = c->context_tok;
    n->slides = o->slide;
    n->text_waits = o->text_waits;
    generation_set_submit(n, o->submit);
    n->said = mem_alloc((n->context_tok + 1) * sizeof *n->said);
    n->limit = n->written = n->context_tok;
    n->chunk_tok = 1;
    n->chunk_ns = (o->chunk_ms ? o->chunk_ms : GENERATION_DEFAULT_CHUNK_MS) * 1000000ull;
    keep_angles(n, c);
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
    n->angles_place = graph_run_place(n->run, DECODER_ROPE_ANGLES);
    n->snapshot = graph_snapshot_new(g, n->run);
    if (!begin(n, graph_run_level(g, o->level), e)) {
        generation_free(n);
        return NULL;
    }
    return n;
}

bool generation_is_compiling(const generation *n)
{
    return n->compiling != LEVEL_AUTO;
}

bool generation_finish_compile(generation *n, err *e)
{
    fusion_level level = n->compiling;
    if (level == LEVEL_AUTO)
        return true;
    generation_rewind(n, 0);
    n->compiling = LEVEL_AUTO;
    n->stage = STAGE_COMPILING;
    n->rounds = 0;               /* as timing left them */
    n->written = n->context_tok; /* the history was cleared to zeros, not to NO_TOKEN */
    generation_set_sampling(n, &(sampling){0});
    if (!graph_run_finish_compile(n->run, n->programs[level][0], e))
        return false;
    n->has_level[level] = true;
    if (begin(n, level, e)) {
        if (n->wanted != LEVEL_AUTO)
            generation_set_launch(n, n->wanted, n->submit);
        return true;
    }
    n->has_level[level] = false; /* nothing has checked that it makes the same tokens */
    n->level = LEVEL_OPS;
    return false;
}

void generation_free(generation *n)
{
    if (!n)
        return;
    if (n->run)
        generation_sync(n);
    graph_snapshot_free(n->snapshot);
    graph_run_free(n->run);
    for (uint32_t i = 0; i < n->program_count; i++)
        graph_free(n->graphs[i]);
    free(n->angles[0]);
    free(n->angles[1]);
    free(n->said);
    free(n);
}

/* ---- asking -------------------------------------------------------------------- */

void generation_set_stops(generation *n, const uint32_t *tokens, uint32_t count)
{
    generation_sync(n);
    n->stop_count = count < MEGAKERNEL_MAX_STOPS ? count : 0; /* more than the kernel can compare: it compares none */
    memcpy(n->stops, tokens, n->stop_count * sizeof *tokens);
    generation_set_stops_of_levels(n);
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

void generation_warn_beyond_trained(generation *n)
{
    if (n->position <= n->trained_tok || n->notice[0]) /* another notice comes first */
        return;
    snprintf(n->notice, sizeof n->notice, GENERATION_BEYOND_TRAINED, n->trained_tok);
    n->trained_tok = UINT32_MAX;
}

fusion_level generation_level(const generation *n)
{
    return n->level;
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

const uint32_t *generation_text(const generation *n)
{
    return n->said;
}

uint32_t generation_stream(const generation *n)
{
    return n->stream;
}

uint32_t generation_context(const generation *n)
{
    return n->context_tok;
}

bool generation_context_is_short(const generation *n)
{
    return n->context_is_short;
}

bool generation_is_full(const generation *n)
{
    return n->position == n->context_tok && !n->slides;
}

uint32_t generation_dispatches(const generation *n)
{
    return graph_run_dispatches(n->run, generation_program(n, 0));
}

uint32_t generation_workgroups(const generation *n, uint32_t *threads)
{
    const megakernel *mega = graph_run_megakernel(n->run, generation_program(n, 0));
    *threads = mega ? megakernel_form(mega)->threads : 0;
    return mega ? megakernel_form(mega)->groups : 0;
}

uint64_t generation_bytes(const generation *n)
{
    return graph_run_bytes(n->run);
}

const plan *generation_plan(const generation *n)
{
    return graph_run_plan(n->run, generation_program(n, 0));
}

void generation_stall(generation *n, uint32_t barrier)
{
    generation_sync(n);
    for (int level = LEVEL_TOKEN; level < LEVEL_COUNT; level++)
        if (n->has_level[level])
            megakernel_set_stall(graph_run_megakernel(n->run, n->programs[level][0]), barrier);
}
