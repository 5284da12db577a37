/* openai_request: the tables of fields of both kinds of request. */
#include "serve/openai_request.h"

#include "base/rng.h"
#include "serve/grammar_schema.h"
#include "serve/openai_fields.h"
#include "serve/openai_messages.h"

#include <ctype.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define READER(name) static bool name(void *to, const json_t *value, const field_place *at, openai_fault *f)
#define REQUEST      ((openai_request *)to)

/* ---- fields of both ------------------------------------------------------------------------- */

READER(read_model)
{
    return field_text(value, &REQUEST->model, at, f);
}

READER(read_user)
{
    return field_text(value, &REQUEST->user, at, f);
}

READER(read_stream)
{
    return field_bool(value, &REQUEST->stream, at, f);
}

READER(read_include_usage)
{
    return field_bool(value, &REQUEST->include_usage, at, f);
}

/* Random text behind each piece against those who look at lengths: only its absence is known. */
READER(read_obfuscation)
{
    bool wanted = false;
    (void)to;
    return field_bool(value, &wanted, at, f) &&
           (!wanted || openai_refuse(f, 400, at->name, "unsupported_value", "%s cannot be true", at->name));
}

READER(read_stream_options)
{
    static const field_reader table[] = {
        {"include_usage", read_include_usage, NULL}, {"include_obfuscation", read_obfuscation, NULL}, {0}};
    return fields_read(value, table, to, at, f);
}

static bool read_float(float *into, const json_t *value, double low, double high, const field_place *at,
                       openai_fault *f)
{
    double read;
    if (!field_number(value, low, high, &read, at, f))
        return false;
    *into = (float)read;
    return true;
}

READER(read_temperature)
{
    return read_float(&REQUEST->how.temperature, value, 0, 2, at, f);
}

/* 0 is the likeliest token alone, as with other servers of this API; to the sampling it would be no filter. */
READER(read_top_p)
{
    if (!read_float(&REQUEST->how.top_p, value, 0, 1, at, f))
        return false;
    if (!(REQUEST->how.top_p >= FLT_MIN))
        REQUEST->how.top_p = FLT_MIN;
    return true;
}

READER(read_min_p)
{
    return read_float(&REQUEST->how.min_p, value, 0, 1, at, f);
}

READER(read_top_k)
{
    return field_whole(value, 0, UINT32_MAX, &REQUEST->how.top_k, at, f);
}

READER(read_repeat_penalty)
{
    float *penalty = &REQUEST->how.repeat_penalty;
    if (!read_float(penalty, value, 0, 10, at, f))
        return false;
    return json_number_value(value) == 0 || *penalty >= 0.01f ||
           openai_refuse(f, 400, at->name, "invalid_value", "%s is from 0.01 to 10, or 0 for none", at->name);
}

READER(read_frequency_penalty)
{
    return read_float(&REQUEST->frequency_penalty, value, -2, 2, at, f);
}

READER(read_presence_penalty)
{
    return read_float(&REQUEST->presence_penalty, value, -2, 2, at, f);
}

/* OpenAI's are 64 bits with a sign, those of `solo run` 32: the others are mixed, so that two hardly mean the same. */
READER(read_seed)
{
    if (!json_is_integer(value))
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is no whole number", at->name);
    uint64_t seed = (uint64_t)json_integer_value(value);
    rng mixed = rng_seed(seed);
    REQUEST->how.seed = seed >> 32 ? (uint32_t)rng_next(&mixed) : (uint32_t)seed;
    REQUEST->has_seed = true;
    return true;
}

READER(read_most)
{
    return field_whole(value, 1, 1 << 24, &REQUEST->most_tok, at, f);
}

READER(read_n)
{
    return field_whole(value, 1, OPENAI_MOST_CHOICES, &REQUEST->n, at, f);
}

READER(read_ignore_eos)
{
    return field_bool(value, &REQUEST->ignores_end, at, f);
}

static bool add_stop(openai_request *q, const json_t *value, const field_place *at, openai_fault *f)
{
    const char *text;
    if (!field_text(value, &text, at, f))
        return false;
    if (!*text)
        return openai_refuse(f, 400, at->name, "invalid_value", "%s is empty", at->name);
    q->stops[q->stop_count++] = text;
    return true;
}

