/* api_device: for tests of include/solo.h as someone else's program uses it: the device that they share, and what fails. */
#ifndef SOLO_TEST_API_DEVICE_H
#define SOLO_TEST_API_DEVICE_H

#include "solo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static solo_device *device;

static inline void ok(bool good, const solo_error *e)
{
    if (!good)
        fail_msg("%s", e->text);
}

#define FAILS(call, wanted, part) \
    do { \
        solo_error e = {0}; \
        assert_false(call); \
        if (e.status != (wanted) || !strstr(e.text, part)) \
            fail_msg("'%s' was expected in error %d: '%s'", part, e.status, e.text); \
    } while (0)

static inline int open_named(const char *impl)
{
    solo_error e = {0};
    device = solo_device_open(impl, &e);
    return device ? 0 : -1;
}

static inline int open_dawn(void **unused)
{
    (void)unused;
    return open_named("dawn");
}

static inline int shut(void **unused)
{
    (void)unused;
    solo_device_close(device);
    return 0;
}

#endif
