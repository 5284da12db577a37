/* Choosing a token on the CPU: against a plain way to do it, and against chance. */
#include "kernel_args.h"
#include "sampling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- the plain way: sorted, in double precision ----------------------------- */

typedef struct plain_token {
    double logit;
    double chance; /* at the temperature, among the kept; 0: not kept */
    uint32_t id;
} plain_token;

static int plain_order(const void *a, const void *b)
{
    const plain_token *x = a, *y = b;
    return x->logit > y->logit ? -1 : x->logit < y->logit ? 1 : x->id < y->id ? -1 : 1;
}

static int plain_id_order(const void *a, const void *b)
{
    return ((const plain_token *)a)->id < ((const plain_token *)b)->id ? -1 : 1;
}

/* Number and limits of what `p` keeps, allowing that its sum is off by a hundred-thousandth. */
typedef struct plain_kept {
    uint32_t least, most;
} plain_kept;

static plain_kept plain_keep(plain_token *tokens, uint32_t vocab, const sample_settings *s)
{
    uint32_t count = s->top_k > 0 && s->top_k < vocab ? s->top_k : vocab;
    plain_kept kept = {count, count};
    if (s->top_p > 0 && s->top_p < 1) {
        double total = 0, sum = 0;
        for (uint32_t i = 0; i < count; i++)
            total += exp(tokens[i].logit - tokens[0].logit);
        kept.least = 0;
        for (uint32_t i = 0; i < count; i++) {
            sum += exp(tokens[i].logit - tokens[0].logit);
            if (!kept.least && sum >= (s->top_p - 1e-5) * total)
                kept.least = i + 1;
            kept.most = i + 1;
            if (sum >= (s->top_p + 1e-5) * total)
                break;
        }
    }
    if (s->min_p > 0) {
        while (tokens[kept.most - 1].logit < tokens[0].logit + log(fmin(s->min_p, 1)) - 1e-5)
            kept.most--;
        while (kept.least > 1 && tokens[kept.least - 1].logit < tokens[0].logit + log(fmin(s->min_p, 1)) + 1e-5 &&
               tokens[kept.least - 1].logit < tokens[0].logit)
            kept.least--;
    }
    return kept;
}

static uint32_t choose(const float *logits, uint32_t vocab, const sample_settings *s, uint32_t so_far, uint32_t *kept)
{
    sample_words w = sample_pack(s);
    return sample_on_cpu(logits, vocab, &w, NULL, 0, so_far, kept);
}

/* ---- parts ------------------------------------------------------------------ */

static void test_random_numbers_are_philox(void **unused)
{
    (void)unused;
    /* The first words of Random123's known answers for philox2x32, 10 rounds, counter 0, key 0. */
    assert_int_equal(sample_random(0, 0), 0xff1dae59u);
    assert_int_not_equal(sample_random(1, 0), sample_random(0, 1));
}

static void test_likelihoods_are_powers_of_e(void **unused)
{
    (void)unused;
    rng r = rng_seed(1);
    float scale = sample_pack(&(sample_settings){.temperature = 1}).scale;
    assert_true(sample_likelihood(3, 3, scale) == 1ull << 42);
    for (int i = 0; i < 20000; i++) {
        float best = normal_number(&r) * 5, logit = best - (float)rng_unit(&r) * 20;
        double right = exp((double)(logit - best)) * 0x1p42;
        double got = (double)sample_likelihood(logit, best, scale);
        if (!(fabs(got - right) <= 1.5 + 4e-6 * right))
            fail_msg("exp(%.9g) is %.9g instead of %.9g", (double)(logit - best), got, right);
    }
    /* Small differences, where the difference itself is exact. */
    for (int i = 0; i < 20000; i++) {
        float logit = -(float)rng_unit(&r);
        double right = exp((double)logit) * 0x1p42;
        assert_true(fabs((double)sample_likelihood(logit, 0, scale) - right) <= 2e-7 * right);
    }
    assert_true(sample_likelihood(-1e30f, 1e30f, sample_pack(&(sample_settings){.temperature = 1e-30f}).scale) == 0);
}

