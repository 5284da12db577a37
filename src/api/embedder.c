/* The public API's embeddings. */
#include "llm/embedder.h"
#include "api/model.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)SOLO_NORMALIZE_ON == (int)NORMALIZE_ON && (int)SOLO_NORMALIZE_OFF == (int)NORMALIZE_OFF,
               "the same order");

struct solo_embedder {
    embedder *n;
};

static bool are_known(const solo_embedder_options *o, err *e)
{
    return ((unsigned)o->level <= SOLO_LEVEL_LOOP && (unsigned)o->submit <= SOLO_SUBMIT_BATCH &&
            (unsigned)o->pooling <= SOLO_POOLING_LAST && (unsigned)o->normalize <= SOLO_NORMALIZE_OFF) ||
           err_set_kind(e, ERR_USAGE, "there is no such level, submit policy, pooling or normalizing");
}

solo_embedder *solo_embedder_open(solo_device *d, solo_model *m, const solo_embedder_options *o, solo_error *to)
{
    static const solo_embedder_options none = {0};
    static const model_pooling poolings[] = {POOLING_UNSAID, POOLING_MEAN, POOLING_CLS, POOLING_LAST};
    err e = {0};
    o = o ? o : &none;
    if (!api_is_here(d, to) || !api_is_here(m, to) || !api_result(to, &e, are_known(o, &e)))
        return NULL;
    embedder_options inside = {.level = (fusion_level)o->level,
                               .submit = (submit_policy)o->submit,
                               .pooling = poolings[o->pooling],
                               .normalize = (embedder_normalize)o->normalize,
                               .most_tok = o->context};
    embedder *made = embedder_new(d->g, m->m, m->t, &inside, &e);
    if (!api_result(to, &e, made != NULL))
        return NULL;
    solo_embedder *n = mem_alloc(sizeof *n);
    n->n = made;
    return n;
}

void solo_embedder_close(solo_embedder *n)
{
    if (!n)
        return;
    embedder_free(n->n);
    free(n);
}

uint32_t solo_embedder_width(const solo_embedder *n)
{
    return n ? embedder_width(n->n) : 0;
}

bool solo_embedder_embed(solo_embedder *n, const char *text, float *vector, solo_error *to)
{
    err e = {0};
    return api_is_here(n, to) && api_is_here(text, to) &&
           api_result(to, &e, embedder_embed(n->n, text, strlen(text), vector, &e));
}
