/* text: the WGSL module of a simulation: its file, then kernels/sim_runtime and the functions that depend on the
 * file. */
#include "sim/text.h"
#include "base/str.h"
#include "launch/kernel_file.h"
#include "sim/builtin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- going through a State ------------------------------------------------------------ */

/* Called for each word: its number (an expression), and its name in WGSL. */
typedef void (*word_writer)(str *out, const char *word, const char *access, sim_scalar type);

enum { WRITTEN_OUT = 4 }; /* arrays of more elements become loops */

static void each_word(str *out, const sim_type *t, uint32_t word, const char *plus, const char *access, int depth,
                      word_writer write)
{
    str inner = {0}, place = {0};
    if (t->kind == SIM_SCALAR) {
        str_addf(&place, "%uu%s", word, plus);
        write(out, place.data, access, t->scalar);
        str_free(&place);
        return;
    }
    bool loops = t->kind == SIM_ARRAY && t->count > WRITTEN_OUT;
    if (loops)
        str_addf(out, "    for (var k%d = 0u; k%d < %uu; k%d++) {\n", depth, depth, t->count, depth);
    for (uint32_t i = 0; i < (loops ? 1 : t->count); i++) {
        static const sim_type OF[] = {{.kind = SIM_SCALAR, .scalar = SIM_F32, .words = 1},
                                      {.kind = SIM_SCALAR, .scalar = SIM_I32, .words = 1},
                                      {.kind = SIM_SCALAR, .scalar = SIM_U32, .words = 1}};
        const sim_type *of = t->kind == SIM_VECTOR ? &OF[t->scalar] : t->kind == SIM_ARRAY ? t->of : t->members[i].type;
        inner.length = place.length = 0;
        str_add(&place, plus);
        if (loops) {
            str_addf(&inner, "%s[k%d]", access, depth);
            str_addf(&place, " + k%d * %uu", depth, of->words);
        } else if (t->kind == SIM_VECTOR)
            str_addf(&inner, "%s.%c", access, "xyzw"[i]);
        else if (t->kind == SIM_ARRAY)
            str_addf(&inner, "%s[%u]", access, i);
        else
            str_addf(&inner, "%s.%s", access, t->members[i].name);
        each_word(out, of, word, place.data, inner.data, depth + 1, write);
        word += of->words;
    }
    if (loops)
        str_add(out, "    }\n");
    str_free(&inner);
    str_free(&place);
}

static void write_load(str *out, const char *word, const char *access, sim_scalar type)
{
    str_addf(out, "    %s = bitcast<%s>(solo_states_load(solo_half + (%s) * solo_params.population + i));\n", access,
             sim_scalar_names[type], word);
}

static void write_store(str *out, const char *word, const char *access, sim_scalar type)
{
    (void)type;
    str_addf(out, "    solo_states_store(solo_half + (%s) * solo_params.population + i, bitcast<u32>(%s));\n", word,
             access);
}

static void write_seal(str *out, const char *word, const char *access, sim_scalar type)
{
    (void)word;
    if (type == SIM_F32)
        str_addf(out, "    %s = bitcast<f32>(bitcast<u32>(%s) ^ solo_params.launch.zero);\n", access, access);
}

static void write_trace(str *out, const char *word, const char *access, sim_scalar type)
{
    (void)type;
    str_addf(out, "    solo_traced[(row * SOLO_WORDS + (%s)) * solo_params.trace_count + i] = bitcast<u32>(%s);\n",
             word, access);
}