static void test_settings_that_make_no_sense_change_nothing(void **unused)
{
    (void)unused;
    sample_words plain = sample_pack(&(sample_settings){.temperature = 1});
    sample_words odd = sample_pack(&(sample_settings){1, 0, NAN, NAN, NAN, 3, 0});
    assert_memory_equal(&plain, &odd, sizeof plain);
    odd = sample_pack(&(sample_settings){1, 0, -1, -1, -1, 3, 0});
    assert_memory_equal(&plain, &odd, sizeof plain);
    odd = sample_pack(&(sample_settings){1, 0, 2, 0, 1, 3, 0});
    assert_memory_equal(&plain, &odd, sizeof plain);
    assert_true(sample_pack(&(sample_settings){.temperature = NAN}).scale == 0);
    assert_true(sample_pack(&(sample_settings){.temperature = -1}).scale == 0);
    assert_true(sample_pack(&(sample_settings){.temperature = INFINITY}).scale > 0);
    assert_true(sample_pack(&(sample_settings){1, 0, 1e-12f, 0, 0, 0, 0}).top_p == 1);
    assert_true(sample_pack(&(sample_settings){1, 0, 0, 5, 0, 0, 0}).min_log == 0);
    assert_int_equal(sample_pack(&(sample_settings){.repeat_penalty = 2}).recent, SAMPLE_DEFAULT_RECENT);
    assert_true(isfinite(sample_pack(&(sample_settings){.repeat_penalty = INFINITY}).penalty));
}

static void test_slices_cover_the_vocabulary(void **unused)
{
    (void)unused;
    for (uint32_t vocab = 1; vocab <= SAMPLE_MAX_VOCAB; vocab += vocab / 3 + 1) {
        uint32_t tok = sample_slice_tok(vocab), slices = sample_slices(vocab), scan[SAMPLE_ARGUMENTS],
                 last[SAMPLE_ARGUMENTS];
        assert_true(slices <= 1024 && slices * tok >= vocab && (slices - 1) * tok < vocab);
        for (uint32_t threads = 64; threads <= 1024; threads *= 2) {
            sample_arguments(&(sample_places){.vocab = vocab}, threads, scan, last);
            assert_true(scan[ARG_GROUPS] * (threads / 64) >= slices &&
                        (scan[ARG_GROUPS] - 1) * (threads / 64) < slices);
            assert_int_equal(last[ARG_GROUPS], 1);
        }
    }
}

/* ---- what is kept ----------------------------------------------------------- */

