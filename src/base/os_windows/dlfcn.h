/* dlfcn: libraries that are loaded while a program runs, on Windows (os_windows.c). */
#ifndef SOLO_OS_WINDOWS_DLFCN_H
#define SOLO_OS_WINDOWS_DLFCN_H

enum { RTLD_LAZY = 1, RTLD_NOW = 2, RTLD_LOCAL = 0 };

typedef struct Dl_info {
    const char *dli_fname;
} Dl_info;

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *symbol);
int dlclose(void *library);
char *dlerror(void);
int dladdr(const void *address, Dl_info *info);

#endif
