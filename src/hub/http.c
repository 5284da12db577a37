/* http: requests by libcurl, which is looked for at run time. Redirects are followed here, one request for each, so that
 * what is sent to whom is decided in one place. */
#include "hub/http.h"
#include "base/os.h"

#if defined(__has_include)
#if __has_include(<curl/curl.h>)
#define HAVE_CURL
#endif
#endif

#ifdef HAVE_CURL

#include <curl/curl.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_REDIRECTS = 8, CONNECT_TIMEOUT_S = 20, MOST_HEADERS = 200, MOST_REFUSAL_BYTES = 300 };

/* X(function, its name without curl_) */
#define CURL_FUNCTIONS(X) \
    X(curl_global_init, global_init) \
    X(curl_easy_init, easy_init) \
    X(curl_easy_reset, easy_reset) \
    X(curl_easy_cleanup, easy_cleanup) \
    X(curl_easy_setopt, easy_setopt) \
    X(curl_easy_perform, easy_perform) \
    X(curl_easy_getinfo, easy_getinfo) \
    X(curl_easy_strerror, easy_strerror) \
    X(curl_slist_append, slist_append) \
    X(curl_slist_free_all, slist_free_all) \
    X(curl_url, url) \
    X(curl_url_set, url_set) \
    X(curl_url_get, url_get) \
    X(curl_url_cleanup, url_cleanup) \
    X(curl_free, free)

struct http {
    void *library;
    CURL *easy;
#define FIELD(function, name) __typeof__(function) *name;
    CURL_FUNCTIONS(FIELD)
#undef FIELD
};

/* One request, and what of its reply came so far. */
typedef struct transfer {
    http *h;
    const http_request *q;
    http_reply *r;
    err *e;
    int headers;
    bool has_begun;
    bool has_failed; /* here, not in libcurl */
    str refusal;     /* how the answer to a POST begins that is no success */
} transfer;

/* ---- the library --------------------------------------------------------------------------- */

static void *open_library(void)
{
    /* Debian's second one differs in who does TLS */
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = os_load_library(names[i]);
    return library;
}

http *http_open(err *e)
{
    void *library = open_library();
    if (!library) {
        err_set(e, "libcurl.so.4, which fetches files, is not on this machine (Debian's package is libcurl4)");
        return NULL;
    }
    http *h = mem_alloc(sizeof *h);
    h->library = library;
    bool ok = true;
#define LOAD(function, name) ok = (*(void **)&h->name = dlsym(library, #function)) != NULL && ok;
    CURL_FUNCTIONS(LOAD)
#undef LOAD
    ok = ok && h->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK && (h->easy = h->easy_init()) != NULL;
    if (!ok) {
        err_set(e, "libcurl.so.4 is too old: 7.62 or newer is needed");
        http_close(h);
        return NULL;
    }
    return h;
}

/* The library stays loaded: what it started, such as TLS, cannot be taken back. */
void http_close(http *h)
{
    if (h && h->easy)
        h->easy_cleanup(h->easy);
    free(h);
}

/* ---- addresses ----------------------------------------------------------------------------- */

static bool is_https(const char *url)
{
    return strncasecmp(url, "https://", 8) == 0;
}

static bool is_web(const char *url)
{
    return is_https(url) || strncasecmp(url, "http://", 7) == 0;
}

