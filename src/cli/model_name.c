/* model_name: a path that is here is that path; a repository's name is a model of the cache, or one to be fetched. */
#include "cli/model_name.h"
#include "base/file.h"
#include "hub/pull.h"
#include "hub/store.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static void say(const char *line)
{
    fprintf(stderr, "solo: %s\n", line);
}

/* As if nobody had caught the signal: a shell that runs several commands stops, too. */
static void end_if_interrupted(const err *e)
{
    if (!hub_pull_was_interrupted())
        return;
    say(e->text);
    raise(SIGINT);
}

static bool pull(const hub_site *site, const hub_name *name, str *path, err *e)
{
    bool ok = hub_pull(site, name, say, path, e);
    if (!ok)
        end_if_interrupted(e);
    return ok;
}

const char *cli_short_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return !path ? "built-in" : slash && slash[1] ? slash + 1 : path;
}

bool cli_pull_model(const char *name, str *path, err *e)
{
    hub_name parsed;
    hub_site site;
    if (!hub_name_parse(name, &parsed))
        return err_set_kind(e, ERR_USAGE, "'%s' is no OWNER/REPO[:FILE] (solo pull --help)", name);
    if (!hub_site_read(&site, e))
        return false;
    bool ok = pull(&site, &parsed, path, e);
    hub_site_free(&site);
    return ok;
}

/* `*path` stays empty where the text is a path, whether there is something or not. */
static bool find_model(const char *text, str *path, err *e)
{
    hub_name name;
    hub_site site;
    str root = {0};
    if (!text || file_exists(text) || !hub_name_parse(text, &name))
        return true;
    if (!hub_site_read(&site, e))
        return false;
    bool ok = true;
    if (store_find(&site, &name, path))
        store_touch(path->data);
    else if (file_exists(
                 name.owner)) /* rather a path with a mistake in it: nothing is fetched that was not asked for */
        ok = err_set(e, "%s: No such file or directory (if it is a repository: solo pull %s)", text, text);
    else if (!site.is_off)
        ok = store_add_root(&root, e) && pull(&site, &name, path, e);
    str_free(&root);
    hub_site_free(&site);
    return ok;
}

bool cli_find_models(const cli_command *c, void *chosen, text_list *paths, err *e)
{
    for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++)
        for (const option *o = g->table; !option_is_end(o); o++) {
            str path = {0};
            const char **text = (const char **)((char *)chosen + g->at + o->at);
            if (!o->is_model)
                continue;
            if (!find_model(*text, &path, e))
                return false;
            if (path.length) {
                paths->items = mem_grow(paths->items, (paths->count + 1) * sizeof *paths->items);
                paths->items[paths->count++] = *text = path.data;
            }
        }
    return true;
}
