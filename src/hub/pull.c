/* pull: the steps from a name to files: list, choose, look for room, fetch. */
#include "hub/pull.h"
#include "base/file.h"
#include "base/os.h"
#include "hub/fetch.h"
#include "hub/store.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char REVISION[] = "main";
enum { MOST_LIST_BYTES = 64 << 20, MOST_PAGES = 100, LABEL_BYTES = 48, HEARD_MS = 300 };

static volatile sig_atomic_t is_interrupted;

typedef struct pull {
    const hub_site *site;
    const hub_name *name;
    void (*say)(const char *line);
    http *h;
    str folder;
    hub_listing listing;
    hub_models models;
    hub_model *model; /* the one that was chosen */
    int lock;
} pull;

/* ---- Ctrl-C -------------------------------------------------------------------------------- */

/* What is going on looks at the flag, but for what cannot: a name that is being looked up, a file that is being synced. What
 * was fetched is in its part either way. */
static void end_now(int number)
{
    static const char text[] = "\nsolo: stopped; run the same command to resume\n";
    (void)number;
    ssize_t written = write(err_descriptor, text + !isatty(err_descriptor), sizeof text - 1 - !isatty(err_descriptor));
    (void)written; /* there is nobody left to tell */
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
}

static void interrupt(int number)
{
    (void)number;
    if (!is_interrupted)
        os_soon(HEARD_MS, end_now);
    is_interrupted = true;
}

bool hub_pull_was_interrupted(void)
{
    return is_interrupted;
}

typedef struct signals {
    struct sigaction interrupt, pipe;
} signals;

/* A connection that is gone is an error to report, not the end. */
static signals take_signals(void)
{
    signals before;
    is_interrupted = false;
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &before.pipe);
    sigaction(SIGINT, NULL, &before.interrupt);
    if (before.interrupt.sa_handler != SIG_IGN) /* somebody decided that it is not for us */
        sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupt}, NULL);
    return before;
}

static void give_back_signals(const signals *before)
{
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGPIPE, &before->pipe, NULL);
}

/* ---- the list of files --------------------------------------------------------------------- */

static bool take_text(void *user, const char *bytes, size_t count, err *e)
{
    str *text = user;
    if (count > MOST_LIST_BYTES - text->length)
        return err_set(e, "the hub's list of files is too long");
    str_add_bytes(text, bytes, count);
    return true;
}

/* One page of it; `*next` becomes the address of the following one, or stays empty. */
static bool read_page(pull *p, const char *url, str *next, err *e)
{
    str text = {0}, what = {0};
    http_reply r = {0};
    str_addf(&what, "%s/%s", p->name->owner, p->name->repo);
    http_result result = http_get(p->h,
                                  &(http_request){.url = url,
                                                  .token = p->site->token,
                                                  .timeout_s = p->site->timeout_s,
                                                  .write = take_text,
                                                  .user = &text,
                                                  .stop = &is_interrupted},
                                  &r, e);
    bool ok = result == HTTP_DONE;
    if (result == HTTP_REFUSED)
        hub_refusal(e, what.data, r.status, p->site);
    str_add(&text, "");
    ok = ok && (hub_listing_add_json(&p->listing, text.data, text.length, e) || err_context(e, "%s", what.data));
    *next = r.next;
    str_free(&text);
    str_free(&what);
    return ok;
}

/* The hub's own lists lead to the hub. */
static bool is_of_hub(const pull *p, const char *url)
{
    return strncmp(url, p->site->url.data, p->site->url.length) == 0 && url[p->site->url.length] == '/';
}

static bool read_list(pull *p, err *e)
{
    str url = {0};
    bool ok = true;
    str_addf(&url, "%s/api/models/%s/%s/tree/%s?recursive=true", p->site->url.data, p->name->owner, p->name->repo,
             REVISION);
    for (int pages = 0; ok && url.length; pages++) {
        str next = {0};
        ok = pages < MOST_PAGES || err_set(e, "the hub's list of files is too long");
        ok = ok && read_page(p, url.data, &next, e);
        ok = ok && (!next.length || is_of_hub(p, next.data) ||
                    err_set(e, "the hub's list of files continues at another host, which is refused"));
        str_free(&url);
        url = next;
    }
    str_free(&url);
    return ok && hub_listing_sort(&p->listing, e);
}

