/* session_file: writes and checks saved sessions. */
#include "llm/session_file.h"

#include <string.h>

enum { HAS_CALLS = 1, HAS_ID = 2, HAS_NAME = 4, MOST_TOKENS = 1 << 24 };

/* ---- writing ----------------------------------------------------------------------- */

static void add_zero_ended(str *out, const char *text)
{
    if (text)
        str_add_bytes(out, text, strlen(text) + 1);
}

void session_file_add_message(str *messages, const chat_message *m, const int32_t *tokens, uint32_t token_count)
{
    char head[2] = {(char)m->role, (char)((m->tool_calls ? HAS_CALLS : 0) | (m->tool_call_id ? HAS_ID : 0) |
                                          (m->name ? HAS_NAME : 0))};
    str_add_bytes(messages, head, sizeof head);
    add_zero_ended(messages, m->content);
    add_zero_ended(messages, m->tool_calls);
    add_zero_ended(messages, m->tool_call_id);
    add_zero_ended(messages, m->name);
    str_add_bytes(messages, (const char *)&token_count, sizeof token_count);
    if (token_count)
        str_add_bytes(messages, (const char *)tokens, token_count * sizeof *tokens);
}

void session_file_begin(str *out, const session_header *h, const uint32_t *tokens, const str *messages)
{
    str_add_bytes(out, (const char *)h, sizeof *h);
    str_add_bytes(out, (const char *)tokens, h->token_count * sizeof *tokens);
    if (messages->length)
        str_add_bytes(out, messages->data, messages->length);
}

void session_file_end(str *out)
{
    uint64_t sum = str_hash(STR_HASH_BEGIN, out->data, out->length);
    str_add_bytes(out, (const char *)&sum, sizeof sum);
}

/* ---- reading ------------------------------------------------------------------------- */

typedef struct reader {
    const char *at, *end;
} reader;

static bool take(reader *r, void *to, size_t bytes)
{
    if ((size_t)(r->end - r->at) < bytes)
        return false;
    memcpy(to, r->at, bytes);
    r->at += bytes;
    return true;
}

static bool take_text(reader *r, const char **text)
{
    const char *zero = memchr(r->at, 0, (size_t)(r->end - r->at));
    *text = r->at;
    r->at = zero ? zero + 1 : r->end;
    return zero != NULL;
}

static bool take_message(reader *r, session_message *out)
{
    char head[2];
    *out = (session_message){0};
    if (!take(r, head, sizeof head) || (unsigned char)head[0] >= CHAT_ROLES ||
        (head[1] & ~(HAS_CALLS | HAS_ID | HAS_NAME)) || !take_text(r, &out->m.content))
        return false;
    out->m.role = (chat_role)head[0];
    if (((head[1] & HAS_CALLS) && !take_text(r, &out->m.tool_calls)) ||
        ((head[1] & HAS_ID) && !take_text(r, &out->m.tool_call_id)) ||
        ((head[1] & HAS_NAME) && !take_text(r, &out->m.name)) || !take(r, &out->token_count, sizeof out->token_count))
        return false;
    out->tokens = r->at;
    if ((size_t)(r->end - r->at) / sizeof(int32_t) < out->token_count)
        return false;
    r->at += out->token_count * sizeof(int32_t);
    return true;
}

static bool messages_are_whole(const session_image *i)
{
    reader r = {i->messages, i->messages + i->h.message_bytes};
    session_message m;
    for (uint32_t k = 0; k < i->h.message_count; k++)
        if (!take_message(&r, &m))
            return false;
    return r.at == r.end;
}

bool session_file_read(const char *path, const char *bytes, size_t length, session_image *out, err *e)
{
    session_header *h = &out->h;
    uint64_t sum;
    if (length < sizeof *h + sizeof sum || memcmp(bytes, SESSION_FILE_MAGIC, sizeof h->magic) != 0)
        return err_set(e, "%s is no saved session", path);
    memcpy(h, bytes, sizeof *h);
    if (h->version != SESSION_FILE_VERSION)
        return err_set(e, "%s has version %u of the format, and this program reads version %d", path, h->version,
                       SESSION_FILE_VERSION);
    memcpy(&sum, bytes + length - sizeof sum, sizeof sum);
    if (sum != str_hash(STR_HASH_BEGIN, bytes, length - sizeof sum))
        return err_set(e, "%s is damaged: it was cut or changed", path);
    uint64_t rest = length - sizeof *h - sizeof sum, token_bytes = (uint64_t)h->token_count * sizeof(uint32_t);
    if (h->kind >= SESSION_KINDS || h->think > CHAT_THINK_OFF || h->token_count > MOST_TOKENS || token_bytes > rest ||
        h->message_bytes > rest - token_bytes || h->state_bytes != rest - token_bytes - h->message_bytes)
        return err_set(e, "%s is no saved session: its lengths are wrong", path);
    out->tokens = bytes + sizeof *h;
    out->messages = out->tokens + token_bytes;
    out->states = out->messages + h->message_bytes;
    return messages_are_whole(out) || err_set(e, "%s is no saved session: a message is not whole", path);
}

session_message session_file_next(const session_image *image, const char **at)
{
    session_message m;
    reader r = {*at, image->states};
    take_message(&r, &m);
    *at = r.at;
    return m;
}
