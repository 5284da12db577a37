/* batch: makes a batch on its device, and answers questions about it. */
#include "llm/batch_internal.h"
#include "llm/generation_internal.h"
#include "model/decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making -------------------------------------------------------------------- */

static bool check(batch *b, const model *m, const batch_options *o, err *e)
{
    const model_config *c = model_get_config(m);
    if (o->slots == 0 || o->slots > BATCH_MOST_SLOTS)
        return err_set_kind(e, ERR_USAGE, "%u texts at a time: 1 to %d are possible", o->slots, BATCH_MOST_SLOTS);
    if (!gpu_get_info(b->g)->has_wgsl)
        return err_set(e, "bare Vulkan makes one text at a time: several need a device that takes WGSL (--impl dawn)");
    if (decoder_changes_angles(c, b->context_tok))
        return err_set(e,
                       "%s has other angles for texts of more than %u tokens: several texts at a time need a context "
                       "up to that (-c %u)",
                       model_get_path(m), c->rope_original_tok, c->rope_original_tok);
    return true;
}

static bool choose_context(batch *b, const model *m, const batch_options *o, err *e)
{
    generation like = {.g = b->g};
    generation_options options = {.context_tok = o->context_tok, .cache = o->cache};
    if (!generation_choose_context(&like, m, &options, e))
        return false;
    bool shared = !o->context_tok && like.context_is_short; /* one text's would take all there is */
    b->context_tok = shared ? like.context_tok / (o->slots + 1) : like.context_tok;
    const model_config *c = model_get_config(m);
    if (!o->context_tok && decoder_changes_angles(c, b->context_tok))
        b->context_tok = c->rope_original_tok;
    return true;
}

/* After the logits: the choice of a token for each row. */
static void add_choices(const batch *b, bool steered)
{
    graph *g = b->making;
    uint32_t rows = b->slots;
    node history = graph_input(g, "slot_history", DTYPE_U32, shape2(rows, b->context_tok + 1));
    node settings = graph_input(g, "slot_sampling", DTYPE_U32, shape2(rows, SAMPLE_WORDS));
    node control = graph_input(g, "slot_control", DTYPE_U32, shape2(rows, SAMPLE_CONTROL_WORDS));
    node steering =
        steered ? graph_input(g, "slot_steering", DTYPE_U32, shape2(rows, sample_steering_words(b->vocab_tok))) : 0;
    graph_sample_rows(g, graph_find(g, "slot_tokens"), graph_find(g, "slot_logits"), settings,
                      graph_find(g, "slot_positions"), history, control, steering);
}

/* Tokens of a piece: together, since each piece has a price of its own, but a GPU should read them in some milliseconds,
 * for so long the other texts wait. */
static uint32_t piece_for(const batch *b)
{
    enum { SOFTWARE_TOK = 32, TOK = 256, SMALL_MODEL_TOK = 512, SMALL_MODEL_BYTES = 1 << 30 };
    uint64_t bytes = 0;
    if (gpu_get_info(b->g)->type == GPU_TYPE_SOFTWARE)
        return SOFTWARE_TOK;
    for (node n = 1; n <= graph_count(b->making); n++)
        bytes += graph_at(b->making, n)->op == OP_WEIGHT ? graph_weight_bytes(graph_at(b->making, n)) : 0;
    return bytes <= SMALL_MODEL_BYTES ? SMALL_MODEL_TOK : TOK;
}

static bool make_graphs(batch *b, const model *m, const batch_options *o, err *e)
{
    enum { FEW_TOK = 8, SOME_TOK = 32 };
    dtype cache;
    if (!generation_find_cache(o->cache, &cache, e))
        return false;
    decoder_options d = {.rows = b->slots, .context_tok = b->context_tok, .cache = cache, .slots = true};
    b->making = decoder_graph(m, &d, e);
    if (!b->making)
        return false;
    add_choices(b, o->steered);
    uint32_t piece = o->piece_tok ? o->piece_tok : piece_for(b), sizes[] = {FEW_TOK, SOME_TOK, piece};
    for (int i = 0; i < BATCH_READERS; i++) {
        if (i + 1 < BATCH_READERS && sizes[i] >= piece)
            continue;
        uint32_t rows = sizes[i] < b->context_tok ? sizes[i] : b->context_tok;
        decoder_options r = {
            .rows = rows, .context_tok = b->context_tok, .cache = cache, .cache_only = true, .one_row = true};
        graph *g = b->readers[b->reader_count] = decoder_graph(m, &r, e);
        if (!g)
            return false;
        b->reader_rows[b->reader_count++] = rows;
    }
    return true;
}

