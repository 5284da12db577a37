/* session_save: saves a session and goes on with it later: the conversation or text, its keys and values, sampling. */
#include "base/file.h"
#include "base/map.h"
#include "llm/conversation_internal.h"
#include "llm/generation_state.h"
#include "llm/session_file.h"
#include "llm/session_internal.h"
#include "model/decoder.h"

#include <stdlib.h>
#include <string.h>

/* ---- which model ----------------------------------------------------------------------- */

enum { HASHED_BYTES = 1024 }; /* at the beginning and in the middle of each weight: reading all would take seconds */

static bool hash_weight(uint64_t *hash, const decoder_weights *weights, const graph_node *n, err *e)
{
    uint64_t count = shape_count(n->s), columns = n->s.dims[GRAPH_MAX_DIMS - 1], rows = count / columns;
    uint64_t row_bytes = type_bytes(n->as.weight, columns);
    uint64_t whole = rows * row_bytes, bytes = whole < HASHED_BYTES ? whole : HASHED_BYTES;
    for (int part = 0; part < 2; part++) {
        uint64_t first = part ? rows / 2 * row_bytes : 0;
        const char *data =
            decoder_find_weight((void *)weights, n->name, first, whole - first < bytes ? whole - first : bytes, e);
        if (!data)
            return false;
        *hash = str_hash(*hash, data, whole - first < bytes ? whole - first : bytes);
    }
    *hash = str_hash(*hash, n->name, strlen(n->name));
    *hash = str_hash(*hash, (const char *)&n->s, sizeof n->s);
    return true;
}

static void hash_tokens(uint64_t *hash, const tokenizer *t, uint32_t vocab)
{
    str piece = {0};
    for (uint32_t i = 0; i < vocab; i++) {
        piece.length = 0;
        tokenizer_piece(t, (int32_t)i, true, &piece);
        *hash = str_hash(*hash, piece.data ? piece.data : "", piece.length);
    }
    str_free(&piece);
}

/* Merged adapters change weights, and so this. */
static bool hash_model(const session *s, uint64_t *hash, err *e)
{
    uint32_t context = generation_context(s->n);
    decoder_weights weights = {.m = s->m, .context_tok = context};
    graph *g = decoder_graph(s->m, &(decoder_options){.rows = 1, .context_tok = context, .angles_given = true}, e);
    bool ok = g != NULL;
    *hash = STR_HASH_BEGIN;
    for (node i = 1; ok && i <= graph_count(g); i++)
        if (graph_at(g, i)->op == OP_WEIGHT && strcmp(graph_at(g, i)->name, DECODER_ROPE_ANGLES) != 0)
            ok = hash_weight(hash, &weights, graph_at(g, i), e);
    decoder_weights_free(&weights);
    graph_free(g);
    hash_tokens(hash, s->t, model_get_config(s->m)->vocab_tok);
    return ok;
}

static bool find_model_hash(session *s, err *e)
{
    if (!s->model_hash && !hash_model(s, &s->model_hash, e))
        return false;
    return true;
}

/* ---- saving ------------------------------------------------------------------------------- */

static session_kind kind_of(const session *s)
{
    return s->continues ? SESSION_TEXT : s->has_turns ? SESSION_TURNS : SESSION_PLAIN;
}

/* The cache may hold a text that is not the conversation's, or less of it than was fed. */
static uint32_t cached_tokens(const session *s)
{
    uint32_t position = generation_position(s->n);
    if (s->continues)
        return position;
    return s->talk->taken.count == position ? position : 0;
}

bool session_save(session *s, const char *path, err *e)
{
    dtype cache;
    str messages = {0}, out = {0};
    const conversation *c = s->talk;
    if (!session_prepare(s, e) || !find_model_hash(s, e) || !generation_find_cache(s->options.cache, &cache, e))
        return false;
    for (size_t i = 0; i < c->count && !s->continues; i++) {
        chat_message m = conversation_at(c, i);
        session_file_add_message(&messages, &m, c->items[i].tokens.ids, (uint32_t)c->items[i].tokens.count);
    }
    session_header h = {.version = SESSION_FILE_VERSION,
                        .kind = kind_of(s),
                        .model = s->model_hash,
                        .cache = cache,
                        .token_count = cached_tokens(s),
                        .message_count = s->continues ? 0 : (uint32_t)c->count,
                        .stream = s->continues ? generation_stream(s->n) : c->forgotten,
                        .how = s->how,
                        .think = s->think,
                        .message_bytes = messages.length};
    memcpy(h.magic, SESSION_FILE_MAGIC, sizeof h.magic);
    h.state_bytes = h.token_count ? generation_state_bytes(s->n, h.token_count) : 0;
    session_file_begin(&out, &h, generation_text(s->n), &messages);
    bool ok = file_replaceable(path, h.magic, sizeof h.magic, e) && (!h.token_count || generation_save(s->n, &out, e));
    session_file_end(&out);
    ok = ok && file_write(path, out.data, out.length, e);
    str_free(&messages);
    str_free(&out);
    return ok;
}

