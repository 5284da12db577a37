/* tool_calls: the tools that an answer calls, found in its text.
 *
 * Models write calls as they were trained to. Two forms are known here: objects of JSON with "name" and "arguments"
 * between <tool_call> and </tool_call> (Hermes, Qwen and many others), and an answer that is such an object, with
 * "parameters" or "arguments" (Llama 3). The tokens by which gpt-oss and Mistral mark calls become the first form
 * (markup.h). Another form stays text.                                                                             */
#ifndef SOLO_TOOL_CALLS_H
#define SOLO_TOOL_CALLS_H

#include "base/str.h"

#include <stdbool.h>

#define TOOL_CALL_TAG "<tool_call>"
#define TOOL_CALL_END "</tool_call>"

/* False: it calls none. `content`: what stands before the calls; `calls`: as chat_message has them. */
bool tool_calls_find(const char *text, str *content, str *calls);

typedef struct tool_call {
    char *id, *name, *arguments; /* arguments: JSON */
} tool_call;

/* The calls of a chat_message; NULL, and 0 of them: there are none, or they are not as chat_message has them. */
tool_call *tool_calls_list(const char *calls, size_t *count);
void tool_calls_free(tool_call *list, size_t count);
/* A line of JSON with the name and the arguments, without its end. */
void tool_call_add(const tool_call *call, str *out);

/* Is this a list of tools as in OpenAI's API: objects with a function that has a name? NULL, or what is wrong with it. */
const char *tool_list_fault(const char *json);
bool tool_list_has(const char *json, const char *name); /* a list without a fault */

#endif
