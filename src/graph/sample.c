/* Sampling: settings and arguments of the kernels, and the same choice on the CPU. */
#include "graph/sample.h"
#include "base/str.h"
#include "kernel_args.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* As in kernels/include/sample.wgsl and op_sample.wgsl. */
enum { LANES = 64, LEAST_SLICE = 4 * LANES, MOST_SLICES = 1024 };
enum { ALONE_WORDS = 512 }; /* of bins in op_sample_single_thread.wgsl */
static const float HUGE_LOGIT = 1e30f, LARGE_LOGIT = 1e23f, NO_MIN_LOG = -1e31f, SCALE_OF_ONE = 24204406.0f;

/* ---- arguments of the kernels --------------------------------------------- */

static float between(float x, float least, float most)
{
    return x < least ? least : x > most ? most : x;
}

sample_words sample_pack(const sample_settings *s)
{
    sample_words w = {.top_k = s->top_k, .min_log = NO_MIN_LOG, .penalty = 1, .reward = 1, .seed = s->seed};
    /* The bounds keep every product of a difference and the scale finite, and the scale above 0. */
    if (s->temperature > 0)
        w.scale = (float)(0x1p24 * 1.4426950408889634 / between(s->temperature, 1e-6f, 1e30f));
    if (s->top_p > 0 && s->top_p < 1)
        w.top_p = (uint32_t)((double)between(s->top_p, 0x1p-32f, 1) * 0x1p32);
    if (s->min_p > 0)
        w.min_log = (float)log(between(s->min_p, 0, 1));
    if (s->repeat_penalty > 0 && s->repeat_penalty != 1) {
        w.penalty = between(s->repeat_penalty, 1e-6f, 1e6f);
        w.reward = 1 / w.penalty;
        w.recent = s->repeat_last ? s->repeat_last : SAMPLE_DEFAULT_RECENT;
    }
    return w;
}

uint32_t sample_stream_seed(uint32_t seed, uint32_t stream)
{
    return seed + stream * 0x85ebca6bu; /* odd: no two streams have the same */
}

_Static_assert((int)SAMPLE_CONTROL_WORDS == (int)CONTROL_SIZE && (int)SAMPLE_MAX_STOPS == (int)CONTROL_MOST_STOPS &&
                   (int)SAMPLE_RING_TOK == (int)CONTROL_RING,
               "the same");

uint32_t sample_steering_words(uint32_t vocab)
{
    return (vocab + 31) / 32 + vocab;
}

uint32_t sample_slice_tok(uint32_t vocab)
{
    uint32_t tok = LEAST_SLICE;
    while ((uint64_t)tok * MOST_SLICES < vocab)
        tok *= 2;
    return tok;
}

uint32_t sample_slices(uint32_t vocab)
{
    uint32_t tok = sample_slice_tok(vocab);
    return (vocab + tok - 1) / tok;
}

uint32_t sample_scratch_words(uint32_t vocab)
{
    uint32_t slices = sample_slices(vocab), words = slices * SLICE_SIZE;
    return slices * sample_slice_tok(vocab) + (words > ALONE_WORDS ? words : ALONE_WORDS);
}

void sample_arguments(const sample_places *p, uint32_t threads, uint32_t scan[SAMPLE_ARGUMENTS],
                      uint32_t choose[SAMPLE_ARGUMENTS])
{
    uint32_t slices = sample_slices(p->vocab), tok = sample_slice_tok(p->vocab), at_once = threads / LANES;
    uint32_t args[SAMPLE_ARGUMENTS] = {[ARG_GROUPS] = 1,
                                       [ARG_OUT] = p->out,
                                       [SAMPLE_LOGITS] = p->logits,
                                       [SAMPLE_VOCAB] = p->vocab,
                                       [SAMPLE_SETTINGS] = p->settings,
                                       [SAMPLE_POSITION] = p->position,
                                       [SAMPLE_POSITION_PLUS] = p->position_plus,
                                       [SAMPLE_HISTORY] = p->history,
                                       [SAMPLE_HISTORY_TOK] = p->history_tok,
                                       [SAMPLE_KEYS] = p->scratch,
                                       [SAMPLE_SLICES] = p->scratch + slices * tok,
                                       [SAMPLE_SLICE_TOK] = tok,
                                       [SAMPLE_SLICE_COUNT] = slices,
                                       [SAMPLE_APPEND] = p->append};
    memcpy(choose, args, sizeof args);
    memcpy(scan, args, sizeof args);
    scan[ARG_GROUPS] = (slices + at_once - 1) / at_once;
}

