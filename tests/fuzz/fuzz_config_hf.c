/* Reads any text as a config.json, and looks at what is let through. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "config_hf"
#define FUZZ_MUTATIONS 20000
#include "base/str.h"
#include "fuzz/config_rules.h"
#include "model/folder.h"

#include <stdio.h>
#include <string.h>

/* Weights have a name there, or none, whatever the configuration is. */
static void name_weights(const model_config *c)
{
    static const char *const names[] = {
        "token_embd.weight",     "output.weight",           "blk.0.attn_q.weight",
        "blk.0.attn_qkv.weight", "blk.0.ffn_gate.weight",   "blk.0.ffn_down_exps.weight",
        "blk.1.ssm_out.weight",  "blk.99999.attn_q.weight", "blk.0.no_such.weight"};
    char out[MODEL_NAME_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (folder_name_of(NULL, c, names[i], out))
            require(memchr(out, 0, sizeof out) && out[0], "a weight's name is empty or too long");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    err e = {0};
    model_config c;
    bool ok = config_from_hf((const char *)bytes, length, "input", &c, &e);
    require(ok == (e.kind == ERR_NONE), "an error beside a result, or neither");
    if (ok) {
        check_config(&c);
        name_weights(&c);
    } else {
        require_line(&e);
        require(strncmp(e.text, "input", 5) == 0, "an error does not name the file");
    }
    return 0;
}

#ifdef FUZZ_MAIN
static const char *const words[] = {"\"model_type\"",
                                    "\"llama\"",
                                    "\"gemma3_text\"",
                                    "\"qwen3_moe\"",
                                    "\"deepseek_v2\"",
                                    "\"rope_scaling\"",
                                    "\"yarn\"",
                                    "\"longrope\"",
                                    "null",
                                    "true",
                                    "-1",
                                    "0",
                                    "1",
                                    "1e300",
                                    "4294967296",
                                    "0.5",
                                    "{}",
                                    "[]",
                                    "[1,2]",
                                    "[0.5]",
                                    "\"silu\"",
                                    "2147483648"};
#include "mutate_json.h"

#include "fuzz_main.h"
#endif
