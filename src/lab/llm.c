/* llm: the language-model experiment: its runs, interleaved, and the comparison of their tokens. */
#include "lab/llm.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/rng.h"
#include "graph/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_US = 300000 };

/* Two tokens whose logits differ by less than this, relative to how far all of them
 * spread, may change places by rounding alone. */
static const double NEAR_TIE = 2e-3;

typedef struct session {
    llm_lab *lab;
    generation *n;
    uint32_t *prompt; /* random tokens, for pp and for what stands before tg */
    uint32_t *made;
} session;

static void fill_prompt(session *s, uint32_t count)
{
    rng r = rng_seed(s->lab->options.seed + 1);
    s->prompt = mem_alloc((count + 1) * sizeof *s->prompt);
    for (uint32_t i = 0; i < count + 1; i++)
        s->prompt[i] = rng_below(&r, generation_vocab(s->n));
}

/* Seconds of one repetition, or less than zero with an error. */
static double run_prompt(session *s, uint32_t count, err *e)
{
    uint32_t token;
    generation_rewind(s->n, 0);
    generation_set_limit(s->n, count + 1);
    double began = clock_us();
    if (!generation_feed(s->n, s->prompt, count, e) || !generation_next(s->n, &token, e))
        return -1;
    return (clock_us() - began) * 1e-6;
}

/* What stands before tg. A prompt that is shorter has left its own tokens behind it there. */
static bool read_depth(session *s, err *e)
{
    uint32_t depth = s->lab->options.depth_tok;
    generation_rewind(s->n, 0);
    return depth == 0 || generation_feed(s->n, s->prompt, depth, e);
}

/* The states still hold what stands before; only the token behind it goes in anew. */
static double run_made(session *s, uint32_t depth, uint32_t count, err *e)
{
    generation_rewind(s->n, depth);
    generation_set_limit(s->n, 1 + count);
    double began = clock_us();
    if (!generation_feed(s->n, s->prompt + depth, 1, e))
        return -1;
    for (uint32_t i = 0; i < count; i++)
        if (!generation_next(s->n, &s->made[i], e))
            return -1;
    return (clock_us() - began) * 1e-6;
}

/* How close the two tokens were at the place where they parted: the reference's way is gone
 * again, up to there, by the first level. */
static bool measure_gap(session *s, llm_measurement *c, err *e)
{
    const llm_options *o = &s->lab->options;
    uint32_t vocab = generation_vocab(s->n), at = c->mismatch, other = s->made[at];
    float *logits = mem_alloc(vocab * sizeof *logits);
    generation_rewind(s->n, o->depth_tok);
    bool ok = generation_feed(s->n, s->prompt + o->depth_tok, 1, e);
    for (uint32_t i = 0; ok && i < at; i++)
        ok = generation_feed(s->n, &s->lab->reference[i], 1, e);
    ok = ok && generation_logits(s->n, logits, e);
    double low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < vocab; i++) {
        low = fmin(low, (double)logits[i]);
        high = fmax(high, (double)logits[i]);
    }
    if (ok)
        c->gap = fabs((double)logits[s->lab->reference[at]] - (double)logits[other]) / (high - low);
    free(logits);
    return ok;
}

static bool check_tokens(session *s, llm_measurement *c, err *e)
{
    llm_lab *lab = s->lab;
    uint32_t count = lab->options.made_tok, same = 0;
    if (!lab->reference) {
        lab->reference = mem_alloc(count * sizeof *lab->reference);
        memcpy(lab->reference, s->made, count * sizeof *s->made);
    }
    while (same < count && s->made[same] == lab->reference[same])
        same++;
    if (same == count || same >= c->mismatch)
        return true;
    c->mismatch = same;
    if (!measure_gap(s, c, e))
        return false;
    if (c->gap > NEAR_TIE)
        return err_set(e, "%s with %s made another token %u than %s with %s, and no near tie explains it (gap %.2g)",
                       fusion_names[c->level], submit_names[c->submit], same + 1,
                       fusion_names[lab->measurements[0].level], submit_names[lab->measurements[0].submit], c->gap);
    return true;
}

