/* session_logits: the logits after each token of a text, computed all at once. */
#include "llm/session.h"
#include "llm/session_internal.h"
#include "model/decoder.h"

#include <math.h>

static bool make_run(session *s, uint32_t count, err *e)
{
    decoder_options o = {.rows = count, .context_tok = count, .cache = DTYPE_F32};
    if (s->options.cache && !generation_find_cache(s->options.cache, &o.cache, e))
        return false;
    /* a megakernel makes single tokens; for many rows it has no advantage */
    fusion_level level = s->options.level == LEVEL_AUTO ? LEVEL_OPS : s->options.level;
    graph_run_free(s->logits_run);
    graph_free(s->logits_graph);
    s->logits_run = NULL;
    s->logits_tok = 0;
    s->logits_graph = decoder_graph(s->m, &o, e);
    decoder_weights weights = {.m = s->m, .context_tok = count};
    if (s->logits_graph)
        s->logits_run = graph_run_new(s->g, &(graph_use){.g = s->logits_graph, .level = level}, 1, decoder_find_weight,
                                      &weights, e);
    decoder_weights_free(&weights);
    if (!s->logits_run || !graph_run_possible(s->logits_run, 0, e))
        return false;
    s->logits_tok = count;
    return true;
}

bool session_logits(session *s, const uint32_t *tokens, uint32_t count, float *logits, err *e)
{
    uint32_t vocab = model_get_config(s->m)->vocab_tok;
    if (!count)
        return err_set_kind(e, ERR_USAGE, "no tokens: there is nothing that something could follow");
    for (uint32_t i = 0; i < count; i++)
        if (tokens[i] >= vocab)
            return err_set_kind(e, ERR_USAGE, "%u is no token of this model, which has %u", tokens[i], vocab);
    if (!(s->logits_tok == count || make_run(s, count, e)) || !graph_run_write(s->logits_run, "tokens", tokens, e) ||
        !graph_run_write(s->logits_run, "position", (uint32_t[]){0}, e))
        return false;
    graph_run_once(s->logits_run, 0, s->options.submit);
    if (!graph_run_read(s->logits_run, "logits", logits, e))
        return false;
    for (size_t i = 0; i < (size_t)count * vocab; i++)
        if (isnan(logits[i]) || logits[i] == INFINITY)
            return err_set(e, "the logits after token %zu are not finite: the model's weights may be damaged",
                           i / vocab);
    return true;
}
