/* Requests to the servers of Solo, as libmicrohttpd hands them over: the first line has a method and an address, those up
 * to an empty one are headers, the rest is the body. Each is asked where it may come from, for JSON, for a file of the
 * page, and for what a collector shows. Every one gets exactly one reply, whose headers are lines and whose bytes are
 * there. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "http"
#define FUZZ_MUTATIONS 2000
#include "base/file.h"
#include "collect_record.h"
#include "fuzz/require.h"
#include "remove_folder.h"
#include "serve/collect_internal.h"
#include "serve/http_files.h"
#include "serve/http_internal.h"
#include "serve/http_json.h"
#include "temporary.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FIELDS = 32, PAGE_BYTES = 1000 };

/* ---- the library's part ------------------------------------------------------------------- */

typedef struct field {
    const char *name, *value;
} field;

static struct {
    field headers[MOST_FIELDS], queries[MOST_FIELDS];
    uint32_t header_count, query_count, replies;
    unsigned status;
} now;

static const char *look_up(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *name)
{
    (void)c;
    bool of_header = kind == MHD_HEADER_KIND;
    const field *f = of_header ? now.headers : now.queries;
    for (uint32_t i = 0; i < (of_header ? now.header_count : now.query_count); i++)
        if ((of_header ? strcasecmp(f[i].name, name) : strcmp(f[i].name, name)) == 0)
            return f[i].value;
    return NULL;
}

static int list(struct MHD_Connection *c, enum MHD_ValueKind kind, MHD_KeyValueIterator each, void *user)
{
    bool of_header = kind == MHD_HEADER_KIND;
    const field *f = of_header ? now.headers : now.queries;
    int count = (int)(of_header ? now.header_count : now.query_count);
    (void)c;
    for (int i = 0; i < count; i++)
        if (each(user, kind, f[i].name, f[i].value) == MHD_NO)
            return i + 1;
    return count;
}

static struct MHD_Response *from_buffer(size_t count, void *bytes, enum MHD_ResponseMemoryMode mode)
{
    volatile unsigned char sum = 0;
    require(mode == MHD_RESPMEM_MUST_COPY, "a reply that is not copied");
    for (size_t i = 0; i < count; i++)
        sum ^= ((const unsigned char *)bytes)[i];
    return (struct MHD_Response *)&now;
}

/* A stream, which has no size, or a part of the page's file. */
static struct MHD_Response *from_callback(uint64_t size, size_t block, MHD_ContentReaderCallback more, void *user,
                                          MHD_ContentReaderFreeCallback done)
{
    char *room = mem_alloc(block);
    uint64_t at = 0;
    ssize_t got;
    while (at < size && (got = more(user, at, room, size - at < block ? size - at : block)) > 0) {
        for (ssize_t i = 0; i < got && size != MHD_SIZE_UNKNOWN; i++)
            require(strchr("page", room[i]), "another file than the page's");
        at += (uint64_t)got;
    }
    require(size == MHD_SIZE_UNKNOWN || (size > 0 && size <= PAGE_BYTES && at == size),
            "bytes that the file does not have");
    if (done)
        done(user);
    free(room);
    return (struct MHD_Response *)&now;
}

static enum MHD_Result add_header(struct MHD_Response *r, const char *name, const char *value)
{
    (void)r;
    require(name[0] && !strpbrk(name, "\r\n: ") && !strpbrk(value, "\r\n"), "a header that is no line");
    return MHD_YES;
}

static enum MHD_Result queue(struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
    (void)c, (void)r;
    now.replies++;
    now.status = status;
    return MHD_YES;
}

static void destroy(struct MHD_Response *r)
{
    (void)r;
}

static const union MHD_ConnectionInfo *connection_info(struct MHD_Connection *c, enum MHD_ConnectionInfoType type, ...)
{
    (void)c, (void)type;
    return NULL;
}

static enum MHD_Result set_option(struct MHD_Connection *c, enum MHD_CONNECTION_OPTION option, ...)
{
    (void)c, (void)option;
    return MHD_YES;
}

