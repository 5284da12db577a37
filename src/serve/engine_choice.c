/* engine_choice: penalties, biases, masks and likelihoods, then the same choice that the GPU would make. */
#include "serve/engine_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool engine_chooses_here(const engine_text *t)
{
    return t->wants_logprobs || t->bias_count || t->filter || t->frequency_penalty != 0 || t->presence_penalty != 0;
}

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

static void see_likelihoods(const engine_text *t, const float *logits, uint32_t vocab, double *sum, made_token *out)
{
    *sum = log_sum(logits, vocab);
    find_top(logits, vocab, t->top_count < ENGINE_MOST_TOP ? t->top_count : ENGINE_MOST_TOP, out);
    for (uint32_t i = 0; i < out->top_count; i++)
        out->top[i].logprob = (float)(out->top[i].logprob - *sum);
}

static void penalize(const engine_text *t, float *logits, uint32_t vocab, const uint32_t *made, uint32_t count)
{
    bool *was_there = mem_alloc(vocab * sizeof *was_there);
    for (uint32_t i = 0; i < count; i++) {
        logits[made[i]] -= t->frequency_penalty + (was_there[made[i]] ? 0 : t->presence_penalty);
        was_there[made[i]] = true;
    }
    free(was_there);
}

bool engine_choose(const engine_text *t, float *logits, uint32_t vocab, const uint32_t *text, uint32_t so_far,
                   made_token *out)
{
    double sum = 0;
    *out = (made_token){0};
    sample_words words = sample_pack(&t->how);
    float *plain = NULL;
    if (t->wants_logprobs) {
        see_likelihoods(t, logits, vocab, &sum, out);
        plain = mem_alloc(vocab * sizeof *plain);
        memcpy(plain, logits, vocab * sizeof *plain);
    }
    for (size_t i = 0; i < t->bias_count; i++)
        logits[t->bias[i].token] += t->bias[i].bias;
    if (t->frequency_penalty != 0 || t->presence_penalty != 0)
        penalize(t, logits, vocab, text + t->prompt_tok, so_far - t->prompt_tok);
    bool ok = !t->filter || t->filter->mask(t->filter->user, logits, vocab);
    if (ok) {
        out->id = sample_on_cpu(logits, vocab, &words, text, so_far, so_far, NULL);
        if (plain)
            out->logprob = (float)(plain[out->id] - sum);
        if (t->filter)
            t->filter->chosen(t->filter->user, out->id);
    }
    free(plain);
    return ok;
}
