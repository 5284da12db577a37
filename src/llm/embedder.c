/* embedder: programs for texts of several lengths over the same weights; pooling and normalizing. */
#include "llm/embedder.h"
#include "base/str.h"
#include "graph/run.h"
#include "model/decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 16, MAX_PROGRAMS = 12, TIMES_LONGER = 4 };

struct embedder {
    gpu *g;
    const model *m;
    const tokenizer *t;
    graph_run *run;
    submit_policy submit;
    fusion_level level;
    model_pooling pooling;
    bool normalized;
    uint32_t width;
    uint32_t program_count;
    uint32_t rows[MAX_PROGRAMS]; /* rising */
    graph *graphs[MAX_PROGRAMS];
    graph_place tokens, position, last, shares, result;
};

/* ---- before there is a device ------------------------------------------------------------------ */

static uint32_t most_tok(const model_config *c)
{
    uint32_t most = c->embedding.most_tok;
    return most && most < c->context_tok ? most : c->context_tok;
}

bool embedder_pooling(const model *m, const embedder_options *o, model_pooling *pooling, err *e)
{
    const model_embedding *said = &model_get_config(m)->embedding;
    if (said->why_not[0])
        return err_set(e, "%s: %s", model_get_path(m), said->why_not);
    *pooling = o->pooling != POOLING_UNSAID ? o->pooling : said->pooling;
    return *pooling != POOLING_UNSAID ||
           err_set(e, "%s: its files do not say how a text's vectors are pooled (--pooling does)", model_get_path(m));
}

bool embedder_tokens(const model *m, const tokenizer *t, const char *text, size_t bytes, token_list *out, err *e)
{
    uint32_t most = most_tok(model_get_config(m));
    if (!tokenizer_encode(t, text, bytes, true, tokenizer_adds_bos(t), out, e))
        return false;
    if (tokenizer_adds_eos(t) && tokenizer_ending(t) >= 0)
        token_list_add(out, tokenizer_ending(t));
    if (out->count == 0)
        return err_set(e, "a text is empty, and this model begins no text by itself");
    return out->count <= most ||
           err_set(e, "a text has %zu tokens, and %s takes %u", out->count, model_get_path(m), most);
}

/* ---- making ----------------------------------------------------------------------------------------- */

/* A megakernel is made for one number of rows, since it takes long to compile. */
static void choose_rows(embedder *n, uint32_t most)
{
    for (uint32_t rows = LEAST_ROWS; n->level < LEVEL_TOKEN && rows < most && n->program_count + 1 < MAX_PROGRAMS;
         rows *= TIMES_LONGER)
        n->rows[n->program_count++] = rows;
    n->rows[n->program_count++] = most;
}

static bool make_run(embedder *n, err *e)
{
    graph_use uses[MAX_PROGRAMS];
    uint32_t longest = n->rows[n->program_count - 1];
    for (uint32_t i = 0; i < n->program_count; i++) {
        decoder_options d = {.rows = n->rows[i], .context_tok = longest, .whole = true};
        n->graphs[i] = decoder_graph(n->m, &d, e);
        if (!n->graphs[i])
            return false;
        uses[i] = (graph_use){.g = n->graphs[i], .level = n->level, .later = n->level < LEVEL_TOKEN};
    }
    decoder_weights weights = {.m = n->m, .context_tok = longest};
    n->run = graph_run_new(n->g, uses, n->program_count, decoder_find_weight, &weights, e);
    decoder_weights_free(&weights);
    return n->run && graph_run_possible(n->run, 0, e);
}

embedder *embedder_new(gpu *g, const model *m, const tokenizer *t, const embedder_options *o, err *e)
{
    const model_config *c = model_get_config(m);
    uint32_t takes = most_tok(c), most = takes < EMBEDDER_DEFAULT_TOK ? takes : EMBEDDER_DEFAULT_TOK;
    embedder *n = mem_alloc(sizeof *n);
    *n = (embedder){.g = g, .m = m, .t = t, .submit = o->submit};
    n->level = o->level == LEVEL_AUTO ? LEVEL_OPS : o->level == LEVEL_LOOP ? LEVEL_TOKEN : o->level;
    choose_rows(n, !o->most_tok ? most : o->most_tok < takes ? o->most_tok : takes);
    if (!embedder_pooling(m, o, &n->pooling, e) || !make_run(n, e)) {
        embedder_free(n);
        return NULL;
    }
    bool one_by_one = n->pooling == POOLING_NONE;
    n->normalized = o->normalize == NORMALIZE_AS_SAID ? !c->embedding.raw && !one_by_one : o->normalize == NORMALIZE_ON;
    n->width = one_by_one ? c->embedding_dim : decoder_embedding_dim(c);
    n->tokens = graph_run_place(n->run, "tokens");
    n->position = graph_run_place(n->run, "position");
    n->last = graph_run_place(n->run, "last");
    n->shares = graph_run_place(n->run, "pooling");
    n->result = graph_run_place(n->run, one_by_one ? "rows" : "embedding");
    return n;
}

