/* reply: the result of a call from the page, as JSON or as an error's text, and memory for the call's arguments. */
#ifndef SOLO_WEB_REPLY_H
#define SOLO_WEB_REPLY_H

#include "base/jsonw.h"
#include "base/str.h"

#define EXPORT(name) __attribute__((export_name(#name)))

str *reply_text(void);   /* empty */
jsonw reply_begin(void); /* an object, which the caller ends */

#endif
