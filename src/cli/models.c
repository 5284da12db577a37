/* solo models: what was fetched, and removing it. */
#include "base/file.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "hub/store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef enum { ACTION_LIST, ACTION_REMOVE, ACTION_COUNT } action;

typedef struct options {
    action what;
    text_list names;
    bool json;
} options;

static const char *action_name(uint32_t i)
{
    static const char *const names[] = {[ACTION_LIST] = "list", [ACTION_REMOVE] = "remove"};
    return i < ACTION_COUNT ? names[i] : NULL;
}

static const option TABLE[] = {
    {.value = "ACTION", .kind = OPTION_NAME, .names = action_name, INTO(options, what), .help = "{names}"},
    {.value = "NAME",
     .kind = OPTION_TEXTS,
     .high = 1000,
     INTO(options, names),
     .help = "with remove: OWNER/REPO, all that is here of it, or OWNER/REPO:FILE"},
    {.name = "json", .kind = OPTION_FLAG, INTO(options, json), .help = "the list as JSON"},
    {0}};

static bool check(void *chosen, err *e)
{
    const options *o = chosen;
    if (o->what == ACTION_REMOVE && o->names.count == 0)
        return err_set_kind(e, ERR_USAGE, "remove needs the NAME of a model (solo models lists them)");
    if (o->what == ACTION_LIST && o->names.count > 0)
        return err_set_kind(e, ERR_USAGE, "list takes no NAME (solo models --help)");
    if (o->what == ACTION_REMOVE && o->json)
        return err_set_kind(e, ERR_USAGE, "--json goes with list (solo models --help)");
    return true;
}

/* ---- the list ------------------------------------------------------------------------------ */

typedef struct entry {
    char *name, *hub, *path;
    size_t files;
    uint64_t bytes;
    time_t pulled, used;
    bool is_complete;
} entry;

typedef struct entries {
    entry *items;
    size_t count;
} entries;

static entry *add_entry(entries *all, const char *hub)
{
    all->items = mem_grow(all->items, (all->count + 1) * sizeof *all->items);
    entry *added = &all->items[all->count++];
    *added = (entry){.hub = mem_dup(hub), .is_complete = true};
    return added;
}

static void free_entries(entries *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].name);
        free(all->items[i].hub);
        free(all->items[i].path);
    }
    free(all->items);
}

static void read_times(entry *of)
{
    struct stat info;
    str file = {0};
    str_add(&file, of->path);
    if (stat(file.data, &info) == 0 && S_ISDIR(info.st_mode))
        str_add(&file, "/" HUB_CONFIG_FILE);
    if (stat(file.data, &info) == 0 || stat(of->path, &info) == 0) {
        of->pulled = info.st_mtime;
        of->used = info.st_atime > info.st_mtime ? info.st_atime : info.st_mtime;
    }
    str_free(&file);
}

