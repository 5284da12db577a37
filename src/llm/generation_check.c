/* generation_check: compares the tokens of the megakernel with those of separate dispatches on this device. */
#include "base/cache.h"
#include "base/str.h"
#include "gpu/identity.h"
#include "llm/generation_internal.h"

#include <stdlib.h>
#include <string.h>

enum { COMPARED_TOK = 24 };

static bool make_compared(generation *n, fusion_level level, uint32_t *tokens, err *e)
{
    uint32_t words[] = {1 % n->vocab_tok, 2 % n->vocab_tok, 3 % n->vocab_tok};
    generation_set_launch(n, level, n->submit);
    generation_rewind(n, 0);
    bool ok = generation_feed(n, words, 3, e);
    generation_set_limit(n, COMPARED_TOK);
    for (uint32_t i = 0; ok && i < COMPARED_TOK; i++)
        ok = generation_next(n, &tokens[i], e);
    return ok;
}

bool generation_compare_with_ops(generation *n, err *e)
{
    const megakernel *mega = graph_run_megakernel(n->run, n->programs[n->level][0]);
    if (!mega || megakernel_form(mega)->groups == 1 || gpu_get_info(n->g)->type == GPU_TYPE_SOFTWARE ||
        n->context_tok < COMPARED_TOK + 4)
        return true;
    fusion_level level = n->level;
    submit_policy submit = n->submit;
    uint32_t right[COMPARED_TOK], tokens[COMPARED_TOK];
    str key = {0};
    str_addf(&key, "one dispatch against many, kernel %016llx, %u workgroups\n",
             (unsigned long long)megakernel_text_hash(mega), megakernel_form(mega)->groups);
    gpu_add_identity(gpu_get_info(n->g), &key);
    char *known = cache_get(key.data);
    bool ok = true, same = known && strcmp(known, "same") == 0;
    if (!known) {
        ok = make_compared(n, LEVEL_OPS, right, e) && make_compared(n, level, tokens, e);
        same = ok && memcmp(right, tokens, sizeof right) == 0 && n->level == level;
        if (ok && n->level == level) /* a time-out is no verdict: the next run may differ */
            cache_put(key.data, same ? "same" : "different");
        generation_rewind(n, 0);
        generation_set_launch(n, level, submit);
    }
    if (ok && !same && n->has_level[level])
        generation_fall_back(
            n, "one dispatch made other tokens than many on this device; each step has a dispatch of its own");
    free(known);
    str_free(&key);
    return ok;
}
