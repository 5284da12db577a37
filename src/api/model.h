/* model: the public API's model, for its sessions. */
#ifndef SOLO_API_MODEL_H
#define SOLO_API_MODEL_H

#include "api/internal.h"
#include "model/model.h"
#include "model/tokenizer.h"

struct solo_model {
    model *m;
    tokenizer *t;
};

#endif
