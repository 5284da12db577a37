/* engine_internal: what a kind of engine provides. */
#ifndef SOLO_ENGINE_INTERNAL_H
#define SOLO_ENGINE_INTERNAL_H

#include "serve/engine.h"

typedef struct engine_kind {
    void (*free)(engine *n);
    bool (*join)(engine *n, uint32_t row, const engine_text *text, err *e);
    void (*leave)(engine *n, uint32_t row);
    bool (*step)(engine *n, engine_made made, void *user, err *e);
    engine_row (*look)(const engine *n, uint32_t row);
    const char *(*notice)(engine *n, char *text, size_t size);
} engine_kind;

/* Each kind's struct begins with it. */
struct engine {
    const engine_kind *kind;
    uint32_t rows, context, vocab;
    uint32_t ends[TOKENIZER_MAX_ENDS], end_count;
};

/* One row, by a generation; several, by a batch. */
engine *engine_single_new(const engine_options *o, err *e);
engine *engine_batch_new(const engine_options *o, uint32_t rows, err *e);

#endif
