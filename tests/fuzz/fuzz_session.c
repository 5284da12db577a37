/* Reads saved sessions of any bytes: as they are, and with the checksum that they should have, so that what is behind it
 * is looked at, too. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "session"
#define FUZZ_MUTATIONS 50000
#include "base/rng.h"
#include "fuzz/require.h"
#include "llm/session_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Looks at every byte that an image points at. */
static uint64_t touch(const session_image *i)
{
    uint64_t sum = str_hash(STR_HASH_BEGIN, i->tokens, i->h.token_count * sizeof(uint32_t));
    const char *at = i->messages;
    for (uint32_t k = 0; k < i->h.message_count; k++) {
        session_message m = session_file_next(i, &at);
        const char *const texts[] = {m.m.content, m.m.tool_calls, m.m.tool_call_id, m.m.name};
        for (int t = 0; t < 4; t++)
            sum += texts[t] ? strlen(texts[t]) : 0;
        require(m.m.role < CHAT_ROLES, "a role that there is not");
        sum = str_hash(sum, m.tokens, m.token_count * sizeof(uint32_t));
    }
    require(at == i->states, "messages do not end where states begin");
    return str_hash(sum, i->states, i->h.state_bytes);
}

static void read_one(const char *bytes, size_t length)
{
    err e = {0};
    session_image image;
    volatile uint64_t sum;
    if (session_file_read("saved", bytes, length, &image, &e))
        sum = touch(&image);
    else
        require(e.kind == ERR_FAILED && strncmp(e.text, "saved ", 6) == 0 && !strchr(e.text, '\n'),
                "an error does not name the file in one line");
    (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    read_one((const char *)bytes, length);
    str right = {0};
    str_add_bytes(&right, (const char *)bytes, length);
    session_file_end(&right);
    char *exact = mem_alloc(right.length); /* no byte behind it */
    memcpy(exact, right.data, right.length);
    read_one(exact, right.length);
    free(exact);
    str_free(&right);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
