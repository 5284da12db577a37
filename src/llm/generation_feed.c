/* generation_feed: feeds tokens: which program takes how many, from which position on; and the sampling settings. */
#include "base/str.h"
#include "llm/generation_internal.h"

#include <stdlib.h>
#include <string.h>

void generation_forget_beyond(generation *n, uint32_t position)
{
    uint32_t count = n->written > position ? n->written - position : 0;
    uint32_t *nothing = mem_alloc((count + 1) * sizeof *nothing);
    memset(nothing, 0xff, count * sizeof *nothing);
    if (count)
        graph_run_put(n->run, (graph_place){n->history.word + position + 1, n->history.words}, nothing, count);
    free(nothing);
    n->written = position;
}

/* Software devices need the CPU time that polling would take. */
void generation_set_submit(generation *n, submit_policy submit)
{
    n->submit = submit;
    n->ahead = gpu_get_info(n->g)->type != GPU_TYPE_SOFTWARE && submit != SUBMIT_SYNC;
}

void generation_change_level(generation *n, fusion_level level)
{
    generation_sync(n);
    n->level = level;
    generation_forget_beyond(n, n->position);
}

void generation_set_launch(generation *n, fusion_level level, submit_policy submit)
{
    int chosen = level == LEVEL_AUTO ? LEVEL_LOOP : (int)level;
    while (level == LEVEL_AUTO && !n->has_level[chosen])
        chosen--;
    n->wanted = level;
    generation_change_level(n, n->has_level[chosen] ? (fusion_level)chosen : LEVEL_OPS);
    generation_set_submit(n, submit);
}

void generation_set_rounds(generation *n, uint32_t rounds)
{
    if (n->level == LEVEL_LOOP && n->rounds != rounds)
        graph_run_set_rounds(n->run, generation_program(n, 0), n->rounds = rounds);
}

/* The program for the next of `left` tokens: one that is too large is better than two that fit. */
static uint32_t program_for(const generation *n, uint32_t left)
{
    uint32_t i = 0;
    while (i + 1 < n->program_count && left * 2 > generation_rows[i + 1])
        i++;
    return left == 1 ? 0 : i;
}

/* Software computes every row, whether there is a token for it or not: a program that is too large is better as long as
 * few rows are in vain. */
static uint32_t software_program_for(const generation *n, uint32_t left)
{
    uint32_t fits = 0, larger;
    while (fits + 1 < n->program_count && left >= generation_rows[fits + 1])
        fits++;
    larger = fits + 1;
    if (left == 1 || larger >= n->program_count)
        return fits;
    return fits == 0 || generation_rows[larger] - left <= left / 3 ? larger : fits;
}

static bool take_in(generation *n, const uint32_t *tokens, uint32_t count, uint32_t program, fusion_level level)
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
    if (program == 0)
        generation_set_rounds(n, 1);
    bool done = graph_run_once(n->run, n->programs[level][program], n->submit);
    n->written = n->position + count;
    if (!done) { /* keys and values beyond the position are written anew; states have taken in nobody knows how much */
        n->absorbed = ABSORBED_UNKNOWN;
        return false;
    }
    memcpy(n->said + n->position, tokens, count * sizeof *tokens);
    n->position += count;
    n->absorbed = level > LEVEL_OPS && program == 0 ? ABSORBED_ON_GPU : n->position;
    return true;
}

/* Without subgroups, kernels for many rows are made for 64 of them. */
static uint32_t program_for_many(const generation *n, uint32_t left)
{
    const gpu_info *info = gpu_get_info(n->g);
    bool by_rows = info->type == GPU_TYPE_SOFTWARE && info->has_wgsl && info->has_subgroups;
    return by_rows ? software_program_for(n, left) : program_for(n, left);
}

/* Few tokens are fed one by one: kernels for many take a while to compile, and text is to appear before. */
uint32_t generation_first_program(const generation *n, uint32_t prompt_tok)
{
    enum { FEW = 16 };
    return prompt_tok <= FEW ? 0 : program_for_many(n, prompt_tok);
}