static void test_keeps_what_a_plain_way_keeps(void **unused)
{
    (void)unused;
    rng r = rng_seed(2);
    static const uint32_t vocabs[] = {1, 2, 5, 63, 255, 256, 257, 1000, 3001};
    static const logit_kind kinds[] = {PEAKED, FLAT, NORMAL, EQUAL, FEW_VALUES};
    uint32_t off = 0, cases = 0;
    for (int i = 0; i < 1500; i++) {
        uint32_t vocab = vocabs[rng_below(&r, sizeof vocabs / sizeof *vocabs)], kept;
        float *logits = mem_alloc(vocab * sizeof *logits);
        plain_token *plain = mem_alloc(vocab * sizeof *plain);
        make_logits(logits, vocab, kinds[rng_below(&r, sizeof kinds / sizeof *kinds)], &r);
        for (uint32_t t = 0; t < vocab; t++)
            plain[t] = (plain_token){logits[t], 0, t};
        qsort(plain, vocab, sizeof *plain, plain_order);
        sample_settings s = make_settings(vocab, &r);
        if (s.temperature < 0.5f || s.temperature > 2)
            s.temperature = 0.7f;
        uint32_t so_far = rng_below(&r, 1000), token = choose(logits, vocab, &s, so_far, &kept);
        plain_kept right = plain_keep(plain, vocab, &s);
        if (kept < right.least || kept > right.most)
            fail_msg("%u of %u kept instead of %u to %u: k %u, p %g, min_p %g", kept, vocab, right.least, right.most,
                     s.top_k, (double)s.top_p, (double)s.min_p);
        off += right.least != right.most;
        cases++;

        /* The draw: where its random number falls in the running sum of chances by id. */
        double total = 0, below = 0, here = 0, best = plain[0].logit, u = sample_random(s.seed, so_far) * 0x1p-32;
        for (uint32_t k = 0; k < kept; k++)
            total += plain[k].chance = exp((plain[k].logit - best) / s.temperature);
        qsort(plain, kept, sizeof *plain, plain_id_order);
        for (uint32_t k = 0; k < kept && plain[k].id <= token; k++) {
            below += here;
            here = plain[k].chance / total;
            if (plain[k].id == token && !(u >= below - 1e-5 && u <= below + here + 1e-5))
                fail_msg("token %u of chance %g to %g for %g", token, below, below + here, u);
            if (plain[k].id == token)
                below = 2;
        }
        assert_true(below == 2); /* it is one of the kept */
        free(plain);
        free(logits);
    }
    /* The tolerance is for a few cases, not a way out. */
    assert_true(off * 4 < cases);
}

static void test_top_k_of_one_is_the_most_likely(void **unused)
{
    (void)unused;
    rng r = rng_seed(3);
    for (int i = 0; i < 500; i++) {
        uint32_t vocab = 1 + rng_below(&r, 700), best = 0, kept;
        float logits[700];
        make_logits(logits, vocab, (logit_kind)rng_below(&r, FEW_VALUES + 1), &r);
        for (uint32_t t = 1; t < vocab; t++)
            best = logits[t] > logits[best] ? t : best;
        assert_int_equal(choose(logits, vocab, &(sample_settings){.temperature = 1, .top_k = 1, .seed = 5}, 9, &kept),
                         best);
        assert_int_equal(kept, 1);
        assert_int_equal(choose(logits, vocab, &(sample_settings){0}, 9, &kept), best);
        assert_int_equal(choose(logits, vocab, &(sample_settings){.temperature = 1, .top_p = 1e-9f}, 9, &kept), best);
    }
}

static void test_odd_logits_give_a_token(void **unused)
{
    (void)unused;
    rng r = rng_seed(4);
    float *logits = mem_alloc(2000 * sizeof *logits);
    for (int i = 0; i < 2000; i++) {
        uint32_t vocab = 1 + rng_below(&r, 2000), kept;
        logit_kind kind = (logit_kind)rng_below(&r, LOGIT_KINDS);
        make_logits(logits, vocab, kind, &r);
        sample_settings s = make_settings(vocab, &r);
        s.temperature = s.temperature > 2 ? 1 : s.temperature;
        uint32_t token = choose(logits, vocab, &s, rng_below(&r, 100), &kept), bad = token & SAMPLE_NOT_FINITE;
        token &= ~SAMPLE_NOT_FINITE;
        assert_in_range(token, 0, vocab - 1);
        assert_in_range(kept, 1, vocab);
        bool all_masked = true;
        for (uint32_t t = 0; t < vocab; t++)
            all_masked = all_masked && logits[t] == -INFINITY;
        bool finite = !all_masked;
        for (uint32_t t = 0; t < vocab; t++)
            finite = finite && !isnan(logits[t]) && logits[t] < 1e23f;
        if (kind != HUGE_ONES && kind != NOT_NUMBERS) /* a penalty may bring such a number over or below the bound */
            assert_int_equal(bad, finite ? 0 : SAMPLE_NOT_FINITE);
        if (kind == MASKED && !all_masked)
            assert_true(logits[token] > -INFINITY);
    }
    free(logits);
}

