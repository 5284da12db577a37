/* check: looking at every weight of a model. */
#include "model/check.h"
#include "base/progress.h"
#include "base/str.h"
#include "model/decoder.h"

#include <math.h>
#include <stdlib.h>

enum { CHUNK_NUMBERS = 1 << 18 };

size_t check_finite(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return i;
    return count;
}

static bool check_weight(decoder_weights *from, const char *path, const graph_node *w, progress *p, uint64_t *done,
                         float **room, size_t *room_numbers, err *e)
{
    uint64_t columns = w->s.dims[GRAPH_MAX_DIMS - 1], rows = shape_count(w->s) / (columns ? columns : 1);
    uint64_t row_bytes = type_bytes(w->as.weight, columns),
             at_once = columns < CHUNK_NUMBERS ? CHUNK_NUMBERS / columns : 1;
    if (*room_numbers < at_once * columns) {
        *room_numbers = (size_t)(at_once * columns);
        *room = mem_grow(*room, *room_numbers * sizeof **room);
    }
    for (uint64_t row = 0; row < rows; row += at_once) {
        uint64_t some = rows - row < at_once ? rows - row : at_once;
        const void *bytes = decoder_find_weight(from, w->name, row * row_bytes, some * row_bytes, e);
        if (!bytes)
            return false;
        type_to_f32(w->as.weight, bytes, *room, (size_t)(some * columns));
        size_t bad = check_finite(*room, (size_t)(some * columns));
        if (bad < some * columns)
            return err_set(e, "%s: tensor %s: row %llu has a number that is not finite", path, w->name,
                           (unsigned long long)(row + bad / columns));
        progress_at(p, *done += some * row_bytes);
    }
    return true;
}

bool model_check_weights(const model *m, err *e)
{
    decoder_options o = {.rows = 1, .context_tok = 1, .whole = config_is_encoder(model_get_config(m))};
    graph *g = decoder_graph(m, &o, e);
    if (!g)
        return false;
    decoder_weights from = {.m = m, .context_tok = 1};
    uint64_t total = 0, done = 0;
    for (node i = 1; i <= graph_count(g); i++)
        if (graph_at(g, i)->op == OP_WEIGHT)
            total += type_bytes(graph_at(g, i)->as.weight, shape_count(graph_at(g, i)->s));
    progress p = progress_start("checking", total);
    float *room = NULL;
    size_t room_numbers = 0;
    bool ok = true;
    for (node i = 1; ok && i <= graph_count(g); i++)
        if (graph_at(g, i)->op == OP_WEIGHT)
            ok = check_weight(&from, model_get_path(m), graph_at(g, i), &p, &done, &room, &room_numbers, e);
    progress_end(&p);
    free(room);
    graph_free(g);
    return ok;
}
