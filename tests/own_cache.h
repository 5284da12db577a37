/* A cache folder of a test's own: set-up and tear-down for cmocka. */
#ifndef SOLO_TEST_OWN_CACHE_H
#define SOLO_TEST_OWN_CACHE_H

#include "remove_folder.h"
#include "temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[TEMPORARY_BYTES];

static int use_own_cache(void **unused)
{
    (void)unused;
    return temporary_folder(folder, "cache") ? setenv("SOLO_CACHE", folder, 1) : -1;
}

static int remove_own_cache(void **unused)
{
    (void)unused;
    return remove_folder(folder);
}

#endif
