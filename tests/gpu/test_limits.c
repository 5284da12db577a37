/* What other adapters offer, on this one: less workgroup memory, small bindings, few storage buffers, no subgroups, no f16,
 * one workgroup at a time. Whatever of it comes together, the tokens are the same. */
#include "gpu/make_tokens.h"
#include "open_tiny.h"

enum { TOKENS = 5 };

static const tiny_model TINY = {"llama", 2, 64, 192, 4, 2, 16, 50, TYPE_F16, .tied = true};

/* A bit of `which` for each cap. */
static void cap(gpu_info *info, const gpu_info *real, unsigned which)
{
    *info = *real;
    setenv("SOLO_WORKGROUP_BYTES", which & 1 ? "16384" : "32768", 1);
    info->has_subgroups = real->has_subgroups && !(which & 2);
    info->has_f16 = real->has_f16 && !(which & 4);
    if (which & 8) {
        info->max_storage_buffers = 8;
        info->max_storage_binding_bytes = (uint64_t)128 << 20;
    }
}

static void capped_adapters_make_the_same_tokens(void **unused)
{
    (void)unused;
    model *m = open_tiny(&TINY, 1);
    gpu_info *info = (gpu_info *)gpu_get_info(device), real = *info;
    uint32_t all[TOKENS], capped[TOKENS];
    make_tokens(m, LEVEL_OPS, all, TOKENS);
    for (unsigned which = 0; which < 16; which++) {
        cap(info, &real, which);
        make_tokens(m, LEVEL_OPS, capped, TOKENS);
        assert_memory_equal(all, capped, sizeof all);
    }
    /* a dispatch for each token, by the one workgroup that is there */
    setenv("SOLO_ONE_GROUPS", "1", 1);
    for (unsigned which = 0; real.has_wgsl && which < 16; which += 15) {
        cap(info, &real, which);
        make_tokens(m, LEVEL_TOKEN, capped, TOKENS);
        assert_memory_equal(all, capped, sizeof all);
    }
    unsetenv("SOLO_ONE_GROUPS");
    unsetenv("SOLO_WORKGROUP_BYTES");
    *info = real;
    model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(capped_adapters_make_the_same_tokens)};
    return RUN_ON_EACH(tests);
}
