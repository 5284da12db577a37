/* What the files of the public API's sessions share. */
#ifndef SOLO_API_SESSION_H
#define SOLO_API_SESSION_H

#include "api/internal.h"
#include "llm/session.h"

struct solo_session {
    session *s;
    char *system; /* until there is a conversation */
    uint32_t think_tok;
};

/* Starts the first conversation, with its system message. */
bool api_session_prepare(solo_session *s, err *e);

#endif
