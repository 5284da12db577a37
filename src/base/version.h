/* version: what this binary is. Written by the build. */
#ifndef SOLO_VERSION_H
#define SOLO_VERSION_H

extern const char *const solo_version; /* "0.1.0" */
extern const char *const solo_commit;  /* "abc1234", "-dirty" behind it if so, or "unknown" */

extern const char *const solo_prefix; /* where it is installed; not in a page */

#endif