static void add_repository(entries *all, const char *folder, const char *hub, const char *owner, const char *repo)
{
    uint64_t bytes;
    hub_listing l = store_list(folder, &bytes);
    hub_models models = store_models(&l);
    for (size_t i = 0; i < models.count; i++) {
        const hub_model *m = &models.items[i];
        str name = {0}, path = {0};
        entry *added = add_entry(all, hub);
        str_addf(&name, "%s/%s:%s", owner, repo, m->is_folder ? "safetensors" : m->files[0]->path);
        store_add_path(folder, m, &path);
        added->name = name.data;
        added->path = path.data;
        added->files = m->count;
        added->bytes = m->bytes;
        read_times(added);
        bytes -= m->bytes;
    }
    if (bytes) { /* what a pull that was interrupted has left */
        str name = {0};
        entry *added = add_entry(all, hub);
        str_addf(&name, "%s/%s", owner, repo);
        added->name = name.data;
        added->path = mem_dup(folder);
        added->bytes = bytes;
        added->is_complete = false;
        read_times(added);
    }
    hub_models_free(&models);
    hub_listing_free(&l);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Goes through HUB/OWNER/REPO; `names` has those above. */
static void add_folders(entries *all, const char *folder, const char *names[], int depth)
{
    struct dirent **found;
    int count = scandir(folder, &found, is_visible, alphasort);
    for (int i = 0; i < count; i++) {
        str path = {0};
        str_addf(&path, "%s/%s", folder, found[i]->d_name);
        names[depth] = found[i]->d_name;
        if (depth < 2)
            add_folders(all, path.data, names, depth + 1);
        else
            add_repository(all, path.data, names[0], names[1], names[2]);
        str_free(&path);
        free(found[i]);
    }
    if (count >= 0)
        free(found);
}

static void write_time(time_t when, bool utc, char out[32])
{
    struct tm parts;
    out[0] = 0;
    if (utc ? gmtime_r(&when, &parts) : localtime_r(&when, &parts))
        strftime(out, 32, utc ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M", &parts);
}

static void add_json(const entries *all, const char *root, str *out)
{
    jsonw j = jsonw_to(out);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "folder", root);
    jsonw_array(&j, "models");
    for (size_t i = 0; i < all->count; i++) {
        const entry *m = &all->items[i];
        char pulled[32], used[32];
        write_time(m->pulled, true, pulled);
        write_time(m->used, true, used);
        jsonw_object(&j, NULL);
        jsonw_text(&j, "name", m->name);
        jsonw_text(&j, "hub", m->hub);
        jsonw_text(&j, "path", m->path);
        jsonw_bool(&j, "complete", m->is_complete);
        jsonw_count(&j, "files", m->files);
        jsonw_count(&j, "bytes", m->bytes);
        jsonw_text(&j, "pulled", pulled);
        jsonw_text(&j, "used", used);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_end(&j);
    str_add(out, "\n");
}

/* The hub is shown where it is not the one that is asked now. */
static void add_table(const entries *all, const char *root, const char *hub, str *out)
{
    size_t widest = strlen("name");
    uint64_t bytes = 0;
    char size[HUB_SIZE_BYTES];
    for (size_t i = 0; i < all->count; i++)
        widest = strlen(all->items[i].name) > widest ? strlen(all->items[i].name) : widest;
    if (all->count)
        str_addf(out, "%-*s  files       size  pulled            used\n", (int)widest, "name");
    for (size_t i = 0; i < all->count; i++) {
        const entry *m = &all->items[i];
        char pulled[32], used[32], files[24] = "-";
        write_time(m->pulled, false, pulled);
        write_time(m->used, false, used);
        hub_size_text(m->bytes, size);
        if (m->is_complete)
            snprintf(files, sizeof files, "%zu", m->files);
        str_addf(out, "%-*s  %5s  %9s  %s  %s", (int)widest, m->name, files, size, pulled,
                 m->is_complete ? used : "unfinished: solo pull resumes it");
        if (strcmp(m->hub, hub) != 0)
            str_addf(out, "  (%s)", m->hub);
        str_add(out, "\n");
        bytes += m->bytes;
    }
    hub_size_text(bytes, size);
    if (all->count)
        str_addf(out, "%s in %s\n", size, root);
    else
        str_addf(out, "no model was fetched yet (solo pull; they would be in %s)\n", root);
}

static bool list(const options *o, const hub_site *site, err *e)
{
    entries all = {0};
    str root = {0}, out = {0};
    const char *names[3];
    if (!store_add_root(&root, e))
        return false;
    add_folders(&all, root.data, names, 0);
    if (o->json)
        add_json(&all, root.data, &out);
    else
        add_table(&all, root.data, site->folder.data, &out);
    cli_print_text(out.data, out.length); /* names in it are a hub's */
    free_entries(&all);
    str_free(&out);
    str_free(&root);
    return true;
}

/* ---- removing ------------------------------------------------------------------------------ */

static bool remove_model(const hub_site *site, const char *text, err *e)
{
    hub_name name;
    str folder = {0};
    uint64_t bytes;
    char size[HUB_SIZE_BYTES];
    if (!hub_name_parse(text, &name))
        return err_set_kind(e, ERR_USAGE, "'%s' is no OWNER/REPO[:FILE] (solo models lists those that are here)", text);
    if (!store_add_folder(&folder, site, &name, e))
        return false;
    bool ok = file_exists(folder.data) || err_set(e, "%s: is not here (solo models lists what is)", text);
    int lock = ok ? store_lock(folder.data, NULL, e) : -1;
    hub_listing l = store_list(folder.data, &bytes);
    hub_models models = store_models(&l);
    const hub_model *m = lock >= 0 && name.file ? hub_choose(&models, name.file, e) : NULL;
    ok = lock >= 0 && (!name.file || m || err_context(e, "%s", text)) && store_remove(folder.data, m, e);
    hub_size_text(m ? m->bytes : bytes, size);
    if (ok)
        printf("removed %s/%s%s%s, %s\n", name.owner, name.repo, m ? ":" : "",
               !m             ? ""
               : m->is_folder ? "safetensors"
                              : m->files[0]->path,
               size);
    store_unlock(lock);
    hub_models_free(&models);
    hub_listing_free(&l);
    str_free(&folder);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    hub_site site;
    const options *o = chosen;
    if (!hub_site_read(&site, &e))
        return cli_fail(&e);
    bool ok = o->what != ACTION_LIST || list(o, &site, &e);
    for (size_t i = 0; ok && i < o->names.count; i++)
        ok = remove_model(&site, o->names.items[i], &e);
    hub_site_free(&site);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {0};

const cli_command command_models = {
    .name = "models",
    .summary = "list or remove downloaded models",
    .about = "Lists the models that `solo pull`, or a command with the name of a repository, has downloaded into the "
             "cache, with their sizes, or removes some of them.",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
