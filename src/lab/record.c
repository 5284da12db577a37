/* record: how every record begins (schema, version, host, GPUs, clock), samples with their summary, and checks. */
#include "lab/record.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void write_host(jsonw *j, const busy *b)
{
    struct utsname u;
    char os[512] = "unknown", cpu[128];
    if (uname(&u) == 0)
        snprintf(os, sizeof os, "%s %s %s", u.sysname, u.release, u.machine);
    os_cpu_name(cpu, sizeof cpu);
    jsonw_object(j, "host");
    jsonw_flat(j);
    jsonw_text(j, "os", os);
    jsonw_text(j, "cpu", cpu);
    jsonw_count(j, "cores", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    busy_write(b, j);
    jsonw_end(j);
}

void record_begin(jsonw *j, const char *experiment, const lab_device *devices, uint32_t count, const busy *b)
{
    char when[32];
    clock_utc(when);
    jsonw_object(j, NULL);
    jsonw_text(j, "schema", "solo-record-1");
    jsonw_object(j, "solo");
    jsonw_flat(j);
    jsonw_text(j, "version", solo_version);
    jsonw_text(j, "commit", solo_commit);
    jsonw_end(j);
    jsonw_text(j, "when", when);
    write_host(j, b);
    lab_device_write(&devices[0], j, "gpu");
    jsonw_array(j, "gpus");
    jsonw_rows(j);
    for (uint32_t i = 0; i < count; i++)
        lab_device_write(&devices[i], j, NULL);
    jsonw_end(j);
    jsonw_number(j, "clock_ns", clock_resolution_ns());
    jsonw_number(j, "clock_cost_ns", clock_cost_ns());
    jsonw_text(j, "experiment", experiment);
}

void record_samples(jsonw *j, const char *unit, samples values, const summary *s, gpu_counters counted)
{
    jsonw_text(j, "unit", unit);
    jsonw_array(j, "samples");
    for (size_t i = 0; i < s->n; i++)
        jsonw_number(j, NULL, values.values[i]);
    jsonw_end(j);
    jsonw_count(j, "n", s->n);
    jsonw_count(j, "per_process", values.group);
    jsonw_number(j, "min", s->min);
    jsonw_number(j, "p10", s->p10);
    jsonw_number(j, "median", s->median);
    jsonw_number(j, "p90", s->p90);
    jsonw_number(j, "mean", s->mean);
    jsonw_number(j, "sd", s->sd);
    jsonw_array(j, "ci95");
    jsonw_number(j, NULL, s->ci95[0]);
    jsonw_number(j, NULL, s->ci95[1]);
    jsonw_end(j);
    jsonw_count(j, "dispatches", counted.dispatches);
    jsonw_count(j, "passes", counted.passes);
    jsonw_count(j, "submits", counted.submits);
}

void record_check(jsonw *j, const char *what, bool ok, const char *detail)
{
    jsonw_object(j, NULL);
    jsonw_flat(j);
    jsonw_text(j, "what", what);
    jsonw_bool(j, "ok", ok);
    jsonw_text(j, "detail", detail);
    jsonw_end(j);
}