READER(read_stop)
{
    if (!json_is_array(value))
        return add_stop(to, value, at, f);
    if (json_array_size(value) > OPENAI_MOST_STOPS)
        return openai_refuse(f, 400, at->name, "invalid_value", "%s has more than %d texts", at->name,
                             OPENAI_MOST_STOPS);
    for (size_t i = 0; i < json_array_size(value); i++) {
        field_place here = field_item(at, i);
        if (!add_stop(to, json_array_get(value, i), &here, f))
            return false;
    }
    return true;
}

READER(read_bias)
{
    const char *key;
    json_t *one;
    openai_request *q = to;
    if (!json_is_object(value))
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is no object", at->name);
    if (json_object_size(value) > OPENAI_MOST_BIAS)
        return openai_refuse(f, 400, at->name, "invalid_value", "%s has more than %d tokens", at->name,
                             OPENAI_MOST_BIAS);
    json_object_foreach((json_t *)value, key, one)
    {
        field_place here = field_member(at, key);
        char *end;
        unsigned long token = strtoul(key, &end, 10);
        double bias;
        if (*end || !isdigit((unsigned char)key[0]) || (key[0] == '0' && key[1]) || token >= UINT32_MAX)
            return openai_refuse(f, 400, here.name, "invalid_value", "%s: its name is no token", here.name);
        if (!field_number(one, -100, 100, &bias, &here, f))
            return false;
        q->bias[q->bias_count++] = (token_bias){(uint32_t)token, (float)bias};
    }
    return true;
}

static bool set_grammar(openai_request *q, str *gbnf, const field_place *at, openai_fault *f)
{
    if (q->gbnf) {
        str_free(gbnf);
        return openai_refuse(f, 400, at->name, "invalid_value", "grammar and response_format cannot both be given");
    }
    str_add(gbnf, "");
    q->gbnf = gbnf->data;
    q->gbnf_field = json_object_get(q->body, "grammar") ? "grammar" : "response_format";
    return true;
}

READER(read_grammar)
{
    const char *text;
    str gbnf = {0};
    if (!field_text(value, &text, at, f))
        return false;
    str_add(&gbnf, text);
    return set_grammar(to, &gbnf, at, f);
}

