/* Feeds texts to the reader of simulations, sets their parameters, and to the reader of tables. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "sim"
#define FUZZ_MUTATIONS 20000
#include "base/str.h"
#include "sim/source.h"
#include "sim/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static uint32_t lines(const char *text)
{
    uint32_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Whatever is set, the text keeps its lines and the state its words. */
static void check_source(sim_source *s, const char *text)
{
    for (uint32_t i = 0; i < s->file.constant_count && i < 4; i++) {
        char assignment[WGSL_NAME_BYTES + 4];
        err e = {0};
        if (!s->file.constants[i].is_override)
            continue;
        snprintf(assignment, sizeof assignment, "%s=3", s->file.constants[i].name);
        if (!sim_source_set(s, assignment, &e))
            return;
    }
    char *out = sim_source_text(s);
    require(lines(out) == lines(text), "a line more or less");
    require(s->state->words > 0 && s->state->words <= SIM_MAX_WORDS, "words");
    for (uint32_t w = 0; w < s->state->words; w++)
        require(s->words[w].name[0], "a word without a name");
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char *text = mem_alloc(length + 1);
    memcpy(text, bytes, length);
    err e = {0};
    sim_source s;
    bool ok = sim_source_read(&s, "input", text, &e);
    require(ok == (e.kind == ERR_NONE), "an error beside a result, or neither");
    require(!strchr(e.text, '\n'), "an error has two lines");
    if (ok) {
        check_source(&s, text);
        sim_source_free(&s);
    }
    table t;
    err_clear(&e);
    ok = table_parse(&t, "input", text, &e);
    require(ok == (e.kind == ERR_NONE) && !strchr(e.text, '\n'), "a table and an error, or an error of two lines");
    if (ok)
        table_free(&t);
    free(text);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"

#include "fuzz/fuzz_main.h"
#endif
