/* outputs: two results into one file would leave one of them, and one into a file that is read would end that. */
#include "base/file.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* Where a file is or will be, without links; NULL: nowhere. */
static char *place_of(const char *path)
{
    char *real = realpath(path, NULL);
    if (real)
        return real;
    const char *slash = strrchr(path, '/');
    str folder = {0}, place = {0};
    str_add_bytes(&folder, path, slash ? (size_t)(slash - path) + 1 : 0);
    real = realpath(slash ? folder.data : ".", NULL);
    if (real)
        str_addf(&place, "%s/%s", real, slash ? slash + 1 : path);
    free(real);
    str_free(&folder);
    return place.data;
}

static bool is_file(const char *path)
{
    return path && *path && strcmp(path, "-") != 0;
}

bool cli_outputs_differ(const cli_output *list, size_t count, err *e)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        for (size_t j = i + 1; ok && is_file(list[i].path) && j < count; j++) {
            char *first = place_of(list[i].path), *second = is_file(list[j].path) ? place_of(list[j].path) : NULL;
            if (first && second && strcmp(first, second) == 0)
                ok = err_set_kind(e, ERR_USAGE, "%s and %s are one file, %s: one of them would be lost", list[i].option,
                                  list[j].option, list[i].path);
            free(first);
            free(second);
        }
    return ok;
}

bool cli_keeps_input(const char *option, const char *path, const char *input, err *e)
{
    char *to = is_file(path) ? place_of(path) : NULL, *from = is_file(input) ? place_of(input) : NULL;
    bool ok = !to || !from || strcmp(to, from) != 0 ||
              err_set_kind(e, ERR_USAGE, "%s would replace %s, which is read", option, input);
    free(to);
    free(from);
    return ok;
}

bool cli_session_writable(const char *path, const char *command, err *e)
{
    if (path && strcmp(path, "-") == 0)
        return err_set_kind(e, ERR_USAGE, "--session takes a file, not a stream (solo %s --help)", command);
    return !path || file_writable(path, e);
}