/* {"name": ..., "schema": {...}, "strict": ...}: the schema is kept to, strict or not. */
static bool read_schema(openai_request *q, const json_t *format, const field_place *at, openai_fault *f)
{
    field_place here = field_member(at, "json_schema");
    const json_t *described = json_object_get(format, "json_schema"), *schema = json_object_get(described, "schema");
    static const char *const known[] = {"name", "description", "schema", "strict"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        count += json_object_get(described, known[i]) != NULL;
    if (!schema || count != json_object_size(described))
        return openai_refuse(f, 400, here.name, "invalid_value",
                             "%s needs a schema, and takes name, description, strict", here.name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const json_t *value = json_object_get(described, known[i]);
        field_place place = field_member(&here, known[i]);
        const char *text;
        bool yes;
        if (value && schema != value &&
            !(strcmp(known[i], "strict") == 0 ? json_is_null(value) || field_bool(value, &yes, &place, f)
                                              : field_text(value, &text, &place, f)))
            return false;
    }
    err e = {0};
    str gbnf = {0};
    here = field_member(&here, "schema");
    if (grammar_of_schema(schema, &gbnf, &e))
        return set_grammar(q, &gbnf, at, f);
    str_free(&gbnf);
    return openai_refuse(f, 400, here.name, "unsupported_value", "%s: %s", here.name, e.text);
}

READER(read_response_format)
{
    const char *type = json_string_value(json_object_get(value, "type"));
    bool has_schema = type && strcmp(type, "json_schema") == 0;
    str gbnf = {0};
    if (!type || json_object_size(value) != (has_schema ? 2 : 1))
        return openai_refuse(f, 400, at->name, "invalid_value", "%s has no type, or something beside it", at->name);
    if (strcmp(type, "text") == 0)
        return true;
    if (has_schema)
        return read_schema(to, value, at, f);
    if (strcmp(type, "json_object") != 0)
        return openai_refuse(f, 400, at->name, "invalid_value",
                             "%s: its type is none of text, json_object, json_schema", at->name);
    grammar_of_any_object(&gbnf);
    return set_grammar(to, &gbnf, at, f);
}

/* Only what they are anyway. */
READER(read_store)
{
    bool stores;
    (void)to;
    return field_bool(value, &stores, at, f) &&
           (!stores || openai_refuse(f, 400, at->name, "unsupported_value", "%s: nothing is stored here", at->name));
}

READER(read_service_tier)
{
    const char *tier;
    (void)to;
    return field_text(value, &tier, at, f) &&
           (strcmp(tier, "auto") == 0 || strcmp(tier, "default") == 0 ||
            openai_refuse(f, 400, at->name, "unsupported_value", "%s: there is only \"default\"", at->name));
}

#define OF_BOTH \
    {"model", read_model, NULL}, {"user", read_user, NULL}, {"stream", read_stream, NULL}, \
        {"stream_options", read_stream_options, NULL}, {"temperature", read_temperature, NULL}, \
        {"top_p", read_top_p, NULL}, {"min_p", read_min_p, NULL}, {"top_k", read_top_k, NULL}, \
        {"repeat_penalty", read_repeat_penalty, NULL}, {"frequency_penalty", read_frequency_penalty, NULL}, \
        {"presence_penalty", read_presence_penalty, NULL}, {"seed", read_seed, NULL}, {"max_tokens", read_most, NULL}, \
        {"n", read_n, NULL}, {"stop", read_stop, NULL}, {"logit_bias", read_bias, NULL}, \
        {"grammar", read_grammar, NULL}, {"response_format", read_response_format, NULL}, \
    { \
        "ignore_eos", read_ignore_eos, NULL \
    }

/* ---- fields of a chat -------------------------------------------------------------------------- */

READER(read_wants_logprobs)
{
    return field_bool(value, &REQUEST->wants_logprobs, at, f);
}

READER(read_top_logprobs)
{
    return field_whole(value, 0, ENGINE_MOST_TOP, &REQUEST->top_logprobs, at, f);
}

READER(read_enable_thinking)
{
    bool thinks;
    if (!field_bool(value, &thinks, at, f))
        return false;
    REQUEST->think = thinks ? CHAT_THINK_ON : CHAT_THINK_OFF;
    return true;
}

READER(read_template_options)
{
    static const field_reader table[] = {{"enable_thinking", read_enable_thinking, NULL}, {0}};
    return fields_read(value, table, to, at, f);
}

READER(read_effort)
{
    const char *effort;
    if (!field_text(value, &effort, at, f))
        return false;
    if (strcmp(effort, "none") != 0)
        return openai_refuse(f, 400, at->name, "unsupported_value",
                             "%s: only \"none\" is supported, which does without thoughts", at->name);
    REQUEST->think = CHAT_THINK_OFF;
    return true;
}

READER(read_modalities)
{
    (void)to;
    const char *first = json_string_value(json_array_get(value, 0));
    return (json_array_size(value) == 1 && first && strcmp(first, "text") == 0) ||
           openai_refuse(f, 400, at->name, "unsupported_value", "%s: there is only [\"text\"]", at->name);
}

static const field_reader CHAT_FIELDS[] = {OF_BOTH,
                                           {"messages", openai_read_messages, NULL},
                                           {"max_completion_tokens", read_most, NULL},
                                           {"logprobs", read_wants_logprobs, NULL},
                                           {"top_logprobs", read_top_logprobs, NULL},
                                           {"tools", openai_read_tools, NULL},
                                           {"tool_choice", openai_read_tool_choice, NULL},
                                           {"parallel_tool_calls", openai_read_parallel_calls, NULL},
                                           {"chat_template_kwargs", read_template_options, NULL},
                                           {"reasoning_effort", read_effort, NULL},
                                           {"modalities", read_modalities, NULL},
                                           {"store", read_store, NULL},
                                           {"service_tier", read_service_tier, NULL},
                                           {"functions", NULL, "tools replace it"},
                                           {"function_call", NULL, "tool_choice replaces it"},
                                           {0}};

/* ---- fields of a completion ---------------------------------------------------------------------- */

READER(read_count_of_logprobs)
{
    REQUEST->wants_logprobs = true;
    return field_whole(value, 0, 5, &REQUEST->top_logprobs, at, f);
}

READER(read_echo)
{
    return field_bool(value, &REQUEST->echo, at, f);
}

READER(read_best_of)
{
    uint32_t best;
    (void)to;
    return field_whole(value, 1, OPENAI_MOST_CHOICES, &best, at, f) &&
           (best == 1 || openai_refuse(f, 400, at->name, "unsupported_value", "%s can only be 1", at->name));
}

/* A text, a list of tokens, or a list of either. */
READER(read_prompt)
{
    openai_request *q = to;
    if (json_is_string(value) || field_is_tokens(value)) {
        q->prompts[q->prompt_count++] = value;
        return true;
    }
    if (!json_is_array(value) || json_array_size(value) == 0)
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is neither a text nor a list of tokens", at->name);
    if (json_array_size(value) > OPENAI_MOST_PROMPTS)
        return openai_refuse(f, 400, at->name, "invalid_value", "%s has more than %d texts", at->name,
                             OPENAI_MOST_PROMPTS);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *one = json_array_get(value, i);
        field_place here = field_item(at, i);
        if (!json_is_string(one) && !field_is_tokens(one))
            return openai_refuse(f, 400, here.name, "invalid_type", "%s is neither a text nor a list of tokens",
                                 here.name);
        q->prompts[q->prompt_count++] = one;
    }
    return true;
}

