/* What a page calls for programs of PyTorch (web/torch.js): .pt2 files and runs of them, as exports of a wasm module
 * of its own, which is fetched when the first such file is opened.
 *
 * One device, any number of programs on it. A call returns a status of solo_error's, or a program; its reply, JSON
 * or an error's text, is then at solo_said(). Calls may suspend, and only one may be in progress. */
#include "gpu/gpu.h"
#include "base/str.h"
#include "llm/program_run.h"
#include "model/pt2.h"
#include "web/reply.h"

#include <stdlib.h>
#include <string.h>

enum { STATUS_FAILED = 1 };

static gpu *device;

typedef struct torch_program {
    void *bytes; /* of the file */
    pt2 *file;
    graph_run *run;
} torch_program;

static int failed(const err *e)
{
    str_add(reply_text(), e->text);
    return e->kind ? (int)e->kind : STATUS_FAILED;
}

static int ended(bool ok, const err *e)
{
    if (!ok)
        return failed(e);
    reply_text();
    return 0;
}

/* ---- the device ----------------------------------------------------------------- */

EXPORT(torch_close) void torch_close(void)
{
    if (device)
        gpu_close(device);
    device = NULL;
}

EXPORT(torch_open) int torch_open(int adapter)
{
    err e = {0};
    torch_close();
    device = gpu_open_now(&(gpu_choice){.impl = "web", .adapter = (gpu_adapter_want)adapter}, &e);
    if (!device)
        return failed(&e);
    jsonw j = reply_begin();
    jsonw_text(&j, "device", gpu_get_info(device)->device);
    jsonw_end(&j);
    return 0;
}

EXPORT(torch_lose) void torch_lose(void)
{
    if (device)
        gpu_lose(device);
}

/* ---- programs ------------------------------------------------------------------- */

static const char *name_of_type(int type)
{
    static const struct {
        int type;
        const char *name;
    } names[] = {{ATEN_U8, "uint8"},  {ATEN_I8, "int8"},      {ATEN_I16, "int16"},   {ATEN_I32, "int32"},
                 {ATEN_I64, "int64"}, {ATEN_F16, "float16"},  {ATEN_F32, "float32"}, {ATEN_F64, "float64"},
                 {ATEN_BOOL, "bool"}, {ATEN_BF16, "bfloat16"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].type == type)
            return names[i].name;
    return "unknown";
}

static void write_ports(jsonw *j, const char *key, const aten_port *ports, uint32_t count)
{
    jsonw_array(j, key);
    for (uint32_t i = 0; i < count; i++) {
        jsonw_object(j, NULL);
        jsonw_text(j, "name", ports[i].name);
        jsonw_text(j, "type", name_of_type(ports[i].type));
        jsonw_array(j, "shape");
        for (uint32_t d = 0; d < ports[i].rank; d++)
            jsonw_count(j, NULL, ports[i].dims[d]);
        jsonw_end(j);
        jsonw_end(j);
    }
    jsonw_end(j);
}

static void write_program(const torch_program *p)
{
    const aten_program *program = pt2_program(p->file);
    jsonw j = reply_begin();
    uint32_t count, needed;
    jsonw_count(&j, "nodes", aten_program_nodes(program, &needed));
    jsonw_count(&j, "needed", needed);
    jsonw_text(&j, "level", fusion_names[graph_run_level_of(p->run, 0)]);
    jsonw_count(&j, "dispatches", graph_run_dispatches(p->run, 0));
    jsonw_count(&j, "gpu_bytes", (double)graph_run_bytes(p->run));
    const aten_port *ports = aten_program_inputs(program, &count);
    write_ports(&j, "inputs", ports, count);
    ports = aten_program_outputs(program, &count);
    write_ports(&j, "outputs", ports, count);
    ports = aten_program_states(program, &count);
    write_ports(&j, "states", ports, count);
    jsonw_end(&j);
}

EXPORT(torch_forget) void torch_forget(torch_program *p)
{
    if (!p)
        return;
    graph_run_free(p->run);
    pt2_free(p->file);
    free(p->bytes);
    free(p);
}

/* The bytes, which solo_alloc gave, are the program's from now on. 0: it failed. */
EXPORT(torch_load) torch_program *torch_load(const char *name, void *bytes, uint32_t length, int level)
{
    err e = {0};
    torch_program *p = mem_alloc(sizeof *p);
    *p = (torch_program){bytes, pt2_from_bytes(bytes, length, name, &e), NULL};
    /* an earlier program's error is cleared, unless the device is lost */
    gpu_poll(device);
    gpu_take_error(device, NULL);
    if (p->file)
        p->run = program_run_new(device, pt2_program(p->file), (fusion_level)level, &e);
    if (p->run) {
        write_program(p);
        return p;
    }
    failed(&e);
    torch_forget(p);
    return NULL;
}

/* ---- runs ----------------------------------------------------------------------- */

static const aten_port *input_of(const torch_program *p, uint32_t i)
{
    uint32_t count;
    const aten_port *ports = aten_program_inputs(pt2_program(p->file), &count);
    return i < count ? &ports[i] : NULL;
}

/* A 32-bit word for each element. */
EXPORT(torch_write) int torch_write(torch_program *p, uint32_t input, const uint32_t *words)
{
    err e = {0};
    return ended(graph_run_write(p->run, input_of(p, input)->name, words, &e), &e);
}

/* The random numbers that `solo run` gives an input without a file. */
EXPORT(torch_fill) void torch_fill(const torch_program *p, uint32_t input, uint32_t seed, uint32_t *words)
{
    program_run_fill(input_of(p, input), seed, words);
}

EXPORT(torch_begin) int torch_begin(torch_program *p)
{
    err e = {0};
    return ended(program_run_begin(device, p->run, pt2_program(p->file), &e), &e);
}

EXPORT(torch_run) int torch_run(torch_program *p)
{
    err e = {0};
    graph_run_once(p->run, 0, SUBMIT_BATCH);
    return ended(graph_run_wait(p->run, 0, &e), &e);
}

EXPORT(torch_read) int torch_read(torch_program *p, uint32_t output, uint32_t *words)
{
    err e = {0};
    uint32_t count;
    const aten_port *ports = aten_program_outputs(pt2_program(p->file), &count);
    return ended(output < count && graph_run_read(p->run, ports[output].name, words, &e), &e);
}
