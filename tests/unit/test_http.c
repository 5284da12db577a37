/* The HTTP server: whole requests, limits, who may ask, slow clients, streams, clients that go away. */
#include "serve/http_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static http_server *server;
static atomic_int streams_done, noticed_gone, slow_begun, waits_begun;

/* Waits for the count to get there, as long as a busy machine may take. */
static bool reaches(const atomic_int *count, int wanted)
{
    for (int i = 0; i < 6000 && *count < wanted; i++)
        usleep(10000);
    return *count == wanted;
}

/* ---- what the server does ------------------------------------------------------------------- */

static bool stream_more(void *user, str *out)
{
    int *left = user;
    if (*left == 0)
        return false;
    usleep(*left == 3 ? 1500000 : 100000); /* longer than a client may do nothing */
    str_addf(out, "piece %d\n", (*left)--);
    return true;
}

static bool stream_forever(void *user, str *out)
{
    (void)user;
    usleep(20000);
    str_add(out, "again\n");
    return true;
}

static void stream_done(void *user)
{
    free(user);
    streams_done++;
}

static void handle(void *user, http_request *r)
{
    (void)user;
    const char *path = http_path(r);
    if (strcmp(path, "/echo") == 0) {
        size_t bytes;
        const char *body = http_body(r, &bytes), *name = http_query(r, "name");
        str out = {0};
        str_addf(&out, "%s %s %s %s ", http_method(r), name ? name : "-", http_header(r, "X-It"), http_address(r));
        str_add_bytes(&out, body, bytes);
        http_add_header(r, "X-Ours", "1");
        http_reply(r, 200, "text/plain", out.data, out.length);
        str_free(&out);
    } else if (strcmp(path, "/json") == 0) {
        err e = {0};
        unsigned status;
        json_t *read = http_read_json(r, &status, &e);
        http_reply_line(r, read ? 200 : status, read ? "good" : e.text);
        json_decref(read);
    } else if (strcmp(path, "/slow") == 0) {
        slow_begun++;
        usleep(2500000);
        http_reply_line(r, 200, "at last");
    } else if (strcmp(path, "/wait") == 0) {
        waits_begun++;
        for (int i = 0; i < 3000 && !http_is_gone(r); i++)
            usleep(10000);
        noticed_gone += http_is_gone(r);
        http_reply_line(r, 200, "waited");
    } else if (strcmp(path, "/stream") == 0) {
        int *left = mem_alloc(sizeof *left);
        *left = 4;
        http_reply_stream(r, 200, "text/event-stream", &(http_stream){stream_more, stream_done, left});
    } else if (strcmp(path, "/forever") == 0)
        http_reply_stream(r, 200, "text/plain", &(http_stream){stream_forever, stream_done, NULL});
}

/* ---- a client --------------------------------------------------------------------------------- */