static void add_memory(str *out, const sim_source *s)
{
    const sim_type *t = s->state;
    str_addf(out, "const SOLO_WORDS = %uu;\nconst SOLO_COUPLED = %s;\n", t->words, s->is_coupled ? "true" : "false");
    str_add(out, "var<private> solo_half: u32; // where the states lie that are read and written now\n");
    str_addf(out, "fn solo_at_step(t: u32) {%s}\n",
             s->is_coupled ? " solo_half = (t & 1u) * SOLO_WORDS * solo_params.population; " : "");
    str_addf(out, "fn solo_clock(i: u32) -> u32 { return %uu * SOLO_WORDS * solo_params.population + i; }\n",
             s->is_coupled ? 2 : 1);
    str_add(out, "fn solo_load(i: u32) -> State {\n    var s: State;\n");
    each_word(out, t, 0, "", "s", 0, write_load);
    str_add(out, "    return s;\n}\nfn solo_store(i: u32, state: State) {\n    var s = state;\n");
    each_word(out, t, 0, "", "s", 0, write_store);
    str_add(
        out,
        "}\n// Compilers may join a product at the end of one step with a sum in the next, where they see both, and "
        "round\n"
        "// once instead of twice. They do not look through this, so steps give the same bits however they are run.\n"
        "fn solo_sealed(state: State) -> State {\n    var s = state;\n");
    each_word(out, t, 0, "", "s", 0, write_seal);
    str_add(out, "    return s;\n}\n");
}

static void add_trace(str *out, const sim_source *s, bool traces)
{
    str_addf(out, "const SOLO_TRACES = %s;\n", traces ? "true" : "false");
    if (!traces) {
        str_add(out, "fn solo_trace(s: State, i: u32, t: u32) {}\n");
        return;
    }
    str_add(out, "fn solo_trace(state: State, i: u32, t: u32) {\n"
                 "    if (i >= solo_params.trace_count || t % solo_params.trace_every != 0u) { return; }\n"
                 "    let row = t / solo_params.trace_every;\n    var s = state;\n");
    each_word(out, s->state, 0, "", "s", 0, write_trace);
    str_add(out, "}\n");
}

/* ---- other individuals, data -------------------------------------------------------------- */

static const wgsl_member *state_member(const sim_source *s, const char *name)
{
    const wgsl_declaration *d = wgsl_find(&s->file, WGSL_STRUCT, "State");
    for (uint32_t i = 0; i < d->count; i++)
        if (strcmp(d->members[i].name, name) == 0)
            return &d->members[i];
    return NULL;
}

/* other(j), and other_NAME(j) for each member that the file uses: only these are read. */
static void add_others(str *out, const sim_source *s)
{
    uint32_t word = 0;
    if (!s->is_coupled)
        return;
    str_add(out, "var<private> solo_other_asked: u32;\n");
    str_add(out, "fn solo_near(j: u32) -> u32 {\n"
                 "    solo_other_asked = max(solo_other_asked, j);\n"
                 "    return min(j, solo_params.population - 1u);\n}\n"
                 "fn other(j: u32) -> State { return solo_load(solo_near(j)); }\n");
    for (uint32_t i = 0; i < s->state->count; i++) {
        const sim_member *m = &s->state->members[i];
        char name[WGSL_NAME_BYTES + 8];
        snprintf(name, sizeof name, "other_%s", m->name);
        if (wgsl_calls(&s->file, name)) {
            str_addf(out, "fn %s(j: u32) -> %s {\n    let i = solo_near(j);\n    var s: %s;\n", name,
                     state_member(s, m->name)->type, state_member(s, m->name)->type);
            each_word(out, m->type, word, "", "s", 0, write_load);
            str_add(out, "    return s;\n}\n");
        }
        word += m->type->words;
    }
}

/* An index outside the table reads its first element and is reported to the host. No branches: loops over columns then
 * share the check of the row. */
static void add_data(str *out, const sim_source *s, const sim_text_choice *c)
{
    if (!s->uses_data)
        return;
    str_addf(out,
             "fn data_rows() -> u32 { return %uu; }\nfn data_columns() -> u32 { return %uu; }\n"
             "var<private> solo_strayed: u32;\n"
             "fn data(row: u32, column: u32) -> f32 {\n"
             "    let there = row < %uu && column < %uu;\n"
             "    solo_strayed = select(max(row, 1u), solo_strayed, there);\n"
             "    return solo_data[select(0u, row, there) * %uu + select(0u, column, there)];\n}\n",
             c->data_rows, c->data_columns, c->data_rows, c->data_columns, c->data_columns);
}

