/* http_library: what is used of libmicrohttpd, loaded when a server starts, so that everything else works without it. */
#ifndef SOLO_HTTP_LIBRARY_H
#define SOLO_HTTP_LIBRARY_H

#include "base/err.h"

#include <microhttpd.h>

typedef struct http_library {
    struct MHD_Daemon *(*start)(unsigned int, uint16_t, MHD_AcceptPolicyCallback, void *, MHD_AccessHandlerCallback,
                                void *, ...);
    MHD_socket (*quiesce)(struct MHD_Daemon *);
    void (*stop)(struct MHD_Daemon *);
    struct MHD_Response *(*from_buffer)(size_t, void *, enum MHD_ResponseMemoryMode);
    struct MHD_Response *(*from_callback)(uint64_t, size_t, MHD_ContentReaderCallback, void *,
                                          MHD_ContentReaderFreeCallback);
    enum MHD_Result (*add_header)(struct MHD_Response *, const char *, const char *);
    enum MHD_Result (*queue)(struct MHD_Connection *, unsigned int, struct MHD_Response *);
    void (*destroy)(struct MHD_Response *);
    const char *(*look_up)(struct MHD_Connection *, enum MHD_ValueKind, const char *);
    int (*list)(struct MHD_Connection *, enum MHD_ValueKind, MHD_KeyValueIterator, void *);
    const union MHD_ConnectionInfo *(*connection_info)(struct MHD_Connection *, enum MHD_ConnectionInfoType, ...);
    enum MHD_Result (*set_option)(struct MHD_Connection *, enum MHD_CONNECTION_OPTION, ...);
} http_library;

bool http_library_load(http_library *l, err *e);

#endif
