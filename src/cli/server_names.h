/* server_names: whom serve and collect are told to take requests from. */
#ifndef SOLO_CLI_SERVER_NAMES_H
#define SOLO_CLI_SERVER_NAMES_H

#include "base/err.h"
#include "cli/options.h"

/* Could a browser or a proxy send these? One that nobody sends (an empty name, an origin with a path) would let nobody in,
 * without a word. */
bool cli_check_server_names(const text_list *hosts, const text_list *origins, err *e);

#endif
