/* evolve_file: saves and loads evolutions: a header, the best scores so far, genes and scores of the current
 * generation, a checksum. */
#include "base/file.h"
#include "base/str.h"
#include "sim/evolution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[8] = {'S', 'O', 'L', 'O', 'E', 'V', 'O', '1'};

bool evolve_can_save(const char *path, err *e)
{
    return file_replaceable(path, MAGIC, sizeof MAGIC, e);
}

typedef struct header {
    char magic[8];
    uint64_t setup; /* what simulation, with which options */
    uint32_t population, genes, generation, unused;
} header;

uint64_t evolve_setup(const evolution *v)
{
    const sim *s = v->s;
    char *text = sim_source_text(s->source);
    uint64_t h = str_hash(STR_HASH_BEGIN, text, strlen(text));
    free(text);
    if (s->options.data) {
        const uint32_t shape[] = {s->options.data->rows, s->options.data->columns};
        h = str_hash(h, (const char *)s->options.data->values, (size_t)shape[0] * shape[1] * sizeof(float));
        h = str_hash(h, (const char *)shape, sizeof shape);
    }
    const uint32_t numbers[] = {s->options.population, s->options.steps, s->options.seed, v->options.tournament,
                                v->options.elite};
    const float chances[] = {v->options.crossover, v->options.mutation, v->options.sigma};
    h = str_hash(h, (const char *)numbers, sizeof numbers);
    return str_hash(h, (const char *)chances, sizeof chances);
}

bool evolve_save(evolution *v, const char *path, err *e)
{
    const sim *s = v->s;
    uint32_t n = s->options.population, genes = s->source->genes;
    size_t values = (size_t)n * genes;
    header h = {.setup = evolve_setup(v), .population = n, .genes = genes, .generation = s->params.generation};
    if (!v->has_scores)
        return err_set_kind(e, ERR_USAGE, "nothing has evolved yet");
    if (!evolve_can_save(path, e))
        return false;
    float *all = mem_alloc((values + n) * sizeof *all);
    str out = {0};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    bool ok = evolve_read(v, all, all + values, e);
    if (ok) {
        str_add_bytes(&out, (const char *)&h, sizeof h);
        str_add_bytes(&out, (const char *)v->best, (h.generation + 1) * sizeof *v->best);
        str_add_bytes(&out, (const char *)all, (values + n) * sizeof *all);
        uint64_t sum = str_hash(STR_HASH_BEGIN, out.data, out.length);
        str_add_bytes(&out, (const char *)&sum, sizeof sum);
        ok = file_write(path, out.data, out.length, e);
    }
    free(all);
    str_free(&out);
    return ok;
}

static bool check_file(const evolution *v, const char *path, const char *bytes, size_t length, header *h, err *e)
{
    uint64_t sum;
    const sim *s = v->s;
    if (length < sizeof *h + sizeof sum)
        return err_set(e, "%s is not a saved evolution: too short", path);
    memcpy(h, bytes, sizeof *h);
    if (memcmp(h->magic, MAGIC, sizeof MAGIC) != 0)
        return err_set(e, "%s is not a saved evolution", path);
    memcpy(&sum, bytes + length - sizeof sum, sizeof sum);
    if (sum != str_hash(STR_HASH_BEGIN, bytes, length - sizeof sum))
        return err_set(e, "%s is damaged: its sum is wrong", path);
    if (h->setup != evolve_setup(v) || h->population != s->options.population || h->genes != s->source->genes)
        return err_set(e, "%s was saved by another simulation, with other data, or with other options", path);
    if (h->generation > EVOLVE_MOST_GENERATIONS)
        return err_set(e, "%s has more than %d generations", path, EVOLVE_MOST_GENERATIONS);
    uint64_t wanted = sizeof *h + ((uint64_t)h->generation + 1) * sizeof(double) +
                      ((uint64_t)h->population * h->genes + h->population) * sizeof(float) + sizeof sum;
    return length == wanted || err_set(e, "%s is not as long as it says", path);
}

bool evolve_take(evolution *v, const char *path, const char *bytes, size_t length, err *e)
{
    sim *s = v->s;
    header h;
    if (!check_file(v, path, bytes, length, &h, e))
        return false;
    size_t best_bytes = ((size_t)h.generation + 1) * sizeof *v->best, values = (size_t)h.population * h.genes,
           count = values + h.population;
    float *all = mem_alloc(count * sizeof *all);
    bool ok = true;
    memcpy(all, bytes + sizeof h + best_bytes, count * sizeof *all);
    for (size_t i = 0; ok && i < count; i++)
        if (!isfinite(all[i]))
            ok = err_set(e, "%s has numbers that are not finite", path);
    if (ok) {
        v->best = mem_grow(v->best, best_bytes);
        memcpy(v->best, bytes + sizeof h, best_bytes);
        s->params.generation = h.generation;
        v->has_scores = true;
        evolve_write(v, all, all + values);
    }
    free(all);
    return ok;
}

bool evolve_load(evolution *v, const char *path, err *e)
{
    const sim *s = v->s;
    uint64_t values = (uint64_t)s->options.population * s->source->genes;
    /* a longer file belongs to another simulation; no more than the file's length is read */
    size_t length, limit = sizeof(header) + (size_t)(values + s->options.population) * 4 +
                           ((size_t)EVOLVE_MOST_GENERATIONS + 1) * sizeof *v->best + sizeof(uint64_t);
    char *bytes = file_read(path, limit, &length, e);
    bool ok = bytes && evolve_take(v, path, bytes, length, e);
    free(bytes);
    return ok;
}
