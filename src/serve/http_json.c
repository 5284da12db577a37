/* http_json: reads bodies of JSON strictly. */
#include "serve/http_json.h"

#include <string.h>
#include <strings.h>

static const char JSON_TYPE[] = "application/json";

/* "application/json; charset=utf-8" is, too. */
static bool is_json_type(const char *type)
{
    size_t length = sizeof JSON_TYPE - 1;
    return type && strncasecmp(type, JSON_TYPE, length) == 0 && strchr("; ", type[length]);
}

json_t *http_read_json(const http_request *r, unsigned *status, err *e)
{
    json_error_t fault;
    size_t bytes;
    const char *body = http_body(r, &bytes);
    *status = 415;
    if (!is_json_type(http_header(r, "Content-Type"))) {
        err_set(e, "the Content-Type is not %s", JSON_TYPE);
        return NULL;
    }
    *status = 400;
    json_t *read = json_loadb(body, bytes, JSON_REJECT_DUPLICATES, &fault);
    if (!read)
        err_set(e, "the body is no JSON: line %d, column %d: %s", fault.line, fault.column, fault.text);
    else if (!json_is_object(read)) {
        err_set(e, "the body is no object of JSON");
        json_decref(read);
        read = NULL;
    }
    return read;
}

void http_reply_json(http_request *r, unsigned status, const str *json)
{
    http_reply(r, status, JSON_TYPE, json->data, json->length);
}
