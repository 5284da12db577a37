/* http_library: finds libmicrohttpd and its functions. */
#include "serve/http_library.h"
#include "base/os.h"

#include <dlfcn.h>

bool http_library_load(http_library *l, err *e)
{
    void *h = os_load_library("libmicrohttpd.so.12");
    h = h ? h : os_load_library("libmicrohttpd.so");
    if (!h)
        return err_set(e, "serving needs libmicrohttpd (Debian: apt-get install libmicrohttpd12)");
    struct {
        void **to;
        const char *name;
    } wanted[] = {
        {(void **)&l->start, "MHD_start_daemon"},
        {(void **)&l->quiesce, "MHD_quiesce_daemon"},
        {(void **)&l->stop, "MHD_stop_daemon"},
        {(void **)&l->from_buffer, "MHD_create_response_from_buffer"},
        {(void **)&l->from_callback, "MHD_create_response_from_callback"},
        {(void **)&l->add_header, "MHD_add_response_header"},
        {(void **)&l->queue, "MHD_queue_response"},
        {(void **)&l->destroy, "MHD_destroy_response"},
        {(void **)&l->look_up, "MHD_lookup_connection_value"},
        {(void **)&l->list, "MHD_get_connection_values"},
        {(void **)&l->connection_info, "MHD_get_connection_info"},
        {(void **)&l->set_option, "MHD_set_connection_option"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!(*wanted[i].to = dlsym(h, wanted[i].name)))
            return err_set(e, "libmicrohttpd has no %s: a newer one is needed", wanted[i].name);
    return true;
}