/* What fell back to another level is not measured as this one. */
static bool is_at(session *s, fusion_level level, err *e)
{
    char why[1200] = "";
    if (generation_level(s->n) == level)
        return true;
    generation_take_notice(s->n, why, sizeof why);
    return err_set(e, "the level %s cannot be measured here: %s", fusion_names[level], why);
}

static bool run_measurement(session *s, llm_measurement *c, uint32_t repetition, bool timed, err *e)
{
    const llm_options *o = &s->lab->options;
    generation_set_launch(s->n, c->level, c->submit);
    if (!gpu_wait(s->lab->device.g, e) || !is_at(s, c->level, e))
        return false;
    c->workgroups = c->kind == LLM_MADE ? generation_workgroups(s->n, &c->threads) : 0;
    gpu_counters before = gpu_get_counters(s->lab->device.g);
    double seconds =
        c->kind == LLM_PROMPT ? run_prompt(s, o->prompt_tok, e) : run_made(s, o->depth_tok, o->made_tok, e);
    c->counted = gpu_counters_since(s->lab->device.g, before);
    if (seconds < 0 || !gpu_wait(s->lab->device.g, e))
        return false;
    if (c->kind == LLM_PROMPT && o->prompt_tok < o->depth_tok && !(read_depth(s, e) && gpu_wait(s->lab->device.g, e)))
        return false;
    if (!is_at(s, c->level, e))
        return false;
    if (timed)
        c->seconds[repetition] = seconds;
    return c->kind == LLM_PROMPT || check_tokens(s, c, e);
}

/* The submit policy makes no difference for one dispatch, or few: the cheapest policy stands for all. */
static bool submit_matters(const llm_options *o, int level, int submit)
{
    return level < LEVEL_TOKEN || submit == SUBMIT_BATCH || !o->submits[SUBMIT_BATCH];
}

static void add_measurements(llm_lab *lab)
{
    const llm_options *o = &lab->options;
    for (int level = LEVEL_COUNT - 1; level >= LEVEL_NONE; level--)
        for (int submit = SUBMIT_COUNT - 1; submit >= SUBMIT_SYNC; submit--)
            for (int kind = LLM_PROMPT; kind <= LLM_MADE; kind++) {
                bool wanted = kind == LLM_PROMPT ? o->prompt_tok > 0 : o->made_tok > 0;
                if (!o->levels[level] || !o->submits[submit] || !wanted || !submit_matters(o, level, submit))
                    continue;
                llm_measurement *c = &lab->measurements[lab->measurement_count++];
                *c = (llm_measurement){(llm_kind)kind, (fusion_level)level, (submit_policy)submit,
                                       .mismatch = o->made_tok};
                c->seconds = mem_alloc(o->repetitions * sizeof *c->seconds);
            }
}

/* Everything once to warm up, then all of it again and again in a new order each time. */
static bool run_all(session *s, err *e)
{
    llm_lab *lab = s->lab;
    uint32_t order[LLM_MAX_MEASUREMENTS], repetitions = lab->options.repetitions;
    rng r = rng_seed(lab->options.seed);
    progress bar = progress_start("measuring", (size_t)lab->measurement_count * (repetitions + 1));
    size_t done = 0;
    bool ok = true;
    double began = clock_us();
    for (uint32_t i = 0; ok && i < lab->measurement_count; i++) {
        ok = run_measurement(s, &lab->measurements[order[i] = i], 0, false, e);
        progress_at(&bar, ++done);
    }
    /* A GPU that was idle while kernels compiled has a low clock at first. */
    while (ok && lab->measurement_count && lab->device.info.type != GPU_TYPE_SOFTWARE && clock_us() - began < WARM_US)
        ok = run_measurement(s, &lab->measurements[0], 0, false, e);
    for (uint32_t k = 0; ok && k < repetitions; k++) {
        rng_shuffle(&r, order, lab->measurement_count);
        for (uint32_t i = 0; ok && i < lab->measurement_count; i++) {
            ok = run_measurement(s, &lab->measurements[order[i]], k, true, e);
            progress_at(&bar, ++done);
        }
    }
    progress_end(&bar);
    return ok;
}

