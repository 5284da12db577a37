/* report_parts: the parts of a record's report; one whose results the record lacks adds nothing. */
#ifndef SOLO_REPORT_PARTS_H
#define SOLO_REPORT_PARTS_H

#include "base/str.h"
#include "lab/record_read.h"

void report_dispatch(str *out, const record_view *record);

/* Does report_dispatch show results of this name? */
bool report_dispatch_knows(const char *name);

/* Its parts that are not bars. */
void report_host_calls(str *out, const record_view *record);
void report_time_against_n(str *out, const record_view *record);
void report_submits(str *out, const record_view *record);
void report_barriers(str *out, const record_view *record);

/* The order in which known words are shown; each list ends in NULL. */
extern const char *const impl_order[], *const submit_order[], *const kernel_order[];

void kernel_title(str *out, const char *kernel);

void report_generic(str *out, const record_view *record);

#endif