/* ---- numbers that are the same everywhere --------------------------------- */

static float tamed(float logit)
{
    if (isnan(logit))
        return HUGE_LOGIT;
    if (fabsf(logit) < 0x1p-126f)
        return 0;
    return between(logit, -HUGE_LOGIT, HUGE_LOGIT);
}

/* How many halvings, in 2^-24, a logit is below the best one. */
static uint32_t halvings(float best, float logit, float scale)
{
    float difference = best - logit;
    return (uint32_t)fminf(difference * scale, 0x1p30f);
}

static uint32_t high_half(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

/* 2^31 * 2^-(fraction / 2^24), by a polynomial through six points that is 1 at 0. */
static uint32_t part_of_two(uint32_t fraction)
{
    uint32_t f = fraction << 8, r = 493577;
    r = 5547538 - high_half(f, r);
    r = 41218952 - high_half(f, r);
    r = 238367376 - high_half(f, r);
    r = 1031763206 - high_half(f, r);
    r = 2977044447u - high_half(f, r);
    return 0x80000000u - (high_half(f, r) >> 1);
}

uint64_t sample_likelihood(float logit, float best, float scale)
{
    uint32_t h = halvings(best, logit, scale), whole = h >> 24;
    return whole < 64 ? ((uint64_t)part_of_two(h & 0xffffff) << 11) >> whole : 0;
}

/* (a * b) >> 32, and whether bits were lost. */
static uint64_t multiply_high(uint64_t a, uint32_t b, bool *rest)
{
    uint64_t low = (a & 0xffffffff) * b, high = (a >> 32) * b + (low >> 32);
    *rest = (uint32_t)low != 0;
    return high;
}

/* A sum of likelihoods against one logit, as it is against a better one. */
static uint64_t against(uint64_t sum, float logit, float best, float scale)
{
    uint32_t h = halvings(best, logit, scale), part = part_of_two(h & 0xffffff), whole = h >> 24;
    uint64_t low = (sum & 0xffffffff) * part, high = (sum >> 32) * part + (low >> 32);
    uint64_t product = high << 1 | (uint32_t)low >> 31;
    return whole < 64 ? product >> whole : 0;
}

/* Philox 2x32-10. */
uint32_t sample_random(uint32_t seed, uint32_t number)
{
    uint32_t left = number, right = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t product = (uint64_t)0xd256d193u * left;
        left = (uint32_t)(product >> 32) ^ seed ^ right;
        right = (uint32_t)product;
        seed += 0x9e3779b9u;
    }
    return left;
}

/* ---- the choice ------------------------------------------------------------ */

typedef struct candidate {
    float logit;
    uint32_t id;
} candidate;

/* From the most likely; of equal ones the lowest id first. */
static int by_logit(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit > y->logit ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static void penalise(float *logits, uint32_t vocab, const sample_words *w, const uint32_t *history,
                     uint32_t history_tok, uint32_t so_far)
{
    uint32_t recent = w->recent < so_far ? w->recent : so_far;
    if (recent > history_tok)
        recent = history_tok;
    bool *done = mem_alloc(vocab);
    for (uint32_t i = 0; i < recent; i++) {
        uint32_t token = history[(so_far - 1 - i) % history_tok];
        if (token >= vocab || done[token])
            continue;
        done[token] = true;
        logits[token] = tamed(logits[token] * (logits[token] <= 0 ? w->penalty : w->reward));
    }
    free(done);
}

/* The kernel sums a slice before it knows the best logit of all: its sum is against the slice's own best, and
 * brought down later. */
static uint64_t slice_sum(const float *logits, uint32_t count, float best, float scale)
{
    float own = logits[0];
    uint64_t sum = 0;
    for (uint32_t i = 1; i < count; i++)
        own = logits[i] > own ? logits[i] : own;
    for (uint32_t i = 0; i < count; i++)
        sum += sample_likelihood(logits[i], own, scale);
    return against(sum, own, best, scale);
}

static uint32_t slice_length(uint32_t vocab, uint32_t slice)
{
    uint32_t tok = sample_slice_tok(vocab), first = slice * tok;
    return vocab - first < tok ? vocab - first : tok;
}

static uint32_t draw_from_all(const float *logits, uint32_t vocab, float best, const sample_words *w, uint32_t random)
{
    uint32_t slices = sample_slices(vocab), tok = sample_slice_tok(vocab), slice = 0;
    uint64_t *sums = mem_alloc(slices * sizeof *sums), total = 0;
    for (uint32_t i = 0; i < slices; i++)
        total += sums[i] = slice_sum(logits + i * tok, slice_length(vocab, i), best, w->scale);
    bool rest;
    uint64_t goal = multiply_high(total, random, &rest);
    while (goal >= sums[slice])
        goal -= sums[slice++];
    free(sums);

    const float *part = logits + slice * tok;
    uint32_t count = slice_length(vocab, slice), own = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t here = sample_likelihood(part[i], best, w->scale);
        if (goal < here)
            return slice * tok + i;
        goal -= here;
        own = part[i] > part[own] ? i : own;
    }
    /* The slice's sum was rounded: where the draw fell behind its last token, it means the best one. */
    return slice * tok + own;
}

