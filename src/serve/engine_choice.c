/* engine_choice: penalties, biases, filters and likelihoods, and the same choice that the GPU would make. */
#include "serve/engine_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_penalties(const engine_text *t)
{
    return t->frequency_penalty != 0 || t->presence_penalty != 0;
}

bool engine_steers(const engine_text *t)
{
    return t->filter || has_penalties(t);
}

bool engine_needs_logits(const engine_text *t)
{
    return t->wants_logprobs || t->bias_count || engine_steers(t);
}

void engine_add_penalties(const engine_text *t, const uint32_t *text, uint32_t so_far, float *logits, uint32_t vocab)
{
    for (size_t i = 0; i < t->bias_count; i++)
        logits[t->bias[i].token] += t->bias[i].bias;
    if (!has_penalties(t))
        return;
    bool *was_there = mem_alloc(vocab * sizeof *was_there);
    for (uint32_t i = t->prompt_tok; i < so_far; i++) {
        logits[text[i]] -= t->frequency_penalty + (was_there[text[i]] ? 0 : t->presence_penalty);
        was_there[text[i]] = true;
    }
    free(was_there);
}

/* ---- likelihoods -------------------------------------------------------------------------------- */

/* The log of the sum of all exponentials. */
static double log_sum(const float *logits, uint32_t vocab)
{
    double best = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < vocab; i++)
        best = logits[i] > best ? logits[i] : best;
    for (uint32_t i = 0; i < vocab; i++)
        sum += exp(logits[i] - best);
    return best + log(sum);
}

/* The most likely, in order; of equal ones that with the lower number first. */
static void find_top(const float *logits, uint32_t vocab, uint32_t count, made_token *out)
{
    out->top_count = 0;
    for (uint32_t i = 0; i < vocab; i++) {
        uint32_t at = out->top_count;
        while (at > 0 && logits[i] > out->top[at - 1].logprob)
            at--;
        if (at >= count)
            continue;
        if (out->top_count < count)
            out->top_count++;
        memmove(&out->top[at + 1], &out->top[at], (out->top_count - at - 1) * sizeof *out->top);
        out->top[at] = (token_chance){i, logits[i]};
    }
}

void engine_see_likelihoods(const engine_text *t, const float *logits, uint32_t vocab, made_token *token)
{
    double sum = log_sum(logits, vocab);
    find_top(logits, vocab, t->top_count < ENGINE_MOST_TOP ? t->top_count : ENGINE_MOST_TOP, token);
    for (uint32_t i = 0; i < token->top_count; i++)
        token->top[i].logprob = (float)(token->top[i].logprob - sum);
    token->logprob = (float)(logits[token->id] - sum);
}

/* ---- the choice ----------------------------------------------------------------------------------- */

static bool filter_logits(const engine_text *t, float *logits, uint32_t vocab)
{
    if (!t->filter)
        return true;
    uint32_t *bits = mem_alloc((vocab + 31) / 32 * sizeof *bits);
    bool ok = t->filter->allow(t->filter->user, bits, vocab);
    for (uint32_t i = 0; ok && i < vocab; i++)
        if (!(bits[i / 32] >> i % 32 & 1))
            logits[i] = -INFINITY;
    free(bits);
    return ok;
}

bool engine_choose(const engine_text *t, float *logits, uint32_t vocab, const uint32_t *text, uint32_t so_far,
                   made_token *out)
{
    *out = (made_token){0};
    sample_words words = sample_pack(&t->how);
    float *plain = NULL;
    if (t->wants_logprobs) {
        plain = mem_alloc(vocab * sizeof *plain);
        memcpy(plain, logits, vocab * sizeof *plain);
    }
    engine_add_penalties(t, text, so_far, logits, vocab);
    bool ok = filter_logits(t, logits, vocab);
    if (ok) {
        out->id = sample_on_cpu(logits, vocab, &words, text, so_far, so_far, NULL);
        if (plain)
            engine_see_likelihoods(t, plain, vocab, out);
        if (t->filter)
            t->filter->chosen(t->filter->user, out->id);
    }
    free(plain);
    return ok;
}
