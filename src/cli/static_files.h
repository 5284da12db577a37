/* static_files: a folder over HTTP, for a page that runs on this machine.
 *
 * Plain files below the folder, and nothing else: no listings, no links out of it, no other methods. The headers are those
 * of a cross-origin isolated page, whose clock is fine enough to measure with. libmicrohttpd does the talking; it is loaded
 * when it is needed, so that everything else works without it.                                                         */
#ifndef SOLO_CLI_STATIC_FILES_H
#define SOLO_CLI_STATIC_FILES_H

#include "base/err.h"

#include <stdint.h>

typedef struct static_files static_files;

/* On 127.0.0.1, or on all addresses if `open`; port 0: one that is free. */
static_files *static_files_start(const char *folder, uint16_t port, bool open, err *e);
uint16_t static_files_port(const static_files *s);
void static_files_stop(static_files *s);

#endif