static int connect_to(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* All until the end of the connection, or until `end` has come. */
static str hear(int fd, const char *end)
{
    str all = {0};
    char some[4096];
    ssize_t n;
    str_add(&all, "");
    while (!(end && strstr(all.data, end)) && (n = recv(fd, some, sizeof some, 0)) > 0)
        str_add_bytes(&all, some, (size_t)n);
    return all;
}

/* What the server replies to this; `said` in the reply? */
static bool replies(const char *request, const char *wanted)
{
    int fd = connect_to(http_server_port(server));
    say(fd, request);
    str all = hear(fd, NULL);
    bool found = strstr(all.data, wanted) != NULL;
    if (!found)
        print_message("reply: %s\n", all.data);
    str_free(&all);
    close(fd);
    return found;
}

#define TO(first_line) first_line " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"

/* ---- tests ------------------------------------------------------------------------------------ */

static void whole_requests(void **state)
{
    (void)state;
    assert_true(replies(TO("GET /echo?name=a%20b") "X-It: yes\r\n\r\n", "GET a b yes 127.0.0.1 "));
    assert_true(replies(TO("POST /echo") "Content-Length: 5\r\n\r\nhello", "127.0.0.1 hello"));
    assert_true(
        replies(TO("POST /echo") "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", " abcde"));
    assert_true(replies(TO("GET /echo") "\r\n", "X-Ours: 1"));
    assert_true(replies(TO("GET /nothing") "\r\n", "HTTP/1.1 500"));
    /* several on one connection */
    int fd = connect_to(http_server_port(server));
    for (int i = 0; i < 3; i++) {
        say(fd, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nend");
        str all = hear(fd, " end");
        assert_non_null(strstr(all.data, "127.0.0.1 end"));
        str_free(&all);
    }
    close(fd);
}

static void too_large(void **state)
{
    (void)state;
    str chunked = {0};
    assert_true(replies(TO("POST /echo") "Content-Length: 1001\r\n\r\n", "HTTP/1.1 413"));
    str_add(&chunked, TO("POST /echo") "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 11; i++) {
        str_add(&chunked, "64\r\n");
        for (int k = 0; k < 10; k++)
            str_add(&chunked, "0123456789");
        str_add(&chunked, "\r\n");
    }
    str_add(&chunked, "0\r\n\r\n");
    assert_true(replies(chunked.data, "HTTP/1.1 413"));
    str_free(&chunked);
}

/* What a proxy in front may read as another request, or as none. */
static void where_a_body_ends(void **state)
{
    (void)state;
    static const char *const unsure[] = {
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n",
        "Content-Length : 5\r\n\r\nhello",
    };
    for (size_t i = 0; i < sizeof unsure / sizeof *unsure; i++) {
        char request[300];
        /* without Connection: close, for the server has to close it */
        snprintf(request, sizeof request, "POST /echo HTTP/1.1\r\nHost: localhost\r\n%s", unsure[i]);
        assert_true(replies(request, "HTTP/1.1 400"));
    }
    assert_true(replies(TO("GET /echo") "Host: evil.example\r\n\r\n", "more than one Host"));
    assert_true(replies(TO("POST /echo") "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", "Content-Encoding"));
    assert_true(replies(TO("GET /echo%00.png") "\r\n", "HTTP/1.1 500")); /* not /echo */
}

static void who_may_ask(void **state)
{
    (void)state;
    assert_true(replies("GET /echo HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", "HTTP/1.1 403"));
    assert_true(replies("GET /echo HTTP/1.1\r\nHost: localhost.evil\r\nConnection: close\r\n\r\n", "HTTP/1.1 403"));
    assert_true(replies("GET /echo HTTP/1.1\r\nHost: ours.example:80\r\nConnection: close\r\n\r\n", "HTTP/1.1 200"));
    assert_true(replies("GET /echo HTTP/1.1\r\nHost: localhost:\r\nConnection: close\r\n\r\n", "HTTP/1.1 200"));
    assert_true(replies("GET /echo HTTP/1.1\r\nHost: LOCALHOST\r\nConnection: close\r\n\r\n", "HTTP/1.1 200"));
    assert_true(replies("GET /echo HTTP/1.1\r\nHost: localhost:abc\r\nConnection: close\r\n\r\n", "HTTP/1.1 403"));
    assert_true(replies("GET /echo HTTP/1.1\r\nHost: localhost:65536\r\nConnection: close\r\n\r\n", "HTTP/1.1 403"));
    assert_true(replies("GET /echo HTTP/1.1\r\nHost: localhost80\r\nConnection: close\r\n\r\n", "HTTP/1.1 403"));
    assert_true(replies("GET /echo HTTP/1.0\r\n\r\n", " 403 "));
    assert_true(replies(TO("GET /echo") "Origin: http://localhost\r\n\r\n", "HTTP/1.1 200"));
    assert_true(replies(TO("GET /echo") "Origin: https://evil.example\r\n\r\n", "HTTP/1.1 403"));
    assert_true(replies(TO("GET /echo") "Origin: null\r\n\r\n", "HTTP/1.1 403"));
    assert_true(replies(TO("GET /echo") "Origin: https://page.example\r\n\r\n",
                        "Access-Control-Allow-Origin: https://page.example"));
    assert_true(
        replies(TO("OPTIONS /echo") "Origin: https://page.example\r\n\r\n", "Access-Control-Allow-Methods: GET, POST"));
}

static void json_bodies(void **state)
{
    (void)state;
#define JSON TO("POST /json") "Content-Type: application/json; charset=utf-8\r\n"
    assert_true(replies(JSON "Content-Length: 8\r\n\r\n{\"a\": 1}", "good"));
    assert_true(replies(JSON "Content-Length: 8\r\n\r\n{\"a\": 1,", "HTTP/1.1 400"));
    assert_true(replies(JSON "Content-Length: 2\r\n\r\n[]", "no object of JSON"));
    assert_true(replies(JSON "Content-Length: 13\r\n\r\n{\"a\":1,\"a\":2}", "duplicate"));
    assert_true(replies(JSON "Content-Length: 0\r\n\r\n", "HTTP/1.1 400"));
    assert_true(replies(TO("POST /json") "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 415"));
    assert_true(replies(TO("POST /json") "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 415"));
}

static void answers_take_their_time(void **state)
{
    (void)state;
    assert_true(replies(TO("GET /slow") "\r\n", "at last"));
    int before = streams_done;
    assert_true(replies(TO("GET /stream") "\r\n", "piece 1"));
    assert_true(reaches(&streams_done, before + 1));
}

static void slow_clients_are_cut_off(void **state)
{
    (void)state;
    bool cut_off = false;
    int fd = connect_to(http_server_port(server));
    say(fd, "GET /echo HTTP/1.1\r\n");
    char one;
    for (int i = 0; i < 45 && !cut_off; i++) { /* a letter now and then does not help */
        cut_off = send(fd, "X", 1, MSG_NOSIGNAL) != 1 || recv(fd, &one, 1, MSG_DONTWAIT) == 0;
        usleep(100000);
    }
    assert_true(cut_off);
    close(fd);
}

/* Connections that say nothing take no other's place, for as long as they may be silent. */
static void silent_clients_lock_nobody_out(void **state)
{
    (void)state;
    int fds[200];
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        fds[i] = connect_to(http_server_port(server));
    assert_true(replies(TO("GET /echo") "\r\n", "HTTP/1.1 200"));
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
}

static void clients_that_go_away(void **state)
{
    (void)state;
    int before = streams_done, fd = connect_to(http_server_port(server));
    say(fd, TO("GET /forever") "\r\n");
    str some = hear(fd, "again");
    str_free(&some);
    close(fd);
    assert_true(reaches(&streams_done, before + 1));
    fd = connect_to(http_server_port(server));
    say(fd, TO("GET /wait") "\r\n");
    assert_true(reaches(&waits_begun, 1));
    close(fd);
    assert_true(reaches(&noticed_gone, 1));
}

static void the_door_closes(void **state)
{
    (void)state;
    int before = slow_begun, fd = connect_to(http_server_port(server));
    say(fd, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_true(reaches(&slow_begun, before + 1));
    http_server_close_door(server);
    assert_false(http_server_finish(server, 0.1));
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(http_server_port(server)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int late = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_not_equal(connect(late, (struct sockaddr *)&at, sizeof at), 0);
    close(late);
    str all = hear(fd, NULL); /* the connection ends with the answer */
    assert_non_null(strstr(all.data, "at last"));
    str_free(&all);
    close(fd);
    assert_true(http_server_finish(server, 5));
}

static void wrong_addresses(void **state)
{
    (void)state;
    err e = {0};
    assert_null(http_server_start(&(http_options){.host = "no.such.name", .handle = handle}, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    err_clear(&e);
    assert_null(http_server_start(&(http_options){.port = http_server_port(server), .handle = handle}, &e));
    assert_non_null(strstr(e.text, "in use"));
}

int main(void)
{
    static const char *const hosts[] = {"ours.example"}, *const origins[] = {"https://page.example"};
    err e = {0};
    server = http_server_start(&(http_options){.body_bytes = 1000,
                                               .receive_s = 1,
                                               .send_s = 1,
                                               .hosts = hosts,
                                               .host_count = 1,
                                               .origins = origins,
                                               .origin_count = 1,
                                               .handle = handle},
                               &e);
    if (!server) {
        printf("1..1\nok 1 - http # SKIP %s\n", e.text);
        return strstr(e.text, "libmicrohttpd") ? 0 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_addresses),
        cmocka_unit_test(whole_requests),
        cmocka_unit_test(too_large),
        cmocka_unit_test(where_a_body_ends),
        cmocka_unit_test(who_may_ask),
        cmocka_unit_test(json_bodies),
        cmocka_unit_test(answers_take_their_time),
        cmocka_unit_test(slow_clients_are_cut_off),
        cmocka_unit_test(silent_clients_lock_nobody_out),
        cmocka_unit_test(clients_that_go_away),
        cmocka_unit_test(the_door_closes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_server_stop(server);
    return failed;
}