static graph_run *make_run(batch *b, const model *m, const batch_options *o, err *e)
{
    graph_use uses[LEVEL_COUNT + BATCH_READERS];
    uint32_t count = 0;
    bool background = generation_in_background(o->compile, o->level, o->all_levels);
    fusion_level highest = graph_run_level(b->g, o->level), reads_at = highest < LEVEL_OPS ? highest : LEVEL_OPS;
    for (int level = (int)highest; level >= LEVEL_NONE; level--)
        if (level == (int)highest || o->all_levels || level == LEVEL_OPS) {
            b->has_level[level] = true;
            b->programs[level] = count;
            uses[count++] =
                (graph_use){.g = b->making, .level = (fusion_level)level, .compile_in_background = background};
        }
    for (uint32_t i = 0; i < b->reader_count; i++) {
        b->reader_programs[i] = count;
        uses[count++] = (graph_use){.g = b->readers[i], .level = reads_at, .later = true};
    }
    decoder_weights weights = {.m = m, .context_tok = b->context_tok};
    graph_run *r = graph_run_new(b->g, uses, count, decoder_find_weight, &weights, e);
    decoder_weights_free(&weights);
    return r;
}

/* Levels that are not possible here: ops instead, with the reason. */
static void drop_levels(batch *b, fusion_level wanted)
{
    for (int level = LEVEL_TOKEN; level < LEVEL_COUNT; level++)
        if (b->has_level[level] && !graph_run_megakernel(b->run, b->programs[level])) {
            b->has_level[level] = false;
            if (graph_run_is_compiling(b->run, b->programs[level]))
                b->compiling = (fusion_level)level;
            else
                snprintf(b->notice, sizeof b->notice, GENERATION_NOT_POSSIBLE,
                         graph_run_why_not(b->run, b->programs[level]));
        }
    b->level = wanted;
    while (!b->has_level[b->level])
        b->level--;
}

static bool find_places(batch *b, err *e)
{
    b->tokens = graph_run_place(b->run, "slot_tokens");
    b->positions = graph_run_place(b->run, "slot_positions");
    b->history = graph_run_place(b->run, "slot_history");
    b->settings = graph_run_place(b->run, "slot_sampling");
    b->control = graph_run_place(b->run, "slot_control");
    b->steering = graph_run_place(b->run, "slot_steering");
    b->logits = graph_run_place(b->run, "slot_logits");
    b->read_tokens = graph_run_place(b->run, "tokens");
    b->read_position = graph_run_place(b->run, "position");
    b->read_last = graph_run_place(b->run, "last");
    return batch_make_cache(b, e);
}

static bool make(batch *b, const model *m, const batch_options *o, err *e)
{
    if (!choose_context(b, m, o, e) || !check(b, m, o, e) || !make_graphs(b, m, o, e))
        return false;
    b->run = make_run(b, m, o, e);
    if (!b->run || !find_places(b, e))
        return false;
    b->reading = mem_alloc((b->context_tok + 1) * sizeof *b->reading);
    for (uint32_t i = 0; i < b->slots; i++) {
        b->rows[i].text = mem_alloc((b->context_tok + 1) * sizeof *b->reading);
        batch_idle_row(b, i);
    }
    drop_levels(b, graph_run_level(b->g, o->level));
    return batch_compare_with_ops(b, e);
}

batch *batch_new(gpu *g, const model *m, const batch_options *o, err *e)
{
    batch *b = mem_alloc(sizeof *b);
    *b = (batch){.g = g,
                 .slots = o->slots,
                 .vocab_tok = model_get_config(m)->vocab_tok,
                 .submit = o->submit,
                 .chunk_tok = 1,
                 .compiling = LEVEL_AUTO};
    b->chunk_ns = (o->chunk_ms ? o->chunk_ms : BATCH_DEFAULT_CHUNK_MS) * 1000000ull;
    if (make(b, m, o, e))
        return b;
    batch_free(b);
    return NULL;
}