bool generation_take_in(generation *n, const uint32_t *tokens, uint32_t count, fusion_level level)
{
    bool few = generation_first_program(n, count) == 0;
    while (count) {
        uint32_t program = few ? 0 : program_for_many(n, count);
        uint32_t some = count < generation_rows[program] ? count : generation_rows[program];
        /* Only the last token of a prompt uses the megakernel: after a time-out it is the only one to be computed again. */
        if (!take_in(n, tokens, some, program, some == count || n->level < LEVEL_OPS ? level : LEVEL_OPS))
            return false;
        tokens += some;
        count -= some;
        n->fed = true;
    }
    return true;
}

static bool feed(generation *n, const uint32_t *tokens, uint32_t count, err *e)
{
    generation_sync(n);
    generation_complete_rows(n);
    generation_forget_trial(n);
    generation_forget_beyond(n, n->position);
    bool goes_on = !n->fed && n->position > 0;
    if (!generation_mend(n, n->position, e))
        return false;
    if (goes_on)
        generation_keep_snapshot(n);
    bool taken = generation_take_in(n, tokens, count, n->level);
    n->asked = n->position;
    return gpu_ok(n->g, e) && taken;
}

void generation_stop_when(generation *n, submit_stop stop)
{
    n->stop = stop;
    graph_run_stop_when(n->run, stop);
}

void generation_put_angles(generation *n)
{
    if (n->angles[0])
        graph_run_put(n->run, n->angles_place, n->angles[n->is_long], n->angle_count);
}

bool generation_fit_angles(generation *n, uint32_t text_tok, err *e)
{
    bool is_long = n->angles[0] && text_tok > n->short_tok;
    if (is_long == n->is_long)
        return true;
    uint32_t count = n->position, limit = n->limit, stream = n->stream, *text = mem_alloc((count + 1) * sizeof *text);
    memcpy(text, n->said, count * sizeof *text);
    generation_rewind(n, 0);
    generation_set_stream(n, stream);
    n->limit = limit;
    n->is_long = is_long;
    generation_put_angles(n);
    submit_stop stop = n->stop;
    generation_stop_when(n, (submit_stop){0}); /* half of this text would be another one than callers know */
    bool ok = count == 0 || feed(n, text, count, e);
    generation_stop_when(n, stop);
    free(text);
    return ok;
}

bool generation_feed(generation *n, const uint32_t *tokens, uint32_t count, err *e)
{
    if (count > n->context_tok - n->position)
        return err_set(e, "%u tokens more do not fit the context: %u of %u are taken (-c N makes it longer)", count,
                       n->position, n->context_tok);
    for (uint32_t i = 0; i < count; i++)
        if (tokens[i] >= n->vocab_tok)
            return err_set(e, "%u is no token of this model, which has %u", tokens[i], n->vocab_tok);
    if (!generation_fit_angles(n, n->position + count, e) || !feed(n, tokens, count, e))
        return false;
    generation_warn_beyond_trained(n);
    return true;
}

void generation_rewind(generation *n, uint32_t position)
{
    generation_sync(n);
    generation_forget_trial(n);
    if (position < n->position)
        n->position = n->asked = position;
    if (n->kept_tok > position)
        n->kept_tok = 0; /* it was of another text */
    n->fed = false;
    n->limit = n->context_tok;
    generation_set_stream(n, 0);
}

void generation_put_sampling(generation *n)
{
    sample_words words = sample_pack(&n->how);
    words.seed = sample_stream_seed(words.seed, n->stream);
    generation_sync(n);
    graph_run_put(n->run, n->settings, &words, SAMPLE_WORDS);
}

void generation_set_sampling(generation *n, const sampling *s)
{
    n->how = *s;
    generation_put_sampling(n);
}

void generation_set_stream(generation *n, uint32_t stream)
{
    if (n->stream == stream)
        return;
    n->stream = stream;
    generation_put_sampling(n);
}
