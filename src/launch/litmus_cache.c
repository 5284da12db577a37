/* litmus_cache: verdicts of the litmus test, kept between runs. */
#include "base/cache.h"
#include "base/str.h"
#include "gpu/identity.h"
#include "launch/litmus.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Count this up when results of before should not be believed any more; a change of the kernel does that by itself. */
enum { LITMUS_VERSION = 1 };

/* The kernel's text is part of the key. */
static char *key_for(const gpu_info *info, uint32_t workgroups, uint32_t threads)
{
    str key = {0};
    str_addf(&key, "litmus %d: %u workgroups of %u threads\n", LITMUS_VERSION, workgroups, threads);
    gpu_add_identity(info, &key);
    str_add(&key, kernel_litmus.shared ? kernel_litmus.shared : "");
    str_add(&key, kernel_litmus.wgsl);
    return key.data;
}

static const char KEPT[] = "%s: %u rounds, %u wrong (place %u, round %u: %u instead of %u)";

static bool understand(const char *text, litmus_result *out)
{
    char verdict[16];
    int end = 0;
    litmus_result r = {.remembered = true};
    if (sscanf(text, "%15[a-z]: %u rounds, %u wrong (place %u, round %u: %u instead of %u)%n", verdict, &r.rounds,
               &r.wrong, &r.wrong_place, &r.wrong_round, &r.wrong_got, &r.wrong_wanted, &end) != 7 ||
        !end || text[end])
        return false;
    r.verdict = strcmp(verdict, litmus_verdict_name(LITMUS_PASSED)) == 0  ? LITMUS_PASSED
                : strcmp(verdict, litmus_verdict_name(LITMUS_WRONG)) == 0 ? LITMUS_WRONG
                                                                          : LITMUS_UNKNOWN;
    if (r.verdict == LITMUS_UNKNOWN || (r.verdict == LITMUS_WRONG) != (r.wrong > 0))
        return false;
    *out = r;
    return true;
}

bool gpu_litmus_cached(gpu *g, uint32_t workgroups, uint32_t threads, litmus_result *out, err *e)
{
    if (!gpu_ok(g, e))
        return false;
    char *key = key_for(gpu_get_info(g), workgroups, threads);
    char *kept = cache_get(key);
    bool ok = kept && understand(kept, out);
    if (!ok) {
        ok = gpu_litmus(g, workgroups, threads, out, e);
        if (ok && (out->verdict == LITMUS_PASSED || out->verdict == LITMUS_WRONG)) {
            str text = {0};
            str_addf(&text, KEPT, litmus_verdict_name(out->verdict), out->rounds, out->wrong, out->wrong_place,
                     out->wrong_round, out->wrong_got, out->wrong_wanted);
            cache_put(key, text.data);
            str_free(&text);
        }
    }
    free(kept);
    free(key);
    return ok;
}
