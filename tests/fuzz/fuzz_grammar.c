/* Reads any bytes as a grammar, as a JSON schema, and as a text that follows a grammar. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "grammar"
#define FUZZ_MUTATIONS 20000
#include "base/rng.h"
#include "fuzz/require.h"
#include "serve/grammar.h"
#include "serve/grammar_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Follows the grammar: of the bytes that may come, those that the input asks for; twice, the second time from sets that
 * are known. */
static void follow(const grammar *g, const uint8_t *bytes, size_t length)
{
    matcher *m = matcher_new(g);
    uint32_t at[2] = {matcher_start(m), matcher_start(m)};
    require(at[0] == at[1], "a beginning that is not the same twice");
    for (size_t i = 0; i < length && i < 200 && at[0] != MATCHER_DEAD; i++) {
        unsigned byte = bytes[i], tried = 0;
        uint32_t next = MATCHER_DEAD;
        for (; tried < 256 && next == MATCHER_DEAD; tried++)
            next = matcher_step(m, at[0], (unsigned char)(byte + tried));
        require(next != MATCHER_DEAD || matcher_may_end(m, at[0]) || tried == 256, "a set without a way on");
        require(next == MATCHER_DEAD || next == matcher_step(m, at[0], (unsigned char)(byte + tried - 1)),
                "a step that is not the same twice");
        at[0] = next;
        matcher_tidy(m, &at[0]);
    }
    matcher_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    err e = {0};
    grammar *g = grammar_parse((const char *)bytes, length, &e);
    require(g || e.kind != ERR_NONE, "a refusal without a reason");
    if (g)
        follow(g, bytes, length);
    grammar_free(g);
    json_t *schema = json_loadb((const char *)bytes, length, JSON_REJECT_DUPLICATES, NULL);
    str gbnf = {0};
    err_clear(&e);
    if (schema && grammar_of_schema(schema, &gbnf, &e)) {
        g = grammar_parse(gbnf.data, gbnf.length, &e);
        /* what it makes is a grammar, but for schemas that are themselves and no more, or too large */
        require(g || strstr(e.text, "itself") || strstr(e.text, "too many") || strstr(e.text, "more than"), e.text);
        if (g)
            follow(g, bytes, length);
        grammar_free(g);
    }
    str_free(&gbnf);
    json_decref(schema);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
