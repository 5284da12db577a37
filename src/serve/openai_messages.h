/* openai_messages: the messages and tools of a chat request. */
#ifndef SOLO_OPENAI_MESSAGES_H
#define SOLO_OPENAI_MESSAGES_H

#include "serve/openai_fields.h"

/* Readers of fields of an openai_request. */
bool openai_read_messages(void *to, const json_t *value, const field_place *at, openai_fault *f);
bool openai_read_tools(void *to, const json_t *value, const field_place *at, openai_fault *f);
bool openai_read_tool_choice(void *to, const json_t *value, const field_place *at, openai_fault *f);
bool openai_read_parallel_calls(void *to, const json_t *value, const field_place *at, openai_fault *f);

/* What they say together. */
bool openai_check_tools(openai_request *q, openai_fault *f);
/* With TOOLS_REQUIRED: a grammar of nothing but a call, between tags or as an object with "parameters". */
bool openai_force_call(openai_request *q, bool with_tags, openai_fault *f);

#endif