static void test_logits_that_are_not_finite_are_told(void **unused)
{
    (void)unused;
    static const struct {
        float logits[3];
        bool finite;
    } CASES[] = {{{1, 2, 3}, true},         {{1, NAN, 3}, false},
                 {{1, INFINITY, 3}, false}, {{-INFINITY, 2, -INFINITY}, true},
                 {{1e22f, 2, 3}, true},     {{-INFINITY, -INFINITY, -INFINITY}, false},
                 {{NAN, NAN, NAN}, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (int how = 0; how < 3; how++) {
            sample_settings s = {.temperature = how ? 1 : 0, .top_k = how == 2 ? 2 : 0};
            assert_int_equal(choose(CASES[i].logits, 3, &s, 1, NULL) & SAMPLE_NOT_FINITE,
                             CASES[i].finite ? 0 : SAMPLE_NOT_FINITE);
        }
}

/* ---- the penalty ------------------------------------------------------------- */

static void test_recent_tokens_are_penalised_once(void **unused)
{
    (void)unused;
    const float logits[] = {3, 2.9f, -1, 1.6f, 0.9f};
    const uint32_t history[] = {0, 0, 3, 0}; /* a ring of four: token 6 of the text is at 2 */
    sample_words w = sample_pack(&(sample_settings){.repeat_penalty = 2, .repeat_last = 3});
    /* Once: 3 becomes 1.5, not 0.375; 1.6 becomes 0.8 if it is among the last three. */
    assert_int_equal(sample_on_cpu(logits, 5, &w, history, 4, 7, NULL), 1);
    const float close[] = {3, 1.4f, -1, 1.6f, 0.9f};
    assert_int_equal(sample_on_cpu(close, 5, &w, history, 4, 7, NULL), 0); /* 1.5 against 1.4 */
    assert_int_equal(sample_on_cpu(close, 5, &w, history, 4, 2, NULL), 3); /* only the first two */
    assert_int_equal(sample_on_cpu(close, 5, &w, history, 4, 0, NULL), 0); /* nothing was said */
    w.recent = 1;
    assert_int_equal(sample_on_cpu(close, 5, &w, history, 4, 7, NULL), 0); /* only the 3 */
    const float negative[] = {-1, -1.5f, -9};
    const uint32_t zero[] = {0};
    assert_int_equal(sample_on_cpu(negative, 3, &w, zero, 1, 1, NULL), 1); /* -1 becomes -2 */
    const uint32_t beyond[] = {4000000000u};
    assert_int_equal(sample_on_cpu(negative, 3, &w, beyond, 1, 1, NULL), 0);
    w = sample_pack(&(sample_settings){.repeat_penalty = 0.5f, .repeat_last = 3});
    assert_int_equal(sample_on_cpu(close, 5, &w, history, 4, 3, NULL), 0);
    const uint32_t three[] = {3};
    assert_int_equal(sample_on_cpu(close, 5, &w, three, 1, 1, NULL), 3); /* 1.6 becomes 3.2 */
}

/* ---- chance ------------------------------------------------------------------ */

/* Pearson's chi-square of counts against chances, with `count` - 1 degrees of freedom, as a normal number
 * (Wilson and Hilferty): beyond 4 it is no chance. */
static double surprise(const uint32_t *seen, const double *chances, uint32_t count, uint32_t draws)
{
    double chi = 0;
    uint32_t degrees = 0;
    for (uint32_t i = 0; i < count; i++) {
        double expected = chances[i] * draws;
        if (expected == 0) {
            assert_int_equal(seen[i], 0);
            continue;
        }
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
        degrees++;
    }
    if (degrees < 2)
        return 0;
    double d = degrees - 1, v = 2 / (9 * d);
    return (cbrt(chi / d) - (1 - v)) / sqrt(v);
}

static void test_frequencies_are_the_chances(void **unused)
{
    (void)unused;
    enum { VOCAB = 600, DRAWS = 8000 };
    static const sample_settings all[] = {
        {.temperature = 1, .seed = 1},
        {.temperature = 0.6f, .seed = 2},
        {.temperature = 1.7f, .top_k = 20, .seed = 3},
        {.temperature = 0.9f, .top_p = 0.8f, .seed = 4},
        {.temperature = 1, .min_p = 0.1f, .seed = 5},
        {.temperature = 2, .top_k = 100, .top_p = 0.9f, .min_p = 0.02f, .seed = 6},
    };
    rng r = rng_seed(6);
    for (size_t c = 0; c < sizeof all / sizeof *all; c++) {
        const sample_settings *s = &all[c];
        float logits[VOCAB];
        plain_token plain[VOCAB];
        double chances[VOCAB] = {0}, total = 0;
        uint32_t seen[VOCAB] = {0};
        /* Twenty likely tokens and many that never come. */
        for (uint32_t i = 0; i < VOCAB; i++) {
            logits[i] = i % 30 == 7 ? 2 * (float)rng_unit(&r) : -40;
            plain[i] = (plain_token){logits[i], 0, i};
        }
        qsort(plain, VOCAB, sizeof *plain, plain_order);
        plain_kept kept = plain_keep(plain, VOCAB, s);
        assert_int_equal(kept.least, kept.most);
        for (uint32_t i = 0; i < kept.most; i++)
            if (plain[i].logit > -40)
                total += chances[plain[i].id] = exp(plain[i].logit / s->temperature);
        for (uint32_t i = 0; i < VOCAB; i++)
            chances[i] /= total;
        for (uint32_t i = 0; i < DRAWS; i++)
            seen[choose(logits, VOCAB, s, i, NULL)]++;
        double z = surprise(seen, chances, VOCAB, DRAWS);
        if (!(fabs(z) < 4))
            fail_msg("settings %zu: %g standard deviations off", c, z);
    }
}

static void test_seeds_and_places_are_independent(void **unused)
{
    (void)unused;
    /* 16 equal tokens: pairs of neighbouring places, and of neighbouring seeds, are all equally frequent. */
    enum { TOKENS = 16, DRAWS = 40000 };
    float logits[TOKENS] = {0};
    uint32_t by_place[TOKENS * TOKENS] = {0}, by_seed[TOKENS * TOKENS] = {0};
    double chances[TOKENS * TOKENS];
    for (int i = 0; i < TOKENS * TOKENS; i++)
        chances[i] = 1.0 / (TOKENS * TOKENS);
    for (uint32_t i = 0; i < DRAWS; i++) {
        sample_settings one = {.temperature = 1, .seed = i}, next = {.temperature = 1, .seed = i + 1};
        sample_settings fixed = {.temperature = 1, .seed = 77};
        by_seed[choose(logits, TOKENS, &one, 5, NULL) * TOKENS + choose(logits, TOKENS, &next, 5, NULL)]++;
        by_place[choose(logits, TOKENS, &fixed, i, NULL) * TOKENS + choose(logits, TOKENS, &fixed, i + 1, NULL)]++;
    }
    assert_true(fabs(surprise(by_place, chances, TOKENS * TOKENS, DRAWS)) < 4);
    assert_true(fabs(surprise(by_seed, chances, TOKENS * TOKENS, DRAWS)) < 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_numbers_are_philox),
        cmocka_unit_test(test_likelihoods_are_powers_of_e),
        cmocka_unit_test(test_settings_that_make_no_sense_change_nothing),
        cmocka_unit_test(test_slices_cover_the_vocabulary),
        cmocka_unit_test(test_keeps_what_a_plain_way_keeps),
        cmocka_unit_test(test_top_k_of_one_is_the_most_likely),
        cmocka_unit_test(test_odd_logits_give_a_token),
        cmocka_unit_test(test_logits_that_are_not_finite_are_told),
        cmocka_unit_test(test_recent_tokens_are_penalised_once),
        cmocka_unit_test(test_frequencies_are_the_chances),
        cmocka_unit_test(test_seeds_and_places_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