static void sum_up(llm_lab *lab)
{
    uint32_t n = lab->options.repetitions;
    double *rates = mem_alloc(n * sizeof *rates);
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        llm_measurement *c = &lab->measurements[i];
        for (uint32_t k = 0; k < n; k++)
            rates[k] = llm_tokens(lab, c) / c->seconds[k];
        c->rate = stats_summary((samples){rates, n, 0});
    }
    free(rates);
}

static void count_bytes(llm_lab *lab, const generation *n)
{
    const plan *p = generation_plan(n);
    lab->bytes = generation_bytes(n);
    lab->token_bytes = 0;
    uint32_t depth = lab->options.depth_tok + lab->options.made_tok / 2;
    for (uint32_t i = 0; i < p->count; i++) {
        plan_cost c = plan_cost_of(p, &p->steps[i], depth);
        lab->token_bytes += c.weight_bytes + c.state_bytes;
    }
}

bool llm_measure(llm_lab *lab, const model *m, const llm_options *o, err *e)
{
    *lab = (llm_lab){.options = *o};
    busy_begin(&lab->busy);
    double began = clock_us();
    if (!lab_device_open(&lab->device, &o->choice, true, e))
        return false;
    lab->options.levels[graph_run_level(lab->device.g, LEVEL_AUTO)] |= o->levels[LEVEL_AUTO];
    lab->options.submits[SUBMIT_BATCH] |= o->submits[SUBMIT_AUTO];
    o = &lab->options;
    int highest = LEVEL_NONE;
    uint32_t levels = 0;
    for (int i = LEVEL_NONE; i < LEVEL_COUNT; i++)
        if (o->levels[i]) {
            highest = i;
            levels++;
        }
    uint32_t longest = o->depth_tok + o->made_tok + 2;
    if (longest < o->prompt_tok + 2)
        longest = o->prompt_tok + 2;
    generation_options g = {.level = (fusion_level)highest,
                            .all_levels = levels > 1,
                            .submit = SUBMIT_BATCH,
                            .context_tok = longest,
                            .cache = o->cache,
                            .compile = COMPILE_FIRST};
    session s = {.lab = lab};
    double loading = clock_us();
    s.n = generation_new(lab->device.g, m, &g, e);
    lab->load_s = (clock_us() - loading) * 1e-6;
    bool ok = s.n;
    if (ok) {
        fill_prompt(&s, longest);
        s.made = mem_alloc((o->made_tok + 1) * sizeof *s.made);
        count_bytes(lab, s.n);
        add_measurements(lab);
        /* What stands before tg is read once, and every level goes on from it; a prompt measured in between, if it is as
         * long, puts the same tokens in the same places. */
        ok = read_depth(&s, e) && run_all(&s, e);
    }
    if (ok)
        sum_up(lab);
    lab->seconds = (clock_us() - began) * 1e-6;
    busy_end(&lab->busy);
    free(s.prompt);
    free(s.made);
    generation_free(s.n);
    return ok;
}

void llm_free(llm_lab *lab)
{
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        free(lab->measurements[i].seconds);
    free(lab->reference);
    lab_device_close(&lab->device);
}

uint32_t llm_tokens(const llm_lab *lab, const llm_measurement *c)
{
    return c->kind == LLM_PROMPT ? lab->options.prompt_tok : lab->options.made_tok;
}

double llm_share(const llm_lab *lab, const llm_measurement *c)
{
    if (c->kind == LLM_PROMPT || lab->device.copy_gbps <= 0)
        return NAN;
    return c->rate.median * (double)lab->token_bytes / (lab->device.copy_gbps * 1e9);
}