/* How many of the candidates, in order, are needed to reach p. */
static uint32_t count_for_top_p(const candidate *order, uint32_t count, uint64_t total, uint32_t p, float best)
{
    bool rest;
    uint64_t wanted = multiply_high(total, p, &rest), sum = 0;
    wanted += rest;
    for (uint32_t i = 0; i < count; i++) {
        sum += sample_likelihood(order[i].logit, best, SCALE_OF_ONE);
        if (sum >= wanted)
            return i + 1;
    }
    return count;
}

static uint32_t count_kept(const float *logits, uint32_t vocab, const candidate *order, const sample_words *w)
{
    float best = order[0].logit, least = tamed(best + w->min_log);
    uint32_t count = w->top_k && w->top_k < vocab ? w->top_k : vocab;
    if (w->top_p) {
        uint64_t total = 0;
        if (w->top_k)
            for (uint32_t i = 0; i < count; i++)
                total += sample_likelihood(order[i].logit, best, SCALE_OF_ONE);
        else
            for (uint32_t i = 0; i < sample_slices(vocab); i++)
                total += slice_sum(logits + i * sample_slice_tok(vocab), slice_length(vocab, i), best, SCALE_OF_ONE);
        count = count_for_top_p(order, count, total, w->top_p, best);
    }
    while (order[count - 1].logit < least)
        count--;
    return count;
}

static uint32_t draw_from_kept(const float *logits, uint32_t vocab, float best, const candidate *last,
                               const sample_words *w, uint32_t random)
{
    uint64_t total = 0, goal = 0;
    bool rest;
    for (int twice = 0; twice < 2; twice++) {
        for (uint32_t i = 0; i < vocab; i++) {
            if (logits[i] < last->logit || (logits[i] == last->logit && i > last->id))
                continue;
            uint64_t here = sample_likelihood(logits[i], best, w->scale);
            if (twice && goal < here)
                return i;
            total += here;
            goal -= here;
        }
        goal = multiply_high(total, random, &rest);
    }
    return last->id; /* not reached: the goal is less than the total */
}

uint32_t sample_on_cpu(const float *given, uint32_t vocab, const sample_words *w, const uint32_t *history,
                       uint32_t history_tok, uint32_t so_far, uint32_t *kept)
{
    float *logits = mem_alloc(vocab * sizeof *logits);
    uint32_t first = 0, token, count = vocab, random = sample_random(w->seed, so_far);
    for (uint32_t i = 0; i < vocab; i++)
        logits[i] = tamed(given[i]);
    penalise(logits, vocab, w, history, history_tok, so_far);
    for (uint32_t i = 1; i < vocab; i++)
        first = logits[i] > logits[first] ? i : first;

    if (!(w->scale > 0)) {
        token = first;
        count = 1;
    } else if (!w->top_k && !w->top_p && w->min_log <= NO_MIN_LOG) {
        token = draw_from_all(logits, vocab, logits[first], w, random);
    } else {
        candidate *order = mem_alloc(vocab * sizeof *order);
        for (uint32_t i = 0; i < vocab; i++)
            order[i] = (candidate){logits[i], i};
        qsort(order, vocab, sizeof *order, by_logit);
        count = count_kept(logits, vocab, order, w);
        token = draw_from_kept(logits, vocab, logits[first], &order[count - 1], w, random);
        free(order);
    }
    bool finite = logits[first] < LARGE_LOGIT && logits[first] > -HUGE_LOGIT;
    free(logits);
    if (kept)
        *kept = count;
    return finite ? token : token | SAMPLE_NOT_FINITE;
}
