/* os_windows: the same by Windows' own calls: the machine, libraries whose names end in .dll, consoles. What the rest of
 * the program expects of POSIX is declared in os_windows/, which is on the include path of this system alone. */
#include "base/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <windows.h>

#include <ntsecapi.h>

/* ---- the machine --------------------------------------------------------------------------- */

void os_cpu_name(char *out, size_t room)
{
    DWORD bytes = (DWORD)room;
    if (RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", "ProcessorNameString",
                     RRF_RT_REG_SZ, NULL, out, &bytes) != ERROR_SUCCESS)
        snprintf(out, room, "unknown");
}

bool os_random(void *to, size_t bytes)
{
    return RtlGenRandom(to, (ULONG)bytes);
}

struct timespec os_changed_at(const struct stat *info)
{
    return (struct timespec){.tv_sec = info->st_mtime};
}

int64_t os_local_time(time_t now)
{
    struct tm there;
    return localtime_s(&there, &now) == 0 ? (int64_t)_mkgmtime(&there) : (int64_t)now;
}

typedef struct sorting {
    os_compare compare;
    void *user;
} sorting;

static int __cdecl compare_for(void *sorting_of, const void *a, const void *b)
{
    const sorting *of = sorting_of;
    return of->compare(a, b, of->user);
}

void os_sort(void *items, size_t count, size_t bytes, os_compare compare, void *user)
{
    sorting of = {compare, user};
    if (count > 1)
        qsort_s(items, count, bytes, compare_for, &of);
}

bool os_work_time(double *all_s, double *own_s, uint32_t *processors)
{
    (void)all_s, (void)own_s, (void)processors;
    return false;
}

void os_memory(uint64_t *total_bytes, uint64_t *free_bytes)
{
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    bool known = GlobalMemoryStatusEx(&memory);
    *total_bytes = known ? memory.ullTotalPhys : 0;
    *free_bytes = known ? memory.ullAvailPhys : 0;
}

int uname(struct utsname *name)
{
    typedef LONG(WINAPI * get_version)(OSVERSIONINFOW *);
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    /* GetVersionEx tells programs what they want to hear */
    void *address = (void *)GetProcAddress(GetModuleHandleA("ntdll.dll"), "RtlGetVersion");
    if (!address || ((get_version)address)(&version) != 0)
        return -1;
    snprintf(name->sysname, sizeof name->sysname, "Windows");
    snprintf(name->release, sizeof name->release, "%lu.%lu.%lu", version.dwMajorVersion, version.dwMinorVersion,
             version.dwBuildNumber);
    snprintf(name->machine, sizeof name->machine, "x86_64");
    return 0;
}

static void use_slashes(char *path)
{
    for (; *path; path++)
        if (*path == '\\')
            *path = '/';
}

static bool path_of_module(HMODULE module, char *out, size_t room)
{
    DWORD length = GetModuleFileNameA(module, out, (DWORD)room);
    if (length == 0 || length >= room) {
        *out = 0;
        return false;
    }
    use_slashes(out);
    return true;
}

bool os_program_path(char *out, size_t room)
{
    return path_of_module(NULL, out, room);
}

int os_open_unnamed(const char *folder, mode_t mode)
{
    (void)folder, (void)mode;
    errno = ENOTSUP;
    return -1;
}

/* ---- libraries ----------------------------------------------------------------------------- */

static _Thread_local char why_not[512];

/* Those that are not called there as they are called elsewhere. */
static const char *const names[][2] = {
    {"libwebgpu_dawn.so", "webgpu_dawn.dll"}, {"libwebgpu_dawn_2025.so", "webgpu_dawn_2025.dll"},
    {"libwgpu_native.so", "wgpu_native.dll"}, {"libvulkan.so.1", "vulkan-1.dll"},
    {"libcuda.so.1", "nvcuda.dll"},           {"libnvrtc.so", "nvrtc64_130_0.dll"},
    {"libnvrtc.so.13", "nvrtc64_130_0.dll"},  {"libnvrtc.so.12", "nvrtc64_120_0.dll"},
    {"libcurl.so.4", "libcurl-x64.dll"},
};

