/* run_program: a program of PyTorch once: inputs from files or random, outputs printed or written. */
#include "cli/run_program.h"

#include "base/jsonw.h"
#include "cli/program_io.h"
#include "llm/program_run.h"
#include "model/pt2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const option PROGRAM_TABLE[] = {
    {.name = "input",
     .value = "[NAME=]FILE",
     .kind = OPTION_TEXTS,
     .files = OPTION_FILES,
     INTO(program_options, inputs),
     .help = "of a .pt2 file: an input, as .npy or JSON; without a name the first that has none yet",
     .otherwise = "random numbers"},
    {.name = "out",
     .value = "FOLDER",
     .files = OPTION_FOLDERS,
     INTO(program_options, folder),
     .help = "of a .pt2 file: write outputs there, as NAME.npy",
     .otherwise = "JSON on standard output"},
    {0}};

/* The file that is meant for a port: by name, or the nth without a name for the nth port that none names. */
static const char *file_for(const text_list *files, const aten_port *ports, uint32_t which)
{
    uint32_t unnamed = 0, before = 0;
    for (uint32_t p = 0; p <= which; p++) {
        const char *named = NULL;
        for (uint32_t i = 0; i < files->count; i++) {
            size_t length = strlen(ports[p].name);
            if (strncmp(files->items[i], ports[p].name, length) == 0 && files->items[i][length] == '=')
                named = files->items[i] + length + 1;
        }
        if (p == which && named)
            return named;
        before += p < which && !named;
    }
    for (uint32_t i = 0; i < files->count; i++)
        if (!strchr(files->items[i], '=') && unnamed++ == before)
            return files->items[i];
    return NULL;
}

static bool put_inputs(graph_run *r, const aten_program *p, const program_options *o, err *e)
{
    uint32_t count, used = 0;
    const aten_port *ports = aten_program_inputs(p, &count);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        const char *path = file_for(&o->inputs, ports, i);
        used += path != NULL;
        uint32_t *words = path ? program_read_file(&ports[i], path, e) : mem_alloc(ports[i].count * sizeof *words);
        if (words && !path)
            program_run_fill(&ports[i], o->seed, words);
        ok = words && graph_run_write(r, ports[i].name, words, e);
        free(words);
    }
    if (ok && used != o->inputs.count) {
        str names = {0};
        for (uint32_t i = 0; i < count; i++)
            str_addf(&names, "%s%s", i ? ", " : "", ports[i].name);
        ok = err_set_kind(e, ERR_USAGE, "an --input is for none of the program's inputs, which are: %s",
                          names.data ? names.data : "none");
        str_free(&names);
    }
    return ok;
}

/* Names are the program's own: a folder's files get none that leads elsewhere or that a terminal cannot show. */
static bool is_file_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '/')
            return false;
    return *name != 0;
}

static bool give_outputs(graph_run *r, const aten_program *p, const char *folder, err *e)
{
    uint32_t count;
    const aten_port *ports = aten_program_outputs(p, &count);
    str json = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        uint32_t *words = mem_alloc(ports[i].count * sizeof *words);
        ok = graph_run_read(r, ports[i].name, words, e);
        if (ok && folder) {
            str path = {0};
            str_addf(&path, "%s/%s.npy", folder, ports[i].name);
            ok = is_file_name(ports[i].name) || err_set(e, "the output '%s' cannot be a file's name", ports[i].name);
            ok = ok && program_write_npy(&ports[i], words, path.data, e);
            str_free(&path);
        } else if (ok) {
            jsonw name = jsonw_to(&json);
            str_add(&json, i ? ",\n " : "{");
            jsonw_text(&name, NULL, ports[i].name);
            str_add(&json, ": ");
            ok = program_write_json(&ports[i], words, &json, e);
        }
        free(words);
    }
    if (ok && !folder)
        printf("%s}\n", json.data);
    str_free(&json);
    return ok;
}

bool cli_run_program(const cli_model *m, const program_options *o, err *e)
{
    pt2 *file = pt2_open(m->path, e);
    gpu *g = file ? cli_open_model_gpu(m, e) : NULL;
    graph_run *r = g ? program_run_new(g, pt2_program(file), m->level, e) : NULL;
    bool ok = r && put_inputs(r, pt2_program(file), o, e);
    if (ok) {
        graph_run_once(r, 0, SUBMIT_BATCH);
        ok = graph_run_wait(r, 0, e) && give_outputs(r, pt2_program(file), o->folder, e);
    }
    graph_run_free(r);
    pt2_free(file);
    cli_close_gpu(g, ok ? 0 : 1);
    return ok;
}