void batch_free(batch *b)
{
    if (!b)
        return;
    graph_run_free(b->run);
    graph_free(b->making);
    for (uint32_t i = 0; i < b->reader_count; i++)
        graph_free(b->readers[i]);
    for (uint32_t i = 0; i < BATCH_MOST_SLOTS; i++)
        free(b->rows[i].text);
    graph_snapshot_free(b->before);
    if (b->between)
        gpu_buffer_free(b->between);
    free(b->cached);
    free(b->reading);
    free(b);
}

void batch_fall_back(batch *b, const char *why)
{
    b->has_level[LEVEL_TOKEN] = b->has_level[LEVEL_LOOP] = false;
    b->level = LEVEL_OPS;
    snprintf(b->notice, sizeof b->notice, "%s", why);
}

/* ---- asking -------------------------------------------------------------------- */

batch_news batch_look(const batch *b, uint32_t slot)
{
    const batch_row *r = &b->rows[slot];
    return (batch_news){.state = r->state,
                        .end = r->end,
                        .tokens = r->text + r->prompt_tok + r->made_tok - r->news_tok,
                        .count = r->news_tok,
                        .prompt_tok = r->prompt_tok,
                        .read_tok = r->read_tok < r->prompt_tok ? r->read_tok : r->prompt_tok,
                        .reused_tok = r->reused_tok,
                        .made_tok = r->made_tok};
}

bool batch_logits(batch *b, uint32_t slot, float *logits, err *e)
{
    return graph_run_get(b->run, b->logits, (uint64_t)slot * b->vocab_tok, b->vocab_tok, logits, e);
}

double batch_log_probability(const float *logits, uint32_t vocab, uint32_t token)
{
    double most = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < vocab; i++)
        most = fmax(most, logits[i]);
    for (uint32_t i = 0; i < vocab; i++)
        sum += exp(logits[i] - most);
    return logits[token] - most - log(sum);
}

void batch_most_likely(const float *logits, uint32_t vocab, uint32_t *tokens, uint32_t count)
{
    uint32_t have = 0;
    for (uint32_t i = 0; i < vocab; i++) {
        uint32_t at = have;
        while (at > 0 && logits[i] > logits[tokens[at - 1]])
            at--;
        if (at == count)
            continue;
        have += have < count;
        memmove(tokens + at + 1, tokens + at, (have - at - 1) * sizeof *tokens);
        tokens[at] = i;
    }
}

uint32_t batch_slots(const batch *b)
{
    return b->slots;
}

uint32_t batch_free_slots(const batch *b)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->slots; i++)
        count += b->rows[i].state == BATCH_FREE;
    return count;
}

bool batch_busy(const batch *b)
{
    bool busy = false;
    for (uint32_t i = 0; i < b->slots; i++)
        busy |= b->rows[i].state == BATCH_READING || b->rows[i].state == BATCH_MAKING;
    return busy;
}

uint32_t batch_context(const batch *b)
{
    return b->context_tok;
}

uint32_t batch_vocab(const batch *b)
{
    return b->vocab_tok;
}

uint32_t batch_piece(const batch *b)
{
    return b->reader_rows[b->reader_count - 1];
}

fusion_level batch_level(const batch *b)
{
    return b->level;
}

void batch_set_level(batch *b, fusion_level level)
{
    if (b->has_level[level])
        b->level = level;
}

uint32_t batch_dispatches(const batch *b)
{
    return graph_run_dispatches(b->run, b->programs[b->level]);
}

graph_run *batch_run(batch *b, uint32_t *which, uint32_t *rounds)
{
    *which = b->programs[b->level];
    *rounds = b->level == LEVEL_LOOP ? *rounds : 1;
    batch_set_rounds(b, *rounds);
    return b->run;
}

uint64_t batch_bytes(const batch *b)
{
    return graph_run_bytes(b->run) + (b->between ? gpu_buffer_bytes(b->between) : 0);
}

const char *batch_take_notice(batch *b, char *text, size_t size)
{
    if (!b->notice[0])
        return NULL;
    snprintf(text, size, "%s", b->notice);
    b->notice[0] = '\0';
    return text;
}
