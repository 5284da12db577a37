/* How a server ends: by one signal when what runs is answered, by two at once. */
#include "serve/http_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_S = 60 };
static int tell; /* the server's end of a pipe: its port, then a byte for each request */

static void handle(void *user, http_request *r)
{
    (void)user;
    assert_int_equal(write(tell, "", 1), 1);
    for (int i = 0; i < 100 * ANSWER_S && !http_is_gone(r); i++)
        usleep(10000);
    http_reply_line(r, 200, "at last");
}

static _Noreturn void serve(void)
{
    err e = {0};
    http_block_signals();
    http_server *s = http_server_start(&(http_options){.handle = handle}, &e);
    uint16_t port = s ? http_server_port(s) : 0;
    if (write(tell, &port, sizeof port) != sizeof port || !s)
        _exit(3);
    http_wait_for_signal();
    http_server_close_door(s);
    http_server_finish(s, ANSWER_S);
    _exit(0);
}

typedef struct running {
    pid_t id;
    int from;
    uint16_t port;
} running;

static running start(void)
{
    int ends[2];
    running r = {0};
    assert_int_equal(pipe(ends), 0);
    tell = ends[1];
    r.id = fork();
    if (r.id == 0)
        serve();
    close(ends[1]);
    r.from = ends[0];
    assert_int_equal(read(r.from, &r.port, sizeof r.port), sizeof r.port);
    return r;
}

static int ending_of(running *r)
{
    int status;
    assert_int_equal(waitpid(r->id, &status, 0), r->id);
    close(r->from);
    return status;
}

static void one_signal_ends_it(void **unused)
{
    (void)unused;
    running r = start();
    if (r.port == 0) /* without libmicrohttpd there is no server */
        skip();
    kill(r.id, SIGINT);
    int status = ending_of(&r);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_second_one_ends_what_runs(void **unused)
{
    (void)unused;
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char begun;
    running r = start();
    if (r.port == 0)
        skip();
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(r.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    assert_int_equal(read(r.from, &begun, 1), 1);
    kill(r.id, SIGTERM);
    usleep(300000);
    assert_int_equal(waitpid(r.id, NULL, WNOHANG), 0); /* it still answers */
    kill(r.id, SIGINT);
    int status = ending_of(&r);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_signal_ends_it),
        cmocka_unit_test(a_second_one_ends_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
