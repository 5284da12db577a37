/* solo info: the implementations and adapters that work here. */
#include "base/file.h"
#include "base/version.h"
#include "cli/cli.h"
#include "lab/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void human_bytes(uint64_t bytes, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit < 5) {
        value /= 1024;
        unit++;
    }
    snprintf(out, 32, value >= 100 || value == (int)value ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

static void print_memory(const gpu_info *i)
{
    char total[32], available[32];
    human_bytes(i->memory_bytes, total);
    human_bytes(i->memory_free_bytes, available);
    if (i->memory_bytes && i->memory_free_bytes)
        printf("         memory %s, %s of it free\n", total, available);
    else if (i->memory_bytes)
        printf("         memory %s\n", total);
}

static void print_device(const lab_device *d)
{
    const gpu_info *i = &d->info;
    char buffer[32], binding[32], shared[32], subgroups[48] = "no subgroups";
    human_bytes(i->max_buffer_bytes, buffer);
    human_bytes(i->max_storage_binding_bytes, binding);
    human_bytes(i->max_workgroup_bytes, shared);
    if (i->has_subgroups)
        snprintf(subgroups, sizeof subgroups, "subgroups of %u", i->subgroup_max);
    printf("%-8s %s\n", i->impl, i->device);
    printf("         %s, %s, %s; %s\n", gpu_type_name(i->type), i->backend, i->driver, i->impl_version);
    if (i->library[0])
        printf("         %s\n", i->library);
    printf("         %s, %s, %s, %s\n", subgroups, i->has_f16 ? "f16" : "no f16",
           i->has_timestamps ? "timestamps" : "no timestamps",
           i->has_packed_dot ? "packed integer dot" : "no packed integer dot");
    if (i->has_matrix)
        printf("         matrix units: f16 with sums in f32, %s (rows x columns x depth)\n", i->matrix_shapes);
    printf("         buffer %s, binding %s, %u storage buffers, workgroup %u threads and %s\n", buffer, binding,
           i->max_storage_buffers, i->max_workgroup_threads, shared);
    print_memory(i);
    printf("         %u workgroups of 256 threads resident at once, copy %.1f GB/s\n\n", d->resident_workgroups,
           d->copy_gbps);
}

typedef struct options {
    const char *list;
    bool json;
    gpu_adapter_want adapter;
} options;

static const option TABLE[] = {{.name = "json",
                                .kind = OPTION_FLAG,
                                .in_usage = true,
                                INTO(options, json),
                                .help = "one JSON object on standard output"},
                               {.name = "impl",
                                .value = "LIST",
                                .names = cli_impl_name,
                                .lists = true,
                                .files = OPTION_FILES,
                                INTO(options, list),
                                .help = "only these of {names}, separated by commas; a library's path is taken, too",
                                .otherwise = "dawn,wgpu,vulkan,cuda"},
                               {0}};

typedef struct finding {
    char impl[256];
    lab_device device;
    err why_not;
} finding;

/* Beside a GPU there may be software for the same implementation: another adapter. */
static bool look_for_software(const finding *gpu_found, finding *f)
{
    gpu_type type = gpu_found->device.info.type;
    if (!gpu_found->device.g || type == GPU_TYPE_SOFTWARE || type == GPU_TYPE_NONE)
        return false;
    *f = (finding){0};
    strcpy(f->impl, gpu_found->impl);
    gpu_choice choice = {.impl = f->impl, .adapter = GPU_ADAPTER_SOFTWARE};
    return lab_device_open(&f->device, &choice, true, &f->why_not);
}

/* Opens each in turn, and each of its adapters. */
static int look(const options *o, finding *found, int most, err *e)
{
    char *list = mem_dup(o->list ? o->list : "dawn,wgpu,vulkan,cuda"), *save;
    int count = 0;
    for (char *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        if (count + 1 >= most || strlen(name) >= sizeof found->impl) {
            err_set_kind(e, ERR_USAGE, "--impl takes up to %d names of up to %zu letters", most / 2,
                         sizeof found->impl - 1);
            break;
        }
        finding *f = &found[count++];
        *f = (finding){0};
        strcpy(f->impl, name);
        lab_device_open(&f->device, &(gpu_choice){.impl = f->impl, .adapter = o->adapter}, true, &f->why_not);
        if (f->why_not.kind == ERR_USAGE) {
            err_set_kind(e, ERR_USAGE, "%s", f->why_not.text);
            break;
        }
        if (o->adapter == GPU_ADAPTER_ANY && look_for_software(f, &found[count]))
            count++;
    }
    free(list);
    if (count == 0)
        err_set_kind(e, ERR_USAGE, "--impl names no implementation");
    return count;
}

static void write_json(const finding *found, int count, str *out)
{
    jsonw j = jsonw_to(out);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "solo", solo_version);
    jsonw_text(&j, "commit", solo_commit);
    jsonw_array(&j, "gpus");
    for (int i = 0; i < count; i++)
        if (found[i].device.g)
            lab_device_write(&found[i].device, &j, NULL);
    jsonw_end(&j);
    jsonw_array(&j, "missing");
    for (int i = 0; i < count; i++)
        if (!found[i].device.g) {
            jsonw_object(&j, NULL);
            jsonw_text(&j, "impl", found[i].impl);
            jsonw_text(&j, "why", found[i].why_not.text);
            jsonw_end(&j);
        }
    jsonw_end(&j);
    jsonw_end(&j);
}

static int run(void *chosen)
{
    enum { MOST = 32 };
    err e = {0};
    const options *o = chosen;
    finding found[MOST];
    int count = look(o, found, MOST, &e), working = 0, status = ERR_NO_GPU;
    if (e.kind != ERR_NONE) {
        for (int i = 0; i < count; i++)
            lab_device_close(&found[i].device);
        return cli_fail(&e);
    }
    for (int i = 0; i < count; i++) {
        if (found[i].device.g)
            working++;
        else if (found[i].why_not.kind != ERR_NO_GPU)
            status = found[i].why_not.kind;
    }
    if (o->json) {
        str out = {0};
        write_json(found, count, &out);
        file_write("-", out.data, out.length, &e);
        str_free(&out);
    } else {
        for (int i = 0; i < count; i++)
            if (found[i].device.g)
                print_device(&found[i].device);
    }
    for (int i = 0; i < count; i++) {
        if (!found[i].device.g && (!o->json || !working))
            fprintf(working ? stdout : stderr, working ? "not here: %s\n" : "solo: %s\n", found[i].why_not.text);
        lab_device_close(&found[i].device);
    }
    if (e.kind != ERR_NONE)
        return cli_fail(&e);
    return working ? 0 : status;
}

static const options DEFAULTS = {0};

const cli_command command_info = {
    .name = "info",
    .summary = "the implementations and adapters that work here",
    .about =
        "Opens every implementation (dawn, wgpu, vulkan, cuda), checks each feature with a shader that uses it, finds "
        "how many workgroups are resident at once, and measures copy bandwidth.",
    .notes =
        "SOLO_DAWN and SOLO_WGPU name other libraries for dawn and wgpu; SOLO_GPU_MEMORY=BYTES says how much memory "
        "there is, where that is not to be found out. Compiled kernels, tuning and verdicts about devices are kept "
        "between "
        "runs in ~/.cache/solo: SOLO_CACHE=DIR names another folder, SOLO_CACHE=off keeps nothing.",
    .groups = {{NULL, TABLE, 0}, {NULL, ADAPTER_TABLE, offsetof(options, adapter)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
