/* prompt: lines by editline where it is there, else by getline. */
#include "cli/prompt.h"
#include "cli/cli.h"
#include "base/str.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<histedit.h>)
#define HAS_EDITLINE
#include <histedit.h>
#include <langinfo.h>
#endif
#endif

struct prompt {
    bool on_terminal, is_cut;
    int why; /* a line could not be read: errno */
    const char *label;
    bool cancelled;
    const char *const *words; /* that Tab completes */
#ifdef HAS_EDITLINE
    EditLine *editor;
    History *history;
#endif
};

/* ---- by editline ----------------------------------------------------------------- */

#ifdef HAS_EDITLINE

enum { REMEMBERED = 500 };

static const char *label_of(EditLine *editor)
{
    prompt *p;
    el_get(editor, EL_CLIENTDATA, &p);
    return p->label;
}

/* Ctrl-C: the line is cancelled. */
static unsigned char cancel(EditLine *editor, int key)
{
    (void)key;
    prompt *p;
    el_get(editor, EL_CLIENTDATA, &p);
    p->cancelled = true;
    fputs("^C\n", stdout);
    return CC_NEWLINE;
}

/* The words that begin like the line, below it. */
static unsigned char list_words(const prompt *p, const char *begin, size_t typed)
{
    putchar('\n');
    for (const char *const *w = p->words; *w; w++)
        if (strncmp(*w, begin, typed) == 0)
            printf("%s  ", *w);
    putchar('\n');
    return CC_REDISPLAY;
}

/* Tab: as many letters as all words that begin like the line have in common, or a list of them; a space behind the only
 * one. */
static unsigned char complete(EditLine *editor, int key)
{
    (void)key;
    prompt *p;
    el_get(editor, EL_CLIENTDATA, &p);
    const LineInfo *line = el_line(editor);
    size_t typed = (size_t)(line->cursor - line->buffer), common = 0;
    const char *first = NULL;
    int count = 0;
    for (const char *const *w = p->words; *w && typed; w++) {
        if (strncmp(*w, line->buffer, typed) != 0)
            continue;
        size_t same = 0;
        while (first && same < common && first[same] == (*w)[same])
            same++;
        common = first ? same : strlen(*w);
        first = *w;
        count++;
    }
    if (!count || line->cursor != line->lastchar)
        return CC_ERROR;
    if (count > 1 && common == typed)
        return list_words(p, line->buffer, typed);
    char more[64];
    snprintf(more, sizeof more, "%.*s%s", (int)(common - typed), first + typed, count == 1 ? " " : "");
    return *more && el_insertstr(editor, more) == 0 ? CC_REFRESH : CC_ERROR;
}

static void open_editor(prompt *p)
{
    HistEvent event;
    /* characters of more than one byte are only taken in such a locale */
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    p->editor = el_init("solo", stdin, stdout, stderr);
    p->history = history_init();
    if (!p->editor || !p->history)
        return;
    history(p->history, &event, H_SETSIZE, REMEMBERED);
    history(p->history, &event, H_SETUNIQUE, 1);
    el_set(p->editor, EL_CLIENTDATA, p);
    el_set(p->editor, EL_PROMPT, label_of);
    el_set(p->editor, EL_EDITOR, "emacs");
    el_set(p->editor, EL_HIST, history, p->history);
    /* Ctrl-C is a key while a line is typed, not a signal */
    el_set(p->editor, EL_SETTY, "-d", "-isig", NULL);
    el_set(p->editor, EL_ADDFN, "cancel", "cancel the line", cancel);
    el_set(p->editor, EL_BIND, "^C", "cancel", NULL);
    el_set(p->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(p->editor, EL_ADDFN, "complete", "complete a command", complete);
    el_set(p->editor, EL_BIND, "^I", "complete", NULL);
}

static void close_editor(prompt *p)
{
    if (p->history)
        history_end(p->history);
    if (p->editor)
        el_end(p->editor);
}

static char *read_edited(prompt *p, const char *label, bool *cancelled)
{
    int count = 0;
    p->label = label;
    p->cancelled = false;
    /* before the prompt is shown: keys that come earlier would be the terminal's, not the editor's */
    el_set(p->editor, EL_PREP_TERM, 1);
    const char *line = el_gets(p->editor, &count);
    if (p->cancelled) {
        *cancelled = true;
        return mem_dup("");
    }
    if (!line || count <= 0)
        return NULL;
    char *copy = mem_dup(line);
    copy[strcspn(copy, "\n")] = 0;
    return copy;
}

void prompt_remember(prompt *p, const char *text)
{
    HistEvent event;
    if (!p->history || !*text)
        return;
    char *first = mem_dup(text);
    first[strcspn(first, "\n")] = 0;
    history(p->history, &event, H_ENTER, first);
    free(first);
}

#else

void prompt_remember(prompt *p, const char *text)
{
    (void)p, (void)text;
}

#endif

/* ---- plainly ----------------------------------------------------------------------- */

static char *read_plain(prompt *p, const char *label)
{
    char *line = NULL;
    size_t capacity = 0;
    if (p->on_terminal) {
        fputs(label, stdout);
        cli_flush();
    }
    errno = 0;
    ssize_t length = getline(&line, &capacity, stdin);
    if (length < 0) {
        p->why = feof(stdin) ? 0 : errno;
        free(line);
        return NULL;
    }
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        line[--length] = 0;
    p->is_cut |= strlen(line) < (size_t)length;
    return line;
}

prompt *prompt_open(const char *const *words)
{
    prompt *p = mem_alloc(sizeof *p);
    p->words = words;
    p->on_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
#ifdef HAS_EDITLINE
    if (p->on_terminal)
        open_editor(p);
#endif
    return p;
}

void prompt_close(prompt *p)
{
    if (!p)
        return;
#ifdef HAS_EDITLINE
    close_editor(p);
#endif
    free(p);
}

bool prompt_on_terminal(const prompt *p)
{
    return p->on_terminal;
}

bool prompt_ok(const prompt *p, err *e)
{
    return (!p->is_cut || err_set(e, "the message is not text: it has a zero byte")) &&
           (!p->why || err_set(e, "standard input: %s", strerror(p->why)));
}

char *prompt_read(prompt *p, const char *label, bool *cancelled)
{
    *cancelled = false;
#ifdef HAS_EDITLINE
    if (p->editor && p->history)
        return read_edited(p, label, cancelled);
#endif
    return read_plain(p, label);
}
