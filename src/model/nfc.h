/* nfc: Unicode's normalization form C.
 *
 * Characters and the marks on them are one code point where there is one, and marks
 * stand in their order. */
#ifndef SOLO_NFC_H
#define SOLO_NFC_H

#include "base/str.h"

/* Appends the text in this form. `plain` has a byte for each of the text's, and those
 * of the characters they went into are appended to `plain_out`; both may be NULL.
 * Bytes that are not UTF-8 become U+FFFD, each. Time is linear in the text. */
void nfc_add(const char *text, size_t bytes, const char *plain, str *out, str *plain_out);
/* Form D: characters and their marks apart. */
void nfd_add(const char *text, size_t bytes, const char *plain, str *out, str *plain_out);

#endif