static http_server server = {.lib = {.from_buffer = from_buffer,
                                     .from_callback = from_callback,
                                     .add_header = add_header,
                                     .queue = queue,
                                     .destroy = destroy,
                                     .look_up = look_up,
                                     .list = list,
                                     .connection_info = connection_info,
                                     .set_option = set_option},
                             .mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- what there is ------------------------------------------------------------------------ */

static char folder[TEMPORARY_BYTES], page_folder[PATH_MAX + 8];
static collect_server collector = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static char known_id[COLLECT_ID_BYTES];

static void remove_all(void)
{
    remove_folder(folder);
}

static void make_page(void)
{
    static const char bytes[PAGE_BYTES] = "page";
    char path[PATH_MAX + 32];
    require(temporary_folder(folder, "fuzz-http"), "no folder can be made");
    atexit(remove_all);
    snprintf(page_folder, sizeof page_folder, "%s/page", folder);
    snprintf(path, sizeof path, "%s/page.js", page_folder);
    err e = {0};
    require(mkdir(page_folder, 0700) == 0 && file_write(path, bytes, sizeof bytes, &e), "no page can be written");
    require(realpath(page_folder, path) != NULL, "the page's folder is not there");
    snprintf(page_folder, sizeof page_folder, "%.*s", (int)sizeof page_folder - 1, path);
}

static void make_collector(void)
{
    err e = {0};
    collect_record r;
    bool is_new;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/records.sqlite", folder);
    collector.store = collect_store_open(path, &e);
    json_t *root = record();
    require(collector.store && check_json(root, &r, &e), e.text);
    json_decref(root);
    collect_points points = collect_points_of(&r.view);
    require(collect_store_add(collector.store, &r, &points, &is_new, &e), e.text);
    memcpy(known_id, r.id, sizeof known_id);
    collect_points_free(&points);
    collect_record_free(&r);
}

static void set_up(void)
{
    static const char *const hosts[] = {"solo.example"}, *const origins[] = {"https://pages.example"};
    server.o =
        (http_options){.body_bytes = 1 << 20, .hosts = hosts, .host_count = 1, .origins = origins, .origin_count = 1};
    server.is_local = true;
    make_page();
    make_collector();
}

/* ---- a request ---------------------------------------------------------------------------- */

/* Cuts at the first of these letters; what is behind it, or the end. */
static char *cut(char *text, const char *at)
{
    char *end = text + strcspn(text, at);
    char *behind = *end ? end + 1 : end;
    *end = 0;
    return behind;
}

static void read_queries(char *text)
{
    while (*text && now.query_count < MOST_FIELDS) {
        char *next = cut(text, "&"), *value = cut(text, "=");
        now.queries[now.query_count++] = (field){text, value};
        text = next;
    }
}

static char *read_headers(char *text)
{
    while (*text && *text != '\n' && now.header_count < MOST_FIELDS) {
        char *next = cut(text, "\n"), *value = cut(text, ":");
        now.headers[now.header_count++] = (field){text, value + strspn(value, " ")};
        text = next;
    }
    return *text == '\n' ? text + 1 : text;
}

static void each_in_turn(const http_request *like, int which)
{
    http_request r = *like;
    unsigned status;
    err e = {0};
    json_t *json;
    now.replies = 0;
    switch (which) {
    case 0: http_serve_file(&r, page_folder); break;
    case 1: collect_answer_list(&collector, &r); break;
    case 2: collect_answer_summary(&collector, &r); break;
    case 3: collect_answer_page(&collector, &r); break;
    case 4:
        collect_answer_record(&collector, &r, r.path[0] && collect_is_id(r.path + 1) ? r.path + 1 : known_id);
        break;
    case 5: collect_answer_standing(&collector, &r, known_id); break;
    case 6: (r.path[0] == '/' ? collect_answer_csv : collect_answer_ndjson)(&collector, &r); break;
    default:
        json = http_read_json(&r, &status, &e);
        require((json != NULL) == (e.kind == ERR_NONE), "an error beside JSON, or neither");
        if (json)
            http_reply_line(&r, 200, "ok");
        else
            http_reply_line(&r, status, e.text);
        json_decref(json);
    }
    require(now.replies == 1, "not one reply");
    require(now.status >= 200 && now.status < 500, "a status that says that something went wrong here");
    if (r.stream.done)
        r.stream.done(r.stream.user);
    for (uint32_t i = 0; i < r.header_count; i++) {
        free(r.headers[i][0]);
        free(r.headers[i][1]);
    }
    str_free(&r.unsent);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (!collector.store)
        set_up();
    memset(&now, 0, sizeof now);
    char *text = mem_alloc(length + 1), *behind;
    memcpy(text, bytes, length);
    behind = cut(text, "\n");
    char *path = cut(text, " "), *query = cut(path, "?");
    read_queries(query);
    char *body = read_headers(behind);
    http_request r = {.s = &server, .method = text, .path = path, .queued = MHD_YES};
    str_add(&r.body, body);
    const char *fault = http_origin_fault(&r);
    if (fault)
        require(fault[0] && !strpbrk(fault, "\r\n"), "a refusal that is no line");
    /* of the three that work out intervals, which takes long, one */
    for (int i = 0; i < 8; i++)
        if ((i != 2 && i != 3 && i != 5) || i == (int[]){2, 3, 5}[length % 3])
            each_in_turn(&r, i);
    str_free(&r.body);
    free(text);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
