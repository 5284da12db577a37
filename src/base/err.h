/* err: why something failed, as the one line a person reads.
 *
 * A function that can fail takes an `err *` last and returns false or NULL.
 * The kind is the exit status the command line ends with.                  */
#ifndef SOLO_ERR_H
#define SOLO_ERR_H

#include <stdbool.h>

typedef enum { ERR_NONE = 0, ERR_FAILED = 1, ERR_USAGE = 2, ERR_NO_GPU = 3 } err_kind;

typedef struct err {
    err_kind kind;
    char text[1024];
} err;

/* Record the error and return false, so that callers can write
 * `return err_set(e, "...")`. `e` may be NULL; the first error is kept. */
bool err_set(err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool err_set_kind(err *e, err_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put what was being done in front of an error that is already there. */
bool err_context(err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void err_clear(err *e);

/* What every error's text goes through: one line, with '?' for what would control a terminal. */
void err_one_line(char *text);

/* Where the last words of a program that ends at once go: standard error, also while that is muted (mute_stderr.h). */
extern int err_descriptor;

#endif
