/* scan: a text beside its form, character by character. */
#include "base/scan.h"

#include <stddef.h>

static const char *scan_number(const char *text, uint32_t *number)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > UINT32_MAX)
            return NULL;
    }
    *number = (uint32_t)value;
    return at > text ? at : NULL;
}

const char *scan_numbers(const char *text, const char *form, uint32_t numbers[])
{
    for (; *form; form++)
        if (*form == '#') {
            text = scan_number(text, numbers++);
            if (!text)
                return NULL;
        } else if (*text++ != *form)
            return NULL;
    return text;
}
