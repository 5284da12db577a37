/* generation_check: compares the tokens of the megakernel with those of separate dispatches on this device. */
#include "base/cache.h"
#include "base/str.h"
#include "gpu/identity.h"
#include "llm/generation_internal.h"

#include <stdlib.h>
#include <string.h>

static str key_of(const gpu *g, const megakernel *mega)
{
    str key = {0};
    str_addf(&key, "one dispatch against many, kernel %016llx, %u workgroups\n",
             (unsigned long long)megakernel_text_hash(mega), megakernel_form(mega)->groups);
    gpu_add_identity(gpu_get_info(g), &key);
    return key;
}

generation_verdict generation_verdict_of(const gpu *g, const megakernel *mega, uint32_t context_tok)
{
    if (!mega || megakernel_form(mega)->groups == 1 || gpu_get_info(g)->type == GPU_TYPE_SOFTWARE ||
        context_tok < COMPARED_TOK + 4)
        return VERDICT_SAME;
    str key = key_of(g, mega);
    char *known = cache_get(key.data);
    generation_verdict verdict = !known                         ? VERDICT_UNKNOWN
                                 : strcmp(known, "same") == 0   ? VERDICT_SAME
                                 : strcmp(known, "slower") == 0 ? VERDICT_SLOWER
                                                                : VERDICT_DIFFERENT;
    free(known);
    str_free(&key);
    return verdict;
}

void generation_keep_verdict(const gpu *g, const megakernel *mega, generation_verdict verdict)
{
    str key = key_of(g, mega);
    cache_put(key.data, verdict == VERDICT_SAME ? "same" : verdict == VERDICT_SLOWER ? "slower" : "different");
    str_free(&key);
}

generation_verdict generation_get_verdict(const generation *n, uint32_t program)
{
    return generation_verdict_of(n->g, graph_run_megakernel(n->run, program), n->context_tok);
}

void generation_put_verdict(const generation *n, uint32_t program, generation_verdict verdict)
{
    generation_keep_verdict(n->g, graph_run_megakernel(n->run, program), verdict);
}

static bool make_compared(generation *n, fusion_level level, uint32_t *tokens, err *e)
{
    uint32_t words[] = {1 % n->vocab_tok, 2 % n->vocab_tok, 3 % n->vocab_tok};
    generation_change_level(n, level);
    generation_rewind(n, 0);
    bool ok = generation_feed(n, words, 3, e);
    generation_set_limit(n, COMPARED_TOK);
    for (uint32_t i = 0; ok && i < COMPARED_TOK; i++)
        ok = generation_next(n, &tokens[i], e);
    return ok;
}

bool generation_compare_with_ops(generation *n, err *e)
{
    fusion_level level = n->level;
    uint32_t right[COMPARED_TOK], tokens[COMPARED_TOK], program = n->programs[level][0];
    generation_verdict verdict = generation_get_verdict(n, program);
    bool ok = true;
    if (verdict == VERDICT_UNKNOWN) {
        ok = make_compared(n, LEVEL_OPS, right, e) && make_compared(n, level, tokens, e);
        bool same = ok && memcmp(right, tokens, sizeof right) == 0 && n->level == level;
        verdict = same ? VERDICT_SAME : VERDICT_DIFFERENT;
        if (ok && n->level == level) /* a time-out is no verdict: the next run may differ */
            generation_put_verdict(n, program, verdict);
        generation_rewind(n, 0);
        if (n->has_level[level])
            generation_change_level(n, level);
    }
    if (ok && verdict == VERDICT_DIFFERENT && n->has_level[level])
        generation_fall_back(n, GENERATION_OTHER_TOKENS);
    return ok;
}
