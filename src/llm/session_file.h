/* session_file: the bytes of a saved session: what they are, and whether they are what they claim.
 *
 *     header | tokens of the cache (u32 each) | messages | keys and values of those tokens, layer by layer | checksum
 *
 * Numbers are little-endian. A message is a byte with its role, a byte with which of its texts there are, these texts,
 * each with a zero behind it, the number of its tokens (u32; without a chat template), and these.
 * Files may come from anywhere: everything is checked before anything is used.                                        */
#ifndef SOLO_SESSION_FILE_H
#define SOLO_SESSION_FILE_H

#include "base/err.h"
#include "base/str.h"
#include "graph/sample.h"
#include "model/chat.h"

#define SESSION_FILE_MAGIC "SOLOSESS"
enum { SESSION_FILE_VERSION = 1 };

typedef enum {
    SESSION_TEXT,  /* a text that was continued */
    SESSION_PLAIN, /* a conversation without turns */
    SESSION_TURNS, /* a conversation */
    SESSION_KINDS
} session_kind;

typedef struct session_header {
    char magic[8];
    uint32_t version, kind;
    uint64_t model; /* which model, with which tokens */
    uint32_t cache; /* the dtype of keys and values */
    uint32_t token_count, message_count;
    uint32_t stream; /* of random numbers */
    sample_settings how;
    uint32_t think;
    uint64_t message_bytes, state_bytes;
} session_header;

/* Points into the bytes that were read. */
typedef struct session_image {
    session_header h;
    const char *tokens, *messages, *states;
} session_image;

typedef struct session_message {
    chat_message m;
    const char *tokens; /* (token_count) u32 each, not aligned */
    uint32_t token_count;
} session_message;

/* `messages` are what session_file_add_message wrote. The states follow, then the end. */
void session_file_begin(str *out, const session_header *h, const uint32_t *tokens, const str *messages);
void session_file_end(str *out);
void session_file_add_message(str *messages, const chat_message *m, const int32_t *tokens, uint32_t token_count);

/* Is this a session, whole and unchanged? */
bool session_file_read(const char *path, const char *bytes, size_t length, session_image *out, err *e);
/* The next message of an image that was read, and so checked; `at` begins at image->messages. */
session_message session_file_next(const session_image *image, const char **at);

#endif