/* Others: libNAME.so.N is libNAME-N.dll, as compilers for Windows call it. */
void os_library_name(const char *name, char out[OS_LIBRARY_ROOM])
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i][0]) == 0) {
            snprintf(out, OS_LIBRARY_ROOM, "%s", names[i][1]);
            return;
        }
    const char *ending = strstr(name, ".so");
    if (ending && (ending[3] == '.' || ending[3] == 0))
        snprintf(out, OS_LIBRARY_ROOM, "%.*s%s%s.dll", (int)(ending - name), name, ending[3] ? "-" : "",
                 ending[3] ? ending + 4 : "");
    else
        snprintf(out, OS_LIBRARY_ROOM, "%s", name);
}

void *os_load_library(const char *name)
{
    char file[OS_LIBRARY_ROOM];
    os_library_name(name, file);
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static void note_why(const char *name)
{
    DWORD code = GetLastError();
    int used = snprintf(why_not, sizeof why_not, "%s: ", name);
    char *text = why_not + used;
    if (used < 0 || (size_t)used >= sizeof why_not ||
        !FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, text,
                        (DWORD)(sizeof why_not - (size_t)used), NULL))
        snprintf(why_not, sizeof why_not, "%.400s: error %lu", name, code);
    why_not[strcspn(why_not, "\r\n")] = 0;
}

/* By a path, libraries that it needs are looked for beside it, too. The search never includes the current folder. */
void *dlopen(const char *name, int flags)
{
    (void)flags;
    bool is_path = strchr(name, '/') || strchr(name, '\\');
    char full[PATH_MAX];
    HMODULE library = NULL;
    if (!is_path)
        library = LoadLibraryExA(name, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    else if (GetFullPathNameA(name, sizeof full, full, NULL) < sizeof full)
        library = LoadLibraryExA(full, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR);
    if (!library)
        note_why(name);
    return (void *)library;
}

void *dlsym(void *library, const char *symbol)
{
    void *address = (void *)GetProcAddress(library, symbol);
    if (!address)
        note_why(symbol);
    return address;
}

int dlclose(void *library)
{
    return FreeLibrary(library) ? 0 : -1;
}

char *dlerror(void)
{
    return why_not;
}

int dladdr(const void *address, Dl_info *info)
{
    static _Thread_local char file[PATH_MAX];
    HMODULE module;
    if (!GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            address, &module) ||
        !path_of_module(module, file, sizeof file))
        return 0;
    info->dli_fname = file;
    return 1;
}

/* ---- consoles and the environment, before main --------------------------------------------- */

static UINT input_page, output_page; /* as they were; 0: there is no console */

static void restore_console(void)
{
    if (input_page)
        SetConsoleCP(input_page);
    if (output_page)
        SetConsoleOutputCP(output_page);
}

/* Consoles take and show UTF-8 and know escape sequences as long as the program runs. */
static void set_up_console(void)
{
    static const DWORD outputs[] = {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    input_page = GetConsoleCP();
    output_page = GetConsoleOutputCP();
    if (input_page)
        SetConsoleCP(CP_UTF8);
    if (output_page)
        SetConsoleOutputCP(CP_UTF8);
    atexit(restore_console);
    for (int i = 0; i < 2; i++) {
        DWORD mode;
        HANDLE console = GetStdHandle(outputs[i]);
        if (GetConsoleMode(console, &mode))
            SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
}

__attribute__((constructor(101))) static void set_up(void)
{
    DWORD mode;
    /* bytes are read and written as they are; only lines that are typed end in CR LF */
    _set_fmode(_O_BINARY);
    if (!GetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), &mode))
        _setmode(STDIN_FILENO, _O_BINARY);
    _setmode(STDOUT_FILENO, _O_BINARY);
    _setmode(STDERR_FILENO, _O_BINARY);
    set_up_console();
    char *profile = getenv("HOME") ? NULL : getenv("USERPROFILE");
    if (profile && setenv("HOME", profile, 0) == 0 && (profile = getenv("HOME")))
        use_slashes(profile);
}

static void (*soon)(int);

static VOID CALLBACK on_timer(PVOID unused, BOOLEAN fired)
{
    (void)unused, (void)fired;
    soon(0);
}

void os_soon(uint32_t ms, void (*then)(int))
{
    HANDLE timer;
    soon = then;
    CreateTimerQueueTimer(&timer, NULL, on_timer, NULL, ms, 0, WT_EXECUTEONLYONCE);
}
