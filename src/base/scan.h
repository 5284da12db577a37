/* scan: numbers in a text whose form is known. (sscanf does that, too, but brings 10 kB, reading floats, into a page.) */
#ifndef SOLO_SCAN_H
#define SOLO_SCAN_H

#include <stdint.h>

/* `form` is the text with a # for each number, which has digits only and is at most UINT32_MAX. Returns what follows, or
 * NULL if `text` does not begin so. */
const char *scan_numbers(const char *text, const char *form, uint32_t numbers[]);

#endif
