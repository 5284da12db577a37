/* batch: measures several texts at a time, and prints what it found. */
#include "lab/batch.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

typedef struct measuring {
    batch_lab *lab;
    batch *b;
    uint32_t *prompts;      /* (texts * prompt_tok) */
    uint32_t *right, *made; /* (texts * made_tok) of the first run, and of this one */
    bool has_right;
} measuring;

static bool join_all(measuring *c, uint32_t *slots, err *e)
{
    const batch_lab_options *o = &c->lab->options;
    bool ok = true;
    for (uint32_t i = 0; ok && i < o->texts; i++)
        ok = batch_join(c->b,
                        &(batch_request){.tokens = c->prompts + (size_t)i * o->prompt_tok,
                                         .count = o->prompt_tok,
                                         .max_tok = o->made_tok,
                                         .read_all = true},
                        &slots[i], e);
    return ok;
}

/* All texts from the first prompt to the last token. */
static bool run_once(measuring *c, fusion_level level, uint32_t repetition, err *e)
{
    const batch_lab_options *o = &c->lab->options;
    uint32_t slots[BATCH_MOST_SLOTS], made = 0;
    double first_s = 0, making_s = 0, began = clock_us();
    gpu_counters before = gpu_get_counters(c->lab->device.g);
    batch_set_level(c->b, level);
    if (!join_all(c, slots, e))
        return false;
    while (batch_busy(c->b)) {
        bool reads = false;
        double step_began = clock_us();
        for (uint32_t i = 0; i < o->texts; i++)
            reads |= batch_look(c->b, slots[i]).state == BATCH_READING;
        if (!batch_step(c->b, e))
            return false;
        for (uint32_t i = 0; i < o->texts; i++) {
            batch_news news = batch_look(c->b, slots[i]);
            memcpy(c->made + (size_t)i * o->made_tok + news.made_tok - news.count, news.tokens,
                   news.count * sizeof *news.tokens);
            if (news.count && news.made_tok == news.count)
                first_s += (clock_us() - began) / 1e6 / o->texts;
            made += reads ? 0 : news.count;
        }
        making_s += reads ? 0 : (clock_us() - step_began) / 1e6;
    }
    for (uint32_t i = 0; i < o->texts; i++)
        batch_leave(c->b, slots[i]);
    batch_lab_result *r = &c->lab->results[level];
    r->counted = gpu_counters_since(c->lab->device.g, before);
    r->making_samples[repetition] = making_s > 0 ? made / making_s : 0;
    r->whole_samples[repetition] = (double)o->texts * o->made_tok / ((clock_us() - began) / 1e6);
    r->first_s_samples[repetition] = first_s;
    return true;
}

static bool check_tokens(measuring *c, fusion_level level, err *e)
{
    const batch_lab_options *o = &c->lab->options;
    size_t bytes = (size_t)o->texts * o->made_tok * sizeof *c->made;
    if (!c->has_right)
        memcpy(c->right, c->made, bytes);
    c->has_right = true;
    if (batch_level(c->b) != level) {
        char why[1200] = "";
        batch_take_notice(c->b, why, sizeof why);
        return err_set(e, "the level %s cannot be measured here: %s", fusion_names[level], why);
    }
    return memcmp(c->right, c->made, bytes) == 0 ||
           err_set(e, "the level %s made other tokens than the first one", fusion_names[level]);
}

/* Once more, with texts in all slots, half-way through. */
static bool time_level(measuring *c, fusion_level level, err *e)
{
    const batch_lab_options *o = &c->lab->options;
    uint32_t slots[BATCH_MOST_SLOTS];
    bool ok = join_all(c, slots, e);
    batch_set_level(c->b, level);
    while (ok && batch_look(c->b, slots[o->texts - 1]).state == BATCH_READING)
        ok = batch_step(c->b, e);
    ok = ok && batch_time(&c->lab->times[level], c->b, e);
    for (uint32_t i = 0; i < o->texts; i++)
        batch_leave(c->b, slots[i]);
    return ok;
}

