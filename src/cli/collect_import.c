/* collect_import: goes through folders, checks what is there as if it had been sent, and adds it. */
#include "cli/collect_import.h"

#include "base/file.h"
#include "serve/collect_clean.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct counts {
    size_t added, known, left_out;
} counts;

static bool import_file(collect_store *s, const char *path, counts *n, err *e)
{
    err why = {0};
    size_t length;
    collect_record r;
    bool is_new;
    char *text = file_read(path, COLLECT_MAX_BYTES, &length, &why);
    bool is_record = text && collect_check(path, text, length, &r, &why);
    free(text);
    if (!is_record) {
        fprintf(stderr, "left out: %s\n", why.text);
        n->left_out++;
        return true;
    }
    collect_points points = collect_points_of(&r.view);
    bool ok = collect_store_add(s, &r, &points, &is_new, e);
    collect_points_free(&points);
    collect_record_free(&r);
    n->added += ok && is_new;
    n->known += ok && !is_new;
    return ok;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Of folders only what is called *.json. */
static bool import_path(collect_store *s, const char *path, counts *n, err *e)
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (!tree)
        return err_set(e, "%s: %s", path, strerror(errno));
    bool ok = true;
    for (FTSENT *at; ok && (at = fts_read(tree));) {
        size_t length = strlen(at->fts_name);
        bool is_json = length > 5 && strcmp(at->fts_name + length - 5, ".json") == 0;
        if (at->fts_level == 0 && at->fts_info == FTS_SLNONE)
            ok = err_set(e, "%s: a link that leads nowhere", at->fts_path);
        else if (at->fts_level == 0 && at->fts_info == FTS_DEFAULT)
            ok = err_set(e, "%s: neither a file nor a folder", at->fts_path);
        else if (at->fts_info == FTS_NS || at->fts_info == FTS_ERR || at->fts_info == FTS_DNR)
            ok = err_set(e, "%s: %s", at->fts_path, strerror(at->fts_errno));
        else if (at->fts_info == FTS_F && (is_json || at->fts_level == 0))
            ok = import_file(s, at->fts_path, n, e);
    }
    fts_close(tree);
    return ok;
}

bool collect_import(collect_store *s, const char *const *paths, size_t count, err *e)
{
    counts n = {0};
    for (size_t i = 0; i < count; i++)
        if (!import_path(s, paths[i], &n, e))
            return false;
    if (!n.added && !n.known)
        return err_set(e, "no record there");
    printf("%zu records added, %zu were there already, %zu left out\n", n.added, n.known, n.left_out);
    return true;
}
