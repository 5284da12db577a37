/* http_json: bodies of JSON, in requests and replies. */
#ifndef SOLO_HTTP_JSON_H
#define SOLO_HTTP_JSON_H

#include "serve/http_server.h"

#include <jansson.h>

/* The request's body, an object, to be released with json_decref; NULL: it is none, or its type is another. Anything but
 * application/json is refused, because a page elsewhere could send other types without being asked who it is. `*status`
 * is what to refuse it with. */
json_t *http_read_json(const http_request *r, unsigned *status, err *e);

void http_reply_json(http_request *r, unsigned status, const str *json);

#endif
