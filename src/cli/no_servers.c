/* no_servers: what the commands serve, web and collect call, on systems where Solo has no server: one line that says so. */
#include "cli/collect_import.h"
#include "serve/collect_server.h"
#include "serve/http_files.h"
#include "serve/server.h"

static bool refuse(err *e)
{
    return err_set(e, "there is no server in the program for this system: it has no libmicrohttpd; "
                      "solo run, chat, embed and bench work without one");
}

void http_block_signals(void)
{
}

int http_wait_for_signal(void)
{
    return 0;
}

void http_serve_file(http_request *r, const char *folder)
{
    (void)r, (void)folder;
}

http_server *http_server_start(const http_options *o, err *e)
{
    (void)o;
    refuse(e);
    return NULL;
}

uint16_t http_server_port(const http_server *s)
{
    (void)s;
    return 0;
}

void http_server_stop(http_server *s)
{
    (void)s;
}

server *server_start(const server_options *o, err *e)
{
    (void)o;
    refuse(e);
    return NULL;
}

uint16_t server_port(const server *s)
{
    (void)s;
    return 0;
}

bool server_stop(server *s)
{
    (void)s;
    return true;
}

collect_server *collect_server_start(collect_store *store, const collect_options *o, err *e)
{
    (void)store, (void)o;
    refuse(e);
    return NULL;
}

uint16_t collect_server_port(const collect_server *s)
{
    (void)s;
    return 0;
}

void collect_server_stop(collect_server *s)
{
    (void)s;
}

collect_store *collect_store_open(const char *where, err *e)
{
    (void)where;
    refuse(e);
    return NULL;
}

void collect_store_close(collect_store *s)
{
    (void)s;
}

bool collect_import(collect_store *s, const char *const *paths, size_t count, err *e)
{
    (void)s, (void)paths, (void)count;
    return refuse(e);
}