/* For genes and other individuals, the highest index is enough, which a loop may check at its end. */
static void add_genes(str *out, const sim_source *s, const sim_text_choice *c)
{
    enum { MOST_OWN_GENES = 512 };
    bool many_steps = c->form == SIM_TEXT_FUSED || c->form == SIM_TEXT_GENERATIONS;
    if (!s->genes) {
        str_add(out, "fn solo_is(i: u32) {}\n");
        return;
    }
    str_addf(out, "const SOLO_GENES = %uu;\nvar<private> solo_gene_asked: u32;\n", s->genes);
    if (c->own_genes && many_steps && s->genes <= MOST_OWN_GENES)
        str_add(out, "var<private> solo_own: array<f32, SOLO_GENES>; // read in every step: nearer than the buffer\n"
                     "fn solo_is(i: u32) {\n"
                     "    for (var k = 0u; k < SOLO_GENES; k++) { solo_own[k] = solo_genomes[k * "
                     "solo_params.population + i]; }\n"
                     "}\n"
                     "fn solo_gene(k: u32) -> f32 { return solo_own[k]; }\n");
    else
        str_add(out,
                "var<private> solo_individual: u32;\n"
                "fn solo_is(i: u32) { solo_individual = i; }\n"
                "fn solo_gene(k: u32) -> f32 { return solo_genomes[k * solo_params.population + solo_individual]; }\n");
    str_add(out, "fn gene(k: u32) -> f32 {\n"
                 "    solo_gene_asked = max(solo_gene_asked, k);\n"
                 "    return solo_gene(min(k, SOLO_GENES - 1u));\n}\n");
}

/* At its end a thread reports indices out of range to the host. */
static void add_strays(str *out, const sim_source *s)
{
    str_add(out, "fn solo_note_strays() {\n");
    if (s->uses_data)
        str_add(out, "    if (solo_strayed != 0u) { atomicMax(&solo_grid[SOLO_NO_ROW], solo_strayed); }\n");
    if (s->genes)
        str_add(out,
                "    if (solo_gene_asked >= SOLO_GENES) { atomicMax(&solo_grid[SOLO_NO_GENE], solo_gene_asked); }\n");
    if (s->is_coupled)
        str_add(out, "    if (solo_other_asked >= solo_params.population) { atomicMax(&solo_grid[SOLO_NO_OTHER], "
                     "solo_other_asked); }\n");
    str_add(out, "}\n");
}

/* ---- calling the file's functions ----------------------------------------------------------- */

static bool takes_rng(const wgsl_declaration *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (strncmp(d->members[i].type, "ptr<", 4) == 0)
            return true;
    return false;
}

static void add_call(str *out, const wgsl_declaration *d)
{
    str_addf(out, "%s(", d->name);
    for (uint32_t i = 0; i < d->count; i++) {
        const wgsl_member *m = &d->members[i];
        const char *given = strcmp(m->type, "State") == 0 ? "s" : strncmp(m->type, "ptr<", 4) == 0 ? "&rng" : m->name;
        str_addf(out, "%s%s", i ? ", " : "", given);
    }
    str_add(out, ")");
}

static void add_calls(str *out, const sim_source *s)
{
    /* random numbers of init belong to a step before the first */
    str_addf(out, "fn solo_begin(i: u32) -> State {\n%s    return solo_sealed(",
             takes_rng(s->init) ? "    var rng = solo_rng(i, 0xffffffffu);\n" : "");
    add_call(out, s->init);
    str_addf(out, ");\n}\nfn solo_next(s: State, i: u32, t: u32) -> State {\n%s    return solo_sealed(",
             takes_rng(s->step) ? "    var rng = solo_rng(i, t);\n" : "");
    add_call(out, s->step);
    str_add(out, ");\n}\nfn solo_score(s: State, i: u32) -> f32 { return ");
    add_call(out, s->score);
    str_add(out, "; }\nfn solo_ends(s: State, i: u32, t: u32) -> bool { return ");
    if (s->done)
        add_call(out, s->done);
    else
        str_add(out, "false");
    str_add(out, "; }\n");
}

