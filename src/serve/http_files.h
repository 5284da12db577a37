/* http_files: the plain files of one folder over HTTP, and nothing else: no listings, no links out of it. The headers are
 * those of a cross-origin isolated page, whose clock is fine enough to measure with.                                  */
#ifndef SOLO_HTTP_FILES_H
#define SOLO_HTTP_FILES_H

#include "serve/http_server.h"

/* Replies to GET and HEAD of a file, to all else with 404 or 405. `folder`: as realpath has it. */
void http_serve_file(http_request *r, const char *folder);

#endif
