/* os_windows_process: this program, started again to run one of its functions; and lines for cmd.exe.
 *
 * The new process has the number of the function and of its pipes in an environment variable, finds them before main begins,
 * and never comes there. What it is given comes first through its pipe. */
#include "base/os_process.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <windows.h>

static const char VARIABLE[] = "SOLO_OS_PROCESS";

/* The program's image is not at the same address in each process. */
intptr_t os_function_number(os_function f)
{
    return (intptr_t)f - (intptr_t)GetModuleHandleA(NULL);
}

os_function os_function_of(intptr_t number)
{
    return (os_function)((intptr_t)GetModuleHandleA(NULL) + number);
}

/* ---- the new process ----------------------------------------------------------------------- */

static bool read_all(int from, void *to, size_t bytes)
{
    for (char *at = to; bytes > 0;) {
        int got = read(from, at, bytes > INT32_MAX ? INT32_MAX : (unsigned)bytes);
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

__attribute__((constructor(102))) static void become_process(void)
{
    long long function, in, out;
    size_t bytes;
    const char *text = getenv(VARIABLE);
    if (!text || sscanf(text, "%lld %lld %lld %zu", &function, &in, &out, &bytes) != 4)
        return;
    _putenv_s(VARIABLE, "");
    int from = _open_osfhandle((intptr_t)in, _O_BINARY), to = _open_osfhandle((intptr_t)out, _O_BINARY);
    void *given = malloc(bytes + 1);
    bool ready = from >= 0 && to >= 0 && given && read_all(from, given, bytes);
    int status = ready ? ((os_process_body)os_function_of((intptr_t)function))(from, to, given) : 1;
    fflush(NULL);
    _exit(status);
}

/* ---- starting one -------------------------------------------------------------------------- */

typedef struct ends {
    HANDLE theirs; /* inherited */
    int ours;
} ends;

static bool open_pipe(ends *p, bool they_read)
{
    HANDLE reading, writing;
    if (!CreatePipe(&reading, &writing, NULL, 0))
        return false;
    p->theirs = they_read ? reading : writing;
    SetHandleInformation(p->theirs, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    p->ours = _open_osfhandle((intptr_t)(they_read ? writing : reading), _O_BINARY | _O_NOINHERIT);
    return p->ours >= 0;
}

static void close_ends(ends *p)
{
    CloseHandle(p->theirs);
    close(p->ours);
}

/* Only what is listed is inherited: a pipe that a third process holds would never end. */
static bool create(char *line, HANDLE in, HANDLE out, HANDLE *more, size_t more_count, HANDLE *process)
{
    HANDLE list[5];
    DWORD count = 0;
    SIZE_T bytes = 0;
    STARTUPINFOEXA start = {.StartupInfo = {.cb = sizeof start,
                                            .dwFlags = STARTF_USESTDHANDLES,
                                            .hStdInput = in,
                                            .hStdOutput = out,
                                            .hStdError = GetStdHandle(STD_ERROR_HANDLE)}};
    HANDLE standard[] = {in, out, start.StartupInfo.hStdError};
    for (int i = 0; i < 3; i++) {
        bool again = false;
        for (DWORD j = 0; j < count; j++)
            again = again || list[j] == standard[i];
        if (!again && standard[i] && standard[i] != INVALID_HANDLE_VALUE &&
            SetHandleInformation(standard[i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT))
            list[count++] = standard[i];
    }
    for (size_t i = 0; i < more_count; i++)
        list[count++] = more[i];
    InitializeProcThreadAttributeList(NULL, 1, 0, &bytes);
    start.lpAttributeList = malloc(bytes);
    PROCESS_INFORMATION made;
    bool ok = start.lpAttributeList && InitializeProcThreadAttributeList(start.lpAttributeList, 1, 0, &bytes);
    if (ok) {
        ok = UpdateProcThreadAttribute(start.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, list,
                                       count * sizeof *list, NULL, NULL) &&
             CreateProcessA(NULL, line, NULL, NULL, TRUE, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL, &start.StartupInfo,
                            &made);
        DeleteProcThreadAttributeList(start.lpAttributeList);
    }
    free(start.lpAttributeList);
    if (!ok) {
        errno = EAGAIN;
        return false;
    }
    CloseHandle(made.hThread);
    *process = made.hProcess;
    return true;
}

static bool write_all(int to, const void *from, size_t bytes)
{
    for (const char *at = from; bytes > 0;) {
        int put = write(to, at, bytes > INT32_MAX ? INT32_MAX : (unsigned)bytes);
        if (put <= 0)
            return false;
        at += put;
        bytes -= (size_t)put;
    }
    return true;
}

bool os_process_start(os_process *p, os_process_body body, const void *given, size_t bytes)
{
    ends orders, answers;
    char program[4096], line[4100], variable[128];
    *p = (os_process){.to = -1, .from = -1};
    DWORD length = GetModuleFileNameA(NULL, program, sizeof program);
    if (length == 0 || length >= sizeof program || !open_pipe(&orders, true)) {
        errno = EMFILE;
        return false;
    }
    if (!open_pipe(&answers, false)) {
        close_ends(&orders);
        errno = EMFILE;
        return false;
    }
    fflush(NULL);
    HANDLE pipes[] = {orders.theirs, answers.theirs}, process;
    snprintf(line, sizeof line, "\"%s\"", program);
    snprintf(variable, sizeof variable, "%lld %lld %lld %zu", (long long)os_function_number((os_function)body),
             (long long)(intptr_t)pipes[0], (long long)(intptr_t)pipes[1], bytes);
    _putenv_s(VARIABLE, variable);
    bool ok = create(line, GetStdHandle(STD_INPUT_HANDLE), GetStdHandle(STD_OUTPUT_HANDLE), pipes, 2, &process);
    _putenv_s(VARIABLE, "");
    int why = errno;
    CloseHandle(orders.theirs);
    CloseHandle(answers.theirs);
    *p = (os_process){.id = ok ? (intptr_t)process : 0, .to = orders.ours, .from = answers.ours};
    if (!ok)
        os_process_end(p, NULL, NULL);
    else
        write_all(p->to, given, bytes); /* one that is gone is noticed by who reads from it */
    errno = why;
    return ok;
}

bool os_process_shell(os_process *p, const char *command, int input)
{
    ends answers;
    HANDLE process;
    const char *shell = getenv("COMSPEC");
    *p = (os_process){.to = -1, .from = -1};
    shell = shell ? shell : "cmd.exe";
    size_t room = strlen(shell) + strlen(command) + 32;
    char *line = malloc(room);
    if (!line || !open_pipe(&answers, false)) {
        free(line);
        errno = EMFILE;
        return false;
    }
    fflush(NULL);
    snprintf(line, room, "\"%s\" /d /s /c \"%s\"", shell, command);
    bool ok = create(line, (HANDLE)_get_osfhandle(input), answers.theirs, NULL, 0, &process);
    free(line);
    int why = errno;
    CloseHandle(answers.theirs);
    *p = (os_process){.id = ok ? (intptr_t)process : 0, .to = -1, .from = answers.ours};
    if (!ok)
        os_process_end(p, NULL, NULL);
    errno = why;
    return ok;
}

/* ---- with one that runs -------------------------------------------------------------------- */

/* A pipe cannot be waited for: it is looked at, at first often. */
int os_process_speaks(const os_process *p, uint32_t patience_ms)
{
    HANDLE pipe = (HANDLE)_get_osfhandle(p->from);
    uint64_t begin = GetTickCount64();
    DWORD there = 0;
    for (uint32_t looks = 0; PeekNamedPipe(pipe, NULL, 0, NULL, &there, NULL) && there == 0; looks++) {
        if (GetTickCount64() - begin > patience_ms)
            return 0;
        Sleep(looks < 100 ? 1 : 5);
    }
    return 1;
}

enum { KILLED = 0x4b11 }; /* a status that nobody else ends with */

void os_process_kill(const os_process *p)
{
    if (p->id)
        TerminateProcess((HANDLE)p->id, KILLED);
}

bool os_process_end(os_process *p, int *status, char how[OS_ENDING_ROOM])
{
    DWORD code = 0;
    if (p->to >= 0)
        close(p->to);
    if (p->from >= 0)
        close(p->from);
    if (p->id) {
        WaitForSingleObject((HANDLE)p->id, INFINITE);
        GetExitCodeProcess((HANDLE)p->id, &code);
        CloseHandle((HANDLE)p->id);
    }
    *p = (os_process){.to = -1, .from = -1};
    bool by_itself = code != KILLED && code < 0x80000000u;
    if (!by_itself && how)
        snprintf(how, OS_ENDING_ROOM, code == KILLED ? "from outside" : "by exception 0x%lX", code);
    if (by_itself && status)
        *status = (int)code;
    return by_itself;
}

void os_ignore_broken_pipes(void)
{
}
