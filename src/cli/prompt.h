/* prompt: lines that a person types, with editing and history on a terminal; plain
 * lines where standard input is none. */
#ifndef SOLO_PROMPT_H
#define SOLO_PROMPT_H

#include "base/err.h"

typedef struct prompt prompt;

/* `words`, which end with NULL and must outlive it: Tab completes a line that begins like one of them. */
prompt *prompt_open(const char *const *words);
void prompt_close(prompt *p); /* the terminal is as it was */

bool prompt_on_terminal(const prompt *p);

/* The next line without its end, to be freed; NULL at the end of input. `label` is shown
 * on a terminal. Ctrl-C there cancels the line: *cancelled is set and the line empty. */
char *prompt_read(prompt *p, const char *label, bool *cancelled);

/* False with an error: a line could not be read, or had a zero byte, and what stood behind that was not returned. */
bool prompt_ok(const prompt *p, err *e);

/* A text to be found again with the arrow keys; of several lines only the first. */
void prompt_remember(prompt *p, const char *text);

#endif
