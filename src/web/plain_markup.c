/* What a page has instead of llm/markup.c, which it has no room for: tokens that mark thoughts and calls are text as they are. */
#include "llm/markup.h"
#include "llm/thoughts.h"

void markup_add(markup *m, decode_stream *characters, const tokenizer *t, int32_t id, str *out)
{
    (void)m;
    decode_stream_add(characters, t, id, out);
}

void markup_end(markup *m, str *out)
{
    (void)m, (void)out;
}

const char *markup_end_of_thoughts(const markup *m)
{
    (void)m;
    return "\n" THOUGHTS_END "\n\n";
}

void markup_free(markup *m)
{
    (void)m;
}