/* ---- loading ------------------------------------------------------------------------------ */

static bool belongs_here(const session *s, const char *path, const session_image *i, err *e)
{
    static const char *const kinds[SESSION_KINDS] = {"a text of solo run", "a conversation without turns",
                                                     "a conversation with turns"};
    const session_header *h = &i->h;
    dtype cache;
    if (!generation_find_cache(s->options.cache, &cache, e))
        return false;
    if (h->model != s->model_hash)
        return err_set(e, "%s was saved with another model", path);
    if (h->kind != (uint32_t)kind_of(s))
        return err_set(e, "%s is %s, and this is %s", path, kinds[h->kind], kinds[kind_of(s)]);
    if (h->cache != (uint32_t)cache)
        return err_set(e, "%s was saved with another type of cache (--cache-type)", path);
    if (h->token_count > generation_context(s->n))
        return err_set(e, "%s has %u tokens, too many for a context of %u (-c N makes it longer)", path, h->token_count,
                       generation_context(s->n));
    uint64_t wanted = h->token_count ? generation_state_bytes(s->n, h->token_count) : 0;
    for (uint32_t k = 0; k < h->token_count; k++) {
        uint32_t token;
        memcpy(&token, i->tokens + k * sizeof token, sizeof token);
        if (token >= generation_vocab(s->n))
            return err_set(e, "%s has tokens that this model has not", path);
    }
    return h->state_bytes == wanted || err_set(e, "%s is no saved session: its cache has another size", path);
}

static void take_messages(session *s, const session_image *image)
{
    conversation *c = s->talk;
    const char *at = image->messages;
    while (c->count)
        conversation_remove(c, c->count - 1);
    for (uint32_t i = 0; i < image->h.message_count; i++) {
        session_message m = session_file_next(image, &at);
        conversation_add_message(c, &m.m);
        token_list *tokens = &c->items[c->count - 1].tokens;
        tokens->count = 0;
        for (uint32_t k = 0; k < m.token_count; k++) {
            int32_t id;
            memcpy(&id, m.tokens + k * sizeof id, sizeof id);
            token_list_add(tokens, id);
        }
    }
    c->forgotten = image->h.stream;
}

/* A token of a message without turns is fed as it is: it must be one of the vocabulary. */
static bool message_tokens_are_known(const session *s, const char *path, const session_image *image, err *e)
{
    const char *at = image->messages;
    for (uint32_t i = 0; i < image->h.message_count; i++) {
        session_message m = session_file_next(image, &at);
        for (uint32_t k = 0; k < m.token_count; k++) {
            uint32_t id;
            memcpy(&id, m.tokens + k * sizeof id, sizeof id);
            if (id >= generation_vocab(s->n))
                return err_set(e, "%s has tokens that this model has not", path);
        }
    }
    return true;
}

static bool take_image(session *s, const session_image *image, err *e)
{
    uint32_t count = image->h.token_count, *tokens = mem_alloc((count + 1) * sizeof *tokens);
    memcpy(tokens, image->tokens, count * sizeof *tokens);
    conversation_forget_cache(s->talk);
    bool ok = generation_restore(s->n, tokens, count, image->states, e);
    if (ok) {
        session_set_sampling(s, &image->h.how);
        session_set_think(s, (chat_think)image->h.think);
        generation_set_stream(s->n, image->h.stream);
        take_messages(s, image);
        for (uint32_t i = 0; i < count && !s->continues; i++)
            token_list_add(&s->talk->taken, (int32_t)tokens[i]);
    }
    free(tokens);
    return ok;
}

bool session_load(session *s, const char *path, err *e)
{
    map file;
    session_image image;
    if (!session_prepare(s, e) || !find_model_hash(s, e) || !map_open(&file, path, e))
        return false;
    bool ok = session_file_read(path, (const char *)file.bytes, file.length, &image, e) &&
              belongs_here(s, path, &image, e) && message_tokens_are_known(s, path, &image, e) &&
              take_image(s, &image, e);
    map_close(&file);
    return ok;
}

bool session_compact(session *s, const answer_options *o, err *e)
{
    answer_options mine = *o;
    mine.stops = (const char *const *)s->stops;
    mine.stop_count = s->stop_count;
    return conversation_compact(s->talk, &mine, e);
}

void session_continues(session *s)
{
    s->continues = true;
}
