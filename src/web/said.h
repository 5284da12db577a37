/* said: what C has to say after a call from the page, as JSON or as an error's text, and memory for what the page says. */
#ifndef SOLO_WEB_SAID_H
#define SOLO_WEB_SAID_H

#include "base/jsonw.h"
#include "base/str.h"

#define EXPORT(name) __attribute__((export_name(#name)))

str *said_anew(void);   /* empty */
jsonw said_begin(void); /* an object, whose end is the caller's */

#endif