/* Each level once to warm up, then all of them by turns. */
static bool run_all(measuring *c, err *e)
{
    const batch_lab_options *o = &c->lab->options;
    for (uint32_t turn = 0; turn <= o->repetitions; turn++)
        for (int level = LEVEL_COUNT - 1; level >= LEVEL_NONE; level--)
            if (o->levels[level] &&
                (!run_once(c, (fusion_level)level, turn ? turn - 1 : 0, e) || !check_tokens(c, (fusion_level)level, e)))
                return false;
    for (int level = LEVEL_NONE; level < LEVEL_COUNT; level++) {
        if (!o->levels[level])
            continue;
        batch_set_level(c->b, (fusion_level)level);
        if (o->times && !time_level(c, (fusion_level)level, e))
            return false;
        batch_lab_result *r = &c->lab->results[level];
        r->dispatches = batch_dispatches(c->b);
        r->making = stats_summary((samples){r->making_samples, o->repetitions, 0});
        r->whole = stats_summary((samples){r->whole_samples, o->repetitions, 0});
        r->first_s = stats_summary((samples){r->first_s_samples, o->repetitions, 0});
    }
    return true;
}

static void make_prompts(measuring *c)
{
    const batch_lab_options *o = &c->lab->options;
    rng r = rng_seed(o->seed);
    for (size_t i = 0; i < (size_t)o->texts * o->prompt_tok; i++)
        c->prompts[i] = rng_below(&r, batch_vocab(c->b));
}

bool batch_measure(batch_lab *lab, const model *m, const batch_lab_options *o, err *e)
{
    *lab = (batch_lab){.options = *o};
    busy_begin(&lab->busy);
    if (!lab_device_open(&lab->device, &o->choice, o->for_record, e))
        return false;
    fusion_level highest = LEVEL_LOOP;
    while (!o->levels[highest])
        highest--;
    batch_options options = {.slots = o->texts,
                             .context_tok = o->prompt_tok + o->made_tok,
                             .cache = o->cache,
                             .level = highest,
                             .all_levels = true,
                             .submit = SUBMIT_BATCH};
    measuring c = {.lab = lab, .b = batch_new(lab->device.g, m, &options, e)};
    bool ok = c.b;
    if (ok) {
        lab->bytes = batch_bytes(c.b);
        lab->piece_tok = batch_piece(c.b);
        c.prompts = mem_alloc((size_t)o->texts * o->prompt_tok * sizeof *c.prompts);
        c.right = mem_alloc((size_t)o->texts * o->made_tok * sizeof *c.right);
        c.made = mem_alloc((size_t)o->texts * o->made_tok * sizeof *c.made);
        for (int level = 0; level < LEVEL_COUNT; level++) {
            batch_lab_result *r = &lab->results[level];
            double **all[] = {&r->making_samples, &r->whole_samples, &r->first_s_samples};
            for (int i = 0; i < 3; i++)
                *all[i] = mem_alloc(o->repetitions * sizeof(double));
        }
        make_prompts(&c);
        ok = run_all(&c, e);
    }
    busy_end(&lab->busy);
    free(c.prompts);
    free(c.right);
    free(c.made);
    batch_free(c.b);
    lab_device known = lab->device;
    lab_device_close(&lab->device);
    lab->device = known; /* what is to be said about it */
    lab->device.g = NULL;
    return ok;
}

void batch_lab_free(batch_lab *lab)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        free(lab->results[level].making_samples);
        free(lab->results[level].whole_samples);
        free(lab->results[level].first_s_samples);
    }
}

void batch_print(const batch_lab *lab, FILE *to)
{
    const batch_lab_options *o = &lab->options;
    fprintf(to, "%s on %s (%s, %s)\n", o->model_name, lab->device.info.device, lab->device.info.impl,
            lab->device.info.driver);
    fprintf(to, "%u texts at a time, %u tokens in and %u out each, prompts in pieces of %u; %.2f GB of GPU memory\n\n",
            o->texts, o->prompt_tok, o->made_tok, lab->piece_tok, (double)lab->bytes / 1e9);
    fprintf(to, "  %-6s %12s  %-21s %10s %14s %12s %10s\n", "fuse", "all tok/s", "95%", "each", "with prompts",
            "first token", "dispatches");
    for (int level = LEVEL_COUNT - 1; level >= LEVEL_NONE; level--) {
        if (!o->levels[level])
            continue;
        const summary *s = &lab->results[level].making;
        char interval[32];
        snprintf(interval, sizeof interval, "%.1f .. %.1f", s->ci95[0], s->ci95[1]);
        fprintf(to, "  %-6s %12.1f  %-21s %10.1f %14.1f %10.3f s %10u\n", fusion_names[level], s->median, interval,
                s->median / o->texts, lab->results[level].whole.median, lab->results[level].first_s.median,
                lab->results[level].dispatches);
    }
    for (int level = LEVEL_COUNT - 1; level >= LEVEL_NONE; level--)
        if (o->levels[level] && o->times)
            batch_print_times(&lab->times[level], to);
    busy_print(&lab->busy, to);
}