/* ---- files --------------------------------------------------------------------------------- */

static bool fetch_or_keep(pull *p, const hub_file *file, const char *label, bool is_here, err *e)
{
    str url = {0};
    str_addf(&url, "%s/%s/%s/resolve/%s/", p->site->url.data, p->name->owner, p->name->repo, REVISION);
    hub_add_escaped(&url, file->path);
    hub_fetch f = {p->h, p->site, url.data, p->folder.data, file, label, &is_interrupted};
    bool ok = is_here || hub_fetch_file(&f, e);
    str_free(&url);
    return ok;
}

static hub_fetch looked_at(const pull *p, const hub_file *file)
{
    return (hub_fetch){.folder = p->folder.data, .file = file, .stop = &is_interrupted};
}

/* The index first: it names the shards. */
static bool add_shards(pull *p, err *e)
{
    const hub_file *index = hub_listing_find(&p->listing, HUB_INDEX_FILE);
    hub_fetch f = looked_at(p, index);
    str path = {0};
    size_t length;
    str_addf(&path, "%s/%s", p->folder.data, index->path);
    char *text = NULL;
    bool ok = index->bytes <= MOST_LIST_BYTES || err_set(e, "%s: is too long", index->path);
    ok = ok && fetch_or_keep(p, index, index->path, hub_fetch_is_here(&f), e) &&
         (text = file_read(path.data, MOST_LIST_BYTES, &length, e)) != NULL &&
         hub_model_add_shards(p->model, &p->listing, text, length, e);
    free(text);
    str_free(&path);
    return ok;
}

static bool look_for_room(const pull *p, const bool *is_here, err *e)
{
    struct statvfs disk;
    uint64_t needed = 0;
    char size[HUB_SIZE_BYTES], room[HUB_SIZE_BYTES];
    for (size_t i = 0; i < p->model->count; i++) {
        hub_fetch f = looked_at(p, p->model->files[i]);
        if (!is_here[i])
            needed += f.file->bytes - hub_fetch_begun_bytes(&f);
    }
    if (statvfs(p->folder.data, &disk) != 0) /* then writing will show it */
        return true;
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (needed <= free_bytes)
        return true;
    hub_size_text(needed, size);
    hub_size_text(free_bytes, room);
    return err_set(e, "%s: %s are needed, and %s are free there", p->folder.data, size, room);
}

static void say_what(const pull *p, const bool *is_here)
{
    const hub_model *m = p->model;
    size_t ggufs = p->models.count - (p->models.items[p->models.count - 1].is_folder ? 1 : 0), missing = 0;
    uint64_t bytes = 0;
    char size[HUB_SIZE_BYTES];
    str line = {0};
    for (size_t i = 0; i < m->count; i++)
        if (!is_here[i]) {
            missing++;
            bytes += m->files[i]->bytes;
        }
    str_addf(&line, "%s/%s: ", p->name->owner, p->name->repo);
    if (m->is_folder)
        str_add(&line, "the folder of safetensors");
    else
        str_add(&line, m->files[0]->path);
    if (!m->is_folder && !p->name->file && ggufs > 1)
        str_addf(&line, ", chosen among %zu GGUF models", ggufs);
    hub_size_text(m->bytes, size);
    str_addf(&line, ", %zu file%s, %s", m->count, m->count == 1 ? "" : "s", size);
    hub_size_text(bytes, size);
    if (!missing)
        str_add(&line, ", is here");
    else if (missing < m->count)
        str_addf(&line, "; fetching %zu of them, %s, from %s", missing, size, p->site->url.data);
    else
        str_addf(&line, "; fetching from %s", p->site->url.data);
    p->say(line.data);
    str_free(&line);
}

