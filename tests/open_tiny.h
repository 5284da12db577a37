/* A tiny model with random weights, written to a file, opened, and left without a name. */
#ifndef SOLO_TEST_OPEN_TINY_H
#define SOLO_TEST_OPEN_TINY_H

#include "model/model.h"
#include "temporary.h"
#include "tiny_model.h"

#include <stdlib.h>
#include <unistd.h>

static model *open_tiny(const tiny_model *tiny, uint64_t seed)
{
    err e = {0};
    char path[TEMPORARY_BYTES];
    close(temporary_file(path, "tiny"));
    model *m = tiny_model_write(tiny, seed, path, &e) ? model_open(path, &e) : NULL;
    unlink(path);
    if (!m)
        fail_msg("%s", e.text);
    return m;
}

#endif
