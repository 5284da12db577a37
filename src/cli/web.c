/* solo web: the page, served on this machine. */
#include "base/file.h"
#include "cli/cli.h"
#include "serve/http_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    uint32_t port;
    const char *folder;
    bool open;
} options;

static const option TABLE[] = {
    {.name = "port",
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = 65535,
     INTO(options, port),
     .help = "the port; 0: one that is free"},
    {.name = "dir",
     .value = "FOLDER",
     .files = OPTION_FOLDERS,
     INTO(options, folder),
     .help = "where the page is",
     .otherwise = "web beside this program, or ../share/solo/web"},
    {.name = "open",
     .kind = OPTION_FLAG,
     INTO(options, open),
     .help = "for other machines, too, not only this one; browsers have WebGPU there only by https"},
    {0}};

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

static void handle(void *folder, http_request *r)
{
    http_serve_file(r, folder);
}

static bool serve(const options *o, const char *folder, err *e)
{
    char real[PATH_MAX];
    if (!realpath(folder, real))
        return err_set(e, "%s: %s", folder, strerror(errno));
    http_block_signals();
    http_server *s = http_server_start(
        &(http_options){.host = o->open ? "0.0.0.0" : NULL, .port = (uint16_t)o->port, .handle = handle, .user = real},
        e);
    if (!s)
        return false;
    printf("http://localhost:%u/\n", http_server_port(s));
    fflush(stdout);
    http_wait_for_signal();
    http_server_stop(s);
    return true;
}

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    str folder = {0};
    bool ok = true;
    if (o->folder)
        str_add(&folder, o->folder);
    else
        ok = find_page(&folder, &e);
    ok = ok && serve(o, folder.data, &e);
    str_free(&folder);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {.port = 8080};

const cli_command command_web = {.name = "web",
                                 .summary = "serve the page to browsers on this machine",
                                 .about =
                                     "Serves the page (chat and measurements in a browser) on this machine until it "
                                     "is interrupted, with the headers "
                                     "that give a page a fine clock. `make web` builds it.",
                                 .groups = {{NULL, TABLE, 0}},
                                 .defaults = &DEFAULTS,
                                 .bytes = sizeof(options),
                                 .run = run};
