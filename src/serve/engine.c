/* engine: which kind there is, and its calls. */
#include "serve/engine_internal.h"

#include <stdio.h>

engine *engine_new(const engine_options *o, err *e)
{
    uint32_t rows = o->rows ? o->rows : ENGINE_DEFAULT_ROWS;
    err not_so = {0};
    engine *n = rows > 1 ? engine_batch_new(o, rows, o->rows ? e : &not_so) : engine_single_new(o, e);
    if (!n && rows > 1 && !o->rows && gpu_ok(o->g, e)) {
        n = engine_single_new(o, e);
        if (n)
            fprintf(stderr, "solo: one text at a time: %s\n", not_so.text);
    }
    if (n)
        n->end_count = tokenizer_list_ends(o->t, n->ends);
    return n;
}

void engine_free(engine *n)
{
    if (n)
        n->kind->free(n);
}

uint32_t engine_rows(const engine *n)
{
    return n->rows;
}

uint32_t engine_context(const engine *n)
{
    return n->context;
}

uint32_t engine_vocab(const engine *n)
{
    return n->vocab;
}

bool engine_join(engine *n, uint32_t row, const engine_text *text, err *e)
{
    if (text->count == 0 || text->count >= n->context)
        return err_set(e, "%u tokens do not fit a context of %u", text->count, n->context);
    return n->kind->join(n, row, text, e);
}

void engine_leave(engine *n, uint32_t row)
{
    n->kind->leave(n, row);
}

bool engine_step(engine *n, engine_made made, void *user, err *e)
{
    return n->kind->step(n, made, user, e);
}

engine_row engine_look(const engine *n, uint32_t row)
{
    return n->kind->look(n, row);
}

const char *engine_take_notice(engine *n, char *text, size_t size)
{
    return n->kind->notice(n, text, size);
}
