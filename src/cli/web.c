/* solo web: the page, served on this machine. */
#include "base/file.h"
#include "cli/cli.h"
#include "cli/serve.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char HELP[] =
    "usage: solo web [--port N] [--dir FOLDER] [--open]\n\n"
    "Serves the page (chat and measurements in a browser) on this machine until it is interrupted, with the headers\n"
    "that give a page a fine clock. `make web` builds it.\n\n"
    "  --port N      the port (default 8080; 0: one that is free)\n"
    "  --dir FOLDER  where the page is (default: web beside this program, or ../share/solo/web)\n"
    "  --open        for other machines, too, not only this one; browsers have WebGPU there only by https\n";

typedef struct options {
    long port;
    const char *folder;
    bool open, help;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--open") == 0)
            o->open = true;
        else if (strcmp(word, "--port") == 0) {
            if (!cli_number(a, word, 0, 65535, &o->port))
                return false;
        } else if (strcmp(word, "--dir") == 0) {
            if (!(o->folder = cli_value(a, word)))
                return false;
        } else
            return cli_unknown(a, word);
    }
    return true;
}

/* Where the page is, seen from this program. */
static bool find_page(str *folder, err *e)
{
    static const char *const places[] = {"web", "../share/solo/web"};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (int i = 0; slash && i < 2; i++) {
        str page = {0};
        folder->length = 0;
        str_addf(folder, "%s/%s", self, places[i]);
        str_addf(&page, "%s/index.html", folder->data);
        bool here = file_exists(page.data);
        str_free(&page);
        if (here)
            return true;
    }
    return err_set(e, "the page is not here: build it (make web), or say where it is (--dir)");
}

static bool serve(const options *o, const char *folder, err *e)
{
    sigset_t ends;
    int which;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are made: they inherit it */
    server *s = serve_start(folder, (uint16_t)o->port, o->open, e);
    if (!s)
        return false;
    printf("http://localhost:%u/\n", serve_port(s));
    fflush(stdout);
    sigwait(&ends, &which);
    serve_stop(s);
    return true;
}

int cmd_web(int argc, char **argv)
{
    err e = {0};
    options o = {.port = 8080};
    if (!parse(&o, &(cli_args){argc, 1, argv, &e}))
        return cli_fail(&e);
    if (o.help) {
        fputs(HELP, stdout);
        return 0;
    }
    str folder = {0};
    bool ok = true;
    if (o.folder)
        str_add(&folder, o.folder);
    else
        ok = find_page(&folder, &e);
    ok = ok && serve(&o, folder.data, &e);
    str_free(&folder);
    return ok ? 0 : cli_fail(&e);
}