/* ---- all of it -------------------------------------------------------------------------------- */

static void add_part(str *out, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "sim_runtime/%s.wgsl", name);
    kernel_file_add(path, NULL, out);
}

/* Memory of this form, and how its workgroups wait for each other. */
static void add_launch(str *out, const sim_text_choice *c)
{
    bool waits = c->form == SIM_TEXT_COUPLED || c->form == SIM_TEXT_GENERATIONS;
    if (!waits || c->single) {
        kernel_file_add("include/persistent_single.wgsl", NULL, out);
        add_part(out, "memory_plain");
        return;
    }
    kernel_file_add("include/persistent.wgsl", NULL, out);
    add_part(out, "memory_atomic");
    kernel_file_add("include/exchange.wgsl", "solo_states", out);
    kernel_file_add("include/exchange.wgsl", "solo_scores", out);
    kernel_file_add("include/exchange.wgsl", "solo_shared", out);
}

char *sim_text(const sim_source *s, const sim_text_choice *c)
{
    static const char *const forms[] = {"fused", "each", "coupled", "generations"};
    char *text = sim_source_text(s);
    str out = {0};
    str_add(&out, text);
    free(text);
    str_addf(&out, "\n// ---- what Solo adds\nconst SOLO_THREADS = %uu;\n", c->threads);
    add_part(&out, "rng");
    add_launch(&out, c);
    add_part(&out, "run");
    add_data(&out, s, c);
    add_genes(&out, s, c);
    add_memory(&out, s);
    add_others(&out, s);
    add_strays(&out, s);
    add_trace(&out, s, c->traces);
    add_calls(&out, s);
    if (c->form == SIM_TEXT_GENERATIONS)
        str_addf(&out,
                 "const SOLO_GENE_LOW = %.9g;\nconst SOLO_GENE_HIGH = %.9g;\n"
                 "const SOLO_GENES_BOUNDED = %s;\nconst SOLO_HISTORY = %du;\n",
                 s->gene_low, s->gene_high, s->genes_bounded ? "true" : "false", SIM_HISTORY);
    add_part(&out, forms[c->form]);
    return out.data;
}

char *sim_text_cuda(const sim_source *s, sim_cuda_choice how)
{
    const char *own = sim_builtin_cuda(s->path), *wgsl = sim_builtin(s->path);
    str out = {0};
    if (!own || !wgsl || strcmp(wgsl, s->file.text) != 0)
        return NULL;
    if (how.fast)
        str_add(&out, "#define SOLO_FAST\n");
    if (how.loops)
        str_add(&out, "#define SOLO_LOOPS\n");
    for (uint32_t i = 0; i < s->file.constant_count; i++) {
        const wgsl_constant *c = &s->file.constants[i];
        double value;
        if (c->is_override && wgsl_constant_value(&s->file, c, &value))
            str_addf(&out, c->type[0] == 'f' ? "#define %s ((float)%.9g)\n" : "#define %s %.0fu\n", c->name, value);
    }
    kernel_file_add("sim_runtime/run.cu", NULL, &out);
    str_add(&out, own);
    return out.data;
}

void sim_text_error(const sim_source *s, err *e)
{
    const char *mark = strstr(e->text, "WGSL line ");
    unsigned line = 0, lines = 1;
    int n = 0;
    if (!mark || sscanf(mark, "WGSL line %u: %n", &line, &n) != 1 || n == 0)
        return;
    for (const char *p = s->file.text; *p; p++)
        lines += *p == '\n';
    err was = *e;
    const char *why = was.text + (mark - e->text) + n;
    err_clear(e);
    if (line <= lines)
        err_set_kind(e, was.kind, "%s:%u: %s", s->path, line, why);
    else
        err_set_kind(e, was.kind, "%s: does not fit what Solo adds to it: %s", s->path, why);
}