/* "https://host:443", or NULL. */
static char *origin_of(http *h, const char *url)
{
    char *scheme = NULL, *host = NULL, *port = NULL;
    str origin = {0};
    CURLU *u = h->url();
    if (u && h->url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        h->url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        h->url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        h->url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
        str_addf(&origin, "%s://%s:%s", scheme, host, port);
    h->free(scheme);
    h->free(host);
    h->free(port);
    h->url_cleanup(u);
    return origin.data;
}

static bool same_origin(http *h, const char *a, const char *b)
{
    char *first = origin_of(h, a), *second = origin_of(h, b);
    bool same = first && second && strcasecmp(first, second) == 0;
    free(first);
    free(second);
    return same;
}

/* ---- what comes ---------------------------------------------------------------------------- */

/* The value of a header with this name, without what is around it. */
static bool read_header(const char *line, size_t length, const char *name, char *value, size_t capacity)
{
    size_t n = strlen(name);
    if (length <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
        return false;
    const char *at = line + n + 1, *end = line + length;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
        end--;
    if ((size_t)(end - at) >= capacity || memchr(at, 0, (size_t)(end - at)))
        return false;
    memcpy(value, at, (size_t)(end - at));
    value[end - at] = 0;
    return true;
}

/* Of `Link: <URL>; rel="next"` the address; the entries of several are separated by commas. */
static void read_link(const char *value, str *next)
{
    for (const char *at = strchr(value, '<'); at; at = strchr(at, '<')) {
        const char *end = strchr(at, '>');
        if (!end)
            return;
        size_t about = strcspn(end, ",");
        const char *rel = strstr(end, "rel=\"next\"");
        if (rel && rel < end + about) {
            str_free(next);
            *next = (str){0};
            str_add_bytes(next, at + 1, (size_t)(end - at - 1));
            return;
        }
        at = end;
    }
}

static void reply_reset(http_reply *r)
{
    str_free(&r->next);
    *r = (http_reply){0};
}

static size_t take_header(char *line, size_t size, size_t count, void *user)
{
    transfer *t = user;
    size_t length = size * count;
    char value[4096];
    uint64_t first, last, file;
    if (++t->headers > MOST_HEADERS)
        return 0;
    if (length > 5 && strncmp(line, "HTTP/", 5) == 0) /* 100 Continue may stand before another */
        reply_reset(t->r);
    else if (read_header(line, length, "Content-Length", value, sizeof value))
        t->r->has_length = sscanf(value, "%" SCNu64, &t->r->length) == 1;
    else if (read_header(line, length, "Content-Range", value, sizeof value)) {
        if (sscanf(value, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64, &first, &last, &file) == 3) {
            t->r->has_range = true;
            t->r->range_first = first;
            t->r->range_file = file;
        }
    } else if (read_header(line, length, "Content-Type", value, sizeof value))
        t->r->is_page = strncasecmp(value, "text/html", 9) == 0;
    else if (read_header(line, length, "Link", value, sizeof value))
        read_link(value, &t->r->next);
    return length;
}

static bool is_success(const http_request *q, long status)
{
    return status == 200 || (q->body ? status == 201 : status == 206);
}

static bool begin_once(transfer *t)
{
    if (t->has_begun)
        return true;
    t->has_begun = true;
    t->h->easy_getinfo(t->h->easy, CURLINFO_RESPONSE_CODE, &t->r->status);
    return !is_success(t->q, t->r->status) || !t->q->begin || t->q->begin(t->q->user, t->r, t->e);
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *user)
{
    transfer *t = user;
    if (!begin_once(t)) {
        t->has_failed = true;
        return 0;
    }
    bool is_taken = is_success(t->q, t->r->status);
    if (is_taken && !t->q->write(t->q->user, bytes, size * count, t->e)) {
        t->has_failed = true;
        return 0;
    }
    /* what a refusal says is for browsers, unless something was sent */
    if (!is_taken && t->q->body && t->refusal.length < MOST_REFUSAL_BYTES)
        str_add_bytes(&t->refusal, bytes, size * count);
    return size * count;
}

static int look_around(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    const transfer *t = user;
    return t->q->stop && *t->q->stop;
}

/* ---- a request ----------------------------------------------------------------------------- */

static struct curl_slist *add_line(http *h, struct curl_slist *list, const char *format, const char *value)
{
    str line = {0};
    str_addf(&line, format, value);
    struct curl_slist *longer = h->slist_append(list, line.data);
    str_free(&line);
    return longer ? longer : list;
}

/* One request, without redirects. */
static CURLcode perform(transfer *t, const char *url, bool with_token)
{
    http *h = t->h;
    const http_request *q = t->q;
    struct curl_slist *lines = NULL;
    const char *certificates = getenv("SSL_CERT_FILE");
    char first[32];
    snprintf(first, sizeof first, "%" PRIu64, q->first);
    if (q->first)
        lines = add_line(h, lines, "Range: bytes=%s-", first);
    if (with_token)
        lines = add_line(h, lines, "Authorization: Bearer %s", q->token);
    if (q->body)
        lines = add_line(h, lines, "%s", "Content-Type: application/json");
    h->easy_reset(h->easy);
    if (q->body) {
        h->easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(q->body));
        h->easy_setopt(h->easy, CURLOPT_POSTFIELDS, q->body);
    }
    h->easy_setopt(h->easy, CURLOPT_URL, url);
    h->easy_setopt(h->easy, CURLOPT_USERAGENT, "solo");
    h->easy_setopt(h->easy, CURLOPT_HTTPHEADER, lines);
    h->easy_setopt(h->easy, CURLOPT_FOLLOWLOCATION, 0L);
    h->easy_setopt(h->easy, CURLOPT_SSL_VERIFYPEER, 1L);
    h->easy_setopt(h->easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (certificates && *certificates)
        h->easy_setopt(h->easy, CURLOPT_CAINFO, certificates);
    h->easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
    h->easy_setopt(h->easy, CURLOPT_CONNECTTIMEOUT,
                   (long)(q->timeout_s < CONNECT_TIMEOUT_S ? q->timeout_s : CONNECT_TIMEOUT_S));
    h->easy_setopt(h->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    h->easy_setopt(h->easy, CURLOPT_LOW_SPEED_TIME, (long)q->timeout_s);
    h->easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, take_header);
    h->easy_setopt(h->easy, CURLOPT_HEADERDATA, t);
    h->easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    h->easy_setopt(h->easy, CURLOPT_WRITEDATA, t);
    h->easy_setopt(h->easy, CURLOPT_XFERINFOFUNCTION, look_around);
    h->easy_setopt(h->easy, CURLOPT_XFERINFODATA, t);
    h->easy_setopt(h->easy, CURLOPT_NOPROGRESS, 0L);
    CURLcode code = h->easy_perform(h->easy);
    h->easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &t->r->status);
    h->slist_free_all(lines);
    return code;
}

/* A server chose the address, as a rule: it is shown without what may stand behind a question mark, which are signatures,
 * without a name and a password, and without what a terminal would obey. */
static http_result say(http_result result, err *e, const char *what, const char *url)
{
    char shown[300];
    const char *host = strstr(url, "://");
    int scheme = host ? (int)(host + 3 - url) : 0;
    const char *at_sign = url + scheme + strcspn(url + scheme, "@/?#");
    const char *rest = *at_sign == '@' ? at_sign + 1 : url + scheme;
    snprintf(shown, sizeof shown, "%.*s%.*s", scheme, url, (int)strcspn(rest, "?"), rest);
    for (char *at = shown; *at; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
            *at = '?';
    err_set(e, "%s: %s", shown, what);
    return result;
}

static http_result finish(transfer *t, CURLcode code, const char *url)
{
    char text[400];
    if (t->has_failed)
        return HTTP_ENDED;
    switch (code) {
    case CURLE_OK: break;
    case CURLE_ABORTED_BY_CALLBACK: return say(HTTP_ENDED, t->e, "stopped", url);
    case CURLE_OPERATION_TIMEDOUT: return say(HTTP_BROKEN, t->e, "the server does not answer, or has stopped to", url);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WRITE_ERROR: return say(HTTP_ENDED, t->e, t->h->easy_strerror(code), url);
    default: return say(HTTP_BROKEN, t->e, t->h->easy_strerror(code), url);
    }
    if (!is_success(t->q, t->r->status)) {
        const char *said = t->refusal.data ? t->refusal.data : "";
        int length = (int)strcspn(said, "\r\n");
        snprintf(text, sizeof text, "the server answers with status %ld%s%.*s", t->r->status, length ? ": " : "",
                 length < MOST_REFUSAL_BYTES ? length : MOST_REFUSAL_BYTES, said);
        for (char *at = text; *at; at++)
            if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
                *at = '?';
        return say(HTTP_REFUSED, t->e, text, url);
    }
    return begin_once(t) ? HTTP_DONE : HTTP_ENDED; /* a file without a byte has not begun yet */
}

static bool is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

http_result http_get(http *h, const http_request *q, http_reply *r, err *e)
{
    char *url = mem_dup(q->url);
    http_result result = HTTP_ENDED;
    for (int redirects = 0;; redirects++) {
        transfer t = {.h = h, .q = q, .r = r, .e = e};
        const char *next = NULL;
        reply_reset(r);
        CURLcode code = perform(&t, url, q->token && same_origin(h, url, q->url));
        if (code == CURLE_OK && is_redirect(r->status))
            h->easy_getinfo(h->easy, CURLINFO_REDIRECT_URL, &next);
        if (!next) {
            result = finish(&t, code, url);
            str_free(&t.refusal);
            break;
        }
        str_free(&t.refusal);
        if (q->body)
            result = say(HTTP_ENDED, e, "redirects, and what is sent to one address is sent to no other", url);
        else if (!is_web(next) || (is_https(q->url) && !is_https(next)))
            result = say(HTTP_ENDED, e, "redirects to an address that is refused", url);
        else if (redirects == MOST_REDIRECTS)
            result = say(HTTP_ENDED, e, "redirects too often", url);
        else {
            char *following = mem_dup(next);
            free(url);
            url = following;
            continue;
        }
        break;
    }
    free(url);
    return result;
}

#else /* built without libcurl's header */

http *http_open(err *e)
{
    err_set(e, "this Solo was built without libcurl (Debian's libcurl4-openssl-dev), and cannot fetch files");
    return NULL;
}

void http_close(http *h)
{
    (void)h;
}

http_result http_get(http *h, const http_request *q, http_reply *r, err *e)
{
    (void)h, (void)q, (void)r;
    err_set(e, "this Solo was built without libcurl");
    return HTTP_ENDED;
}

#endif