static const field_reader COMPLETION_FIELDS[] = {OF_BOTH,
                                                 {"prompt", read_prompt, NULL},
                                                 {"logprobs", read_count_of_logprobs, NULL},
                                                 {"echo", read_echo, NULL},
                                                 {"best_of", read_best_of, NULL},
                                                 {"suffix", NULL, "texts are only continued"},
                                                 {0}};

/* ---- all of it ------------------------------------------------------------------------------------ */

/* What no field can say by itself. */
static bool check(openai_request *q, uint32_t vocab, openai_fault *f)
{
    static const char both[] = "max_completion_tokens";
    if (q->is_chat && !q->message_count)
        return openai_refuse(f, 400, "messages", "missing_required_parameter", "there are no messages");
    if (!q->is_chat && !q->prompt_count)
        return openai_refuse(f, 400, "prompt", "missing_required_parameter", "there is no prompt");
    if (q->is_chat && q->top_logprobs && !q->wants_logprobs)
        return openai_refuse(f, 400, "top_logprobs", "invalid_value", "top_logprobs needs logprobs to be true");
    if (json_object_get(q->body, "stream_options") && !json_is_null(json_object_get(q->body, "stream_options")) &&
        !q->stream)
        return openai_refuse(f, 400, "stream_options", "invalid_value", "stream_options needs stream to be true");
    if (json_is_integer(json_object_get(q->body, both)) && json_is_integer(json_object_get(q->body, "max_tokens")))
        return openai_refuse(f, 400, both, "invalid_value", "max_tokens and %s are the same: only one is taken", both);
    if (q->gbnf && q->tools && q->tool_choice != TOOLS_NONE)
        return openai_refuse(f, 400, q->gbnf_field, "unsupported_parameter",
                             "%s would let no tool be called: not with tools, unless tool_choice is \"none\"",
                             q->gbnf_field);
    if (q->echo && q->wants_logprobs)
        return openai_refuse(f, 400, "logprobs", "unsupported_parameter",
                             "logprobs are those of new tokens: not with echo");
    if (!q->is_chat && q->n * q->prompt_count > OPENAI_MOST_PROMPTS)
        return openai_refuse(f, 400, "n", "invalid_value", "n for each prompt makes more than %d texts",
                             OPENAI_MOST_PROMPTS);
    for (size_t i = 0; i < q->bias_count; i++)
        if (q->bias[i].token >= vocab)
            return openai_refuse(f, 400, "logit_bias", "invalid_value", "logit_bias: %u is no token of this model",
                                 q->bias[i].token);
    return openai_check_tools(q, f);
}

bool openai_read(openai_request *q, json_t *body, bool is_chat, uint32_t vocab, openai_fault *f)
{
    field_place top = {""};
    *q = (openai_request){.is_chat = is_chat, .n = 1, .how = {.temperature = 1}, .body = body};
    return fields_read(body, is_chat ? CHAT_FIELDS : COMPLETION_FIELDS, q, &top, f) && check(q, vocab, f);
}

void openai_request_free(openai_request *q)
{
    for (size_t i = 0; i < q->owned_count; i++)
        free(q->owned[i]);
    free(q->owned);
    free(q->messages);
    free(q->tools);
    free(q->gbnf);
    json_decref(q->body);
}
