/* reply: the buffers through which C and the page exchange text. */
#include "web/reply.h"

#include <stdlib.h>

static str said;

EXPORT(solo_said) const char *solo_said(void)
{
    return said.data ? said.data : "";
}

EXPORT(solo_said_bytes) uint32_t solo_said_bytes(void)
{
    return (uint32_t)said.length;
}

EXPORT(solo_alloc) void *solo_alloc(uint32_t bytes)
{
    return malloc(bytes);
}

EXPORT(solo_free) void solo_free(void *p)
{
    free(p);
}

str *reply_text(void)
{
    said.length = 0;
    return &said;
}

jsonw reply_begin(void)
{
    jsonw j = jsonw_to(reply_text());
    jsonw_object(&j, NULL);
    return j;
}
