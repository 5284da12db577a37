#include "web/said.h"

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

str *said_anew(void)
{
    said.length = 0;
    return &said;
}

jsonw said_begin(void)
{
    jsonw j = jsonw_to(said_anew());
    jsonw_object(&j, NULL);
    return j;
}
