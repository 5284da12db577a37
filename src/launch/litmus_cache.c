/* litmus_cache: verdicts of the litmus test, kept between runs. */
#include "base/cache.h"
#include "base/scan.h"
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

/* Behind the verdict's name. */
static const char KEPT[] = ": %u rounds, %u wrong (place %u, round %u: %u instead of %u)";
static const char KEPT_FORM[] = ": # rounds, # wrong (place #, round #: # instead of #)";

static bool understand(const char *text, litmus_result *out)
{
    static const litmus_verdict verdicts[] = {LITMUS_PASSED, LITMUS_WRONG};
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        const char *name = litmus_verdict_name(verdicts[i]);
        uint32_t n[6];
        if (strncmp(text, name, strlen(name)) != 0)
            continue;
        const char *end = scan_numbers(text + strlen(name), KEPT_FORM, n);
        if (!end || *end || (verdicts[i] == LITMUS_WRONG) != (n[1] > 0))
            return false;
        *out = (litmus_result){.verdict = verdicts[i],
                               .rounds = n[0],
                               .wrong = n[1],
                               .wrong_place = n[2],
                               .wrong_round = n[3],
                               .wrong_got = n[4],
                               .wrong_wanted = n[5],
                               .remembered = true};
        return true;
    }
    return false;
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
            str_add(&text, litmus_verdict_name(out->verdict));
            str_addf(&text, KEPT, out->rounds, out->wrong, out->wrong_place, out->wrong_round, out->wrong_got,
                     out->wrong_wanted);
            cache_put(key, text.data);
            str_free(&text);
        }
    }
    free(kept);
    free(key);
    return ok;
}