void embedder_free(embedder *n)
{
    if (!n)
        return;
    graph_run_free(n->run);
    for (uint32_t i = 0; i < n->program_count; i++)
        graph_free(n->graphs[i]);
    free(n);
}

/* ---- asking --------------------------------------------------------------------------------------- */

uint32_t embedder_most_tok(const embedder *n)
{
    return n->rows[n->program_count - 1];
}

uint32_t embedder_width(const embedder *n)
{
    return n->width;
}

uint32_t embedder_count(const embedder *n, uint32_t tokens)
{
    return n->pooling == POOLING_NONE ? tokens : 1;
}

fusion_level embedder_level(const embedder *n)
{
    return n->level;
}

uint32_t embedder_dispatches(const embedder *n)
{
    return graph_run_dispatches(n->run, n->program_count - 1);
}

/* ---- embedding ------------------------------------------------------------------------------------- */

static void put_text(embedder *n, const uint32_t *tokens, uint32_t count, uint32_t rows)
{
    const model_config *c = model_get_config(n->m);
    uint32_t *padded = mem_alloc(rows * sizeof *padded), last = count - 1, first = decoder_first_position(c);
    float *shares = mem_alloc(rows * sizeof *shares);
    memcpy(padded, tokens, count * sizeof *tokens);
    for (uint32_t i = 0; i < count; i++)
        shares[i] = n->pooling == POOLING_MEAN ? 1 / (float)count : 0;
    if (n->pooling != POOLING_MEAN)
        shares[n->pooling == POOLING_LAST ? last : 0] = 1;
    graph_run_put(n->run, n->tokens, padded, rows);
    graph_run_put(n->run, n->shares, shares, rows);
    graph_run_put(n->run, n->last, &last, 1);
    graph_run_put(n->run, n->position, &first, 1);
    free(padded);
    free(shares);
}

/* To length 1; a vector of zeros stays. */
static void normalize(float *vector, uint32_t width)
{
    double squares = 0;
    for (uint32_t i = 0; i < width; i++)
        squares += (double)vector[i] * vector[i];
    double scale = squares > 0 ? 1 / sqrt(squares) : 0;
    for (uint32_t i = 0; i < width; i++)
        vector[i] = (float)(vector[i] * scale);
}

bool embedder_run(embedder *n, const uint32_t *tokens, uint32_t count, float *vectors, err *e)
{
    uint32_t program = 0, vocab = model_get_config(n->m)->vocab_tok, vectors_count = embedder_count(n, count);
    while (program + 1 < n->program_count && n->rows[program] < count)
        program++;
    if (!count || count > n->rows[program])
        return err_set(e, "a text of %u tokens: 1 to %u can be embedded here", count, n->rows[program]);
    for (uint32_t i = 0; i < count; i++)
        if (tokens[i] >= vocab)
            return err_set_kind(e, ERR_USAGE, "%u is no token of this model, which has %u", tokens[i], vocab);
    put_text(n, tokens, count, n->rows[program]);
    graph_run_once(n->run, program, n->submit);
    if (!graph_run_get(n->run, n->result, 0, (uint64_t)vectors_count * n->width, vectors, e))
        return false;
    bool timed_out = false;
    megakernel *one = graph_run_megakernel(n->run, program);
    if (one && !megakernel_timed_out(one, &timed_out, e))
        return false;
    if (timed_out)
        return err_set(e,
                       "one dispatch timed out: its workgroups waited too long for each other (--fuse ops does not)");
    for (size_t i = 0; i < (size_t)vectors_count * n->width; i++)
        if (!isfinite(vectors[i]))
            return err_set(e, "the model's vector is not finite: its weights may be damaged (--check-tensors)");
    for (uint32_t i = 0; n->normalized && i < vectors_count; i++)
        normalize(vectors + (size_t)i * n->width, n->width);
    return true;
}

bool embedder_embed(embedder *n, const char *text, size_t bytes, float *vector, err *e)
{
    token_list list = {0};
    bool ok = n->pooling != POOLING_NONE || err_set(e, "without pooling, a text has as many vectors as tokens");
    ok = ok && embedder_tokens(n->m, n->t, text, bytes, &list, e) &&
         embedder_run(n, (const uint32_t *)list.ids, (uint32_t)list.count, vector, e);
    token_list_free(&list);
    return ok;
}
