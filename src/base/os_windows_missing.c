/* os_windows_missing: functions of other C libraries that Windows' has not, and the environment. */
#include "base/abort_line.h"
#include "base/os.h"

#include <ctype.h>
#include <errno.h>
#include <io.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <windows.h>

/* ---- texts --------------------------------------------------------------------------------- */

void *memmem(const void *in, size_t in_bytes, const void *what, size_t what_bytes)
{
    const char *at = in, *end = at + in_bytes;
    if (what_bytes == 0)
        return (void *)at;
    while ((size_t)(end - at) >= what_bytes &&
           (at = memchr(at, *(const char *)what, (size_t)(end - at) - what_bytes + 1))) {
        if (memcmp(at, what, what_bytes) == 0)
            return (void *)at;
        at++;
    }
    return NULL;
}

char *strcasestr(const char *in, const char *what)
{
    size_t length = strlen(what);
    for (;; in++) {
        if (strncasecmp(in, what, length) == 0)
            return (char *)in;
        if (!*in)
            return NULL;
    }
}

char *strsep(char **rest, const char *between)
{
    char *word = *rest;
    if (word) {
        char *end = word + strcspn(word, between);
        *rest = *end ? end + 1 : NULL;
        *end = 0;
    }
    return word;
}

int setenv(const char *name, const char *value, int replace)
{
    return !replace && getenv(name) ? 0 : _putenv_s(name, value) == 0 ? 0 : -1;
}

int unsetenv(const char *name)
{
    return _putenv_s(name, "") == 0 ? 0 : -1;
}

/* ---- lines --------------------------------------------------------------------------------- */

typedef struct line {
    char **text;
    size_t *capacity, length;
} line;

static void add_bytes(line *l, const char *bytes, size_t count)
{
    if (l->length + count + 1 > *l->capacity) {
        *l->capacity = 2 * (l->length + count) + 64;
        *l->text = realloc(*l->text, *l->capacity);
        if (!*l->text)
            abort();
    }
    memcpy(*l->text + l->length, bytes, count);
    l->length += count;
    (*l->text)[l->length] = 0;
}

/* In its own characters: as bytes, consoles lose what is beyond ASCII, whatever their code page. */
static ssize_t read_console(HANDLE console, line *l)
{
    enum { UNITS = 512 };
    wchar_t typed[UNITS];
    char bytes[UNITS * 3 + 1];
    DWORD got = 0;
    do {
        if (!ReadConsoleW(console, typed, UNITS, &got, NULL) || got == 0 || (l->length == 0 && typed[0] == 0x1a))
            return l->length ? (ssize_t)l->length : -1; /* Ctrl-Z at a line's beginning is the end */
        int count = WideCharToMultiByte(CP_UTF8, 0, typed, (int)got, bytes, sizeof bytes, NULL, NULL);
        add_bytes(l, bytes, count > 0 ? (size_t)count : 0);
    } while (typed[got - 1] != L'\n');
    return (ssize_t)l->length;
}

ssize_t getline(char **text, size_t *capacity, FILE *from)
{
    line l = {text, capacity, 0};
    HANDLE handle = (HANDLE)_get_osfhandle(_fileno(from));
    DWORD mode;
    int c = 0;
    add_bytes(&l, "", 0);
    if (GetConsoleMode(handle, &mode))
        return read_console(handle, &l);
    while (c != '\n' && (c = getc(from)) != EOF)
        add_bytes(&l, &(char){(char)c}, 1);
    return l.length ? (ssize_t)l.length : -1;
}

/* _isatty is also true of NUL and of printers. */
int isatty(int fd)
{
    DWORD mode;
    return GetConsoleMode((HANDLE)_get_osfhandle(fd), &mode);
}

/* ---- the system ---------------------------------------------------------------------------- */

long sysconf(int what)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return what == _SC_PAGESIZE ? (long)info.dwPageSize : (long)info.dwNumberOfProcessors;
}

short geteuid(void)
{
    return 0; /* as stat says of every file; Windows looks at rights when a file is opened */
}

/* Windows' C library does not let standard error be another stream: what a library prints before it aborts is seen as it is. */
void abort_line_allow(void)
{
}

void abort_line_begin(const char *library)
{
    (void)library;
}

/* ---- signals ------------------------------------------------------------------------------- */

enum { SIGNALS = 32 };
static struct sigaction actions[SIGNALS];

static BOOL WINAPI on_console(DWORD event)
{
    int signal = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT ? SIGINT : SIGTERM;
    void (*handler)(int) = actions[signal].sa_handler;
    if (handler == SIG_DFL)
        return FALSE;
    if (handler != SIG_IGN)
        handler(signal);
    return TRUE;
}

static LONG WINAPI on_exception(EXCEPTION_POINTERS *p)
{
    void (*handler)(int) = actions[SIGBUS].sa_handler;
    if (p->ExceptionRecord->ExceptionCode == (DWORD)STATUS_IN_PAGE_ERROR && handler != SIG_DFL && handler != SIG_IGN)
        handler(SIGBUS);
    return EXCEPTION_CONTINUE_SEARCH;
}

int sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    static bool is_set_up;
    if (signal < 0 || signal >= SIGNALS) {
        errno = EINVAL;
        return -1;
    }
    if (before)
        *before = actions[signal];
    if (action)
        actions[signal] = *action;
    if (action && !is_set_up) {
        is_set_up = true;
        SetConsoleCtrlHandler(on_console, TRUE);
        AddVectoredExceptionHandler(1, on_exception);
    }
    return 0;
}