static void write_label(char label[LABEL_BYTES], const char *path, size_t number, size_t count)
{
    const char *name = hub_base_name(path);
    char what[LABEL_BYTES - 16];
    int fits = (int)sizeof what - 1;
    while ((size_t)fits < strlen(name) && fits > 0 && ((unsigned char)name[fits] & 0xc0) == 0x80)
        fits--; /* not inside a character */
    snprintf(what, sizeof what, "%.*s", fits, name);
    if (count > 1)
        snprintf(label, LABEL_BYTES, "%s (%zu/%zu)", what, number, count);
    else
        snprintf(label, LABEL_BYTES, "%s", what);
}

/* Not complete from here on until it is again. */
static bool forget_config(const pull *p, err *e)
{
    str path = {0};
    str_addf(&path, "%s/" HUB_CONFIG_FILE, p->folder.data);
    bool ok = unlink(path.data) == 0 || errno == ENOENT || err_set(e, "%s: %s", path.data, strerror(errno));
    str_free(&path);
    return ok;
}

static bool fetch_all(pull *p, bool *is_here, err *e)
{
    hub_model *m = p->model;
    bool ok = true, all_here = true;
    const hub_file *config = m->is_folder ? hub_listing_find(&p->listing, HUB_CONFIG_FILE) : NULL;
    for (size_t i = 0; i < m->count; i++)
        all_here = all_here && is_here[i];
    if (config && !all_here) {
        ok = forget_config(p, e);
        for (size_t i = 0; i < m->count; i++)
            if (m->files[i] == config) { /* it comes last */
                memmove(m->files + i, m->files + i + 1, (m->count - i - 1) * sizeof *m->files);
                memmove(is_here + i, is_here + i + 1, (m->count - i - 1) * sizeof *is_here);
                m->files[m->count - 1] = config;
                is_here[m->count - 1] = false;
                break;
            }
    }
    for (size_t i = 0; ok && i < m->count; i++) {
        char label[LABEL_BYTES];
        write_label(label, m->files[i]->path, i + 1, m->count);
        ok = fetch_or_keep(p, m->files[i], label, is_here[i], e);
    }
    return ok;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool choose(pull *p, err *e)
{
    p->models = hub_models_of(&p->listing);
    p->model = hub_choose(&p->models, p->name->file, e);
    return p->model || err_context(e, "%s/%s", p->name->owner, p->name->repo);
}

static bool fetch_model(pull *p, err *e)
{
    if (p->model->needs_shards && !add_shards(p, e))
        return false;
    bool *is_here = mem_alloc(p->model->count * sizeof *is_here);
    for (size_t i = 0; i < p->model->count; i++) {
        hub_fetch f = looked_at(p, p->model->files[i]);
        is_here[i] = hub_fetch_is_here(&f);
    }
    bool ok = !is_interrupted || err_set(e, "stopped");
    ok = ok && look_for_room(p, is_here, e);
    if (ok)
        say_what(p, is_here);
    ok = ok && fetch_all(p, is_here, e);
    free(is_here);
    return ok;
}

bool hub_pull(const hub_site *s, const hub_name *n, void (*say)(const char *line), str *path, err *e)
{
    pull p = {.site = s, .name = n, .say = say, .lock = -1};
    if (s->is_off)
        return err_set(e, "%s/%s: SOLO_HUB is off, so nothing is fetched", n->owner, n->repo);
    signals before = take_signals();
    bool ok = store_add_folder(&p.folder, s, n, e) && (p.h = http_open(e)) != NULL && read_list(&p, e) &&
              choose(&p, e) && (p.lock = store_lock(p.folder.data, say, e)) >= 0 && fetch_model(&p, e);
    ok = ok && (!is_interrupted || err_set(e, "stopped"));
    if (ok)
        store_add_path(p.folder.data, p.model, path);
    give_back_signals(&before);
    store_unlock(p.lock);
    hub_models_free(&p.models);
    hub_listing_free(&p.listing);
    http_close(p.h);
    str_free(&p.folder);
    return ok;
}
