/* solo run: a text continued by a model. */
#include "base/file.h"
#include "cli/cli.h"
#include "cli/run_program.h"
#include "cli/sampling_options.h"
#include "model/pt2.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    cli_model model;
    sampling_options sampling;
    program_options program;
    const char *prompt, *file, *session;
    long tokens;
    bool slide;
    bool reads_input; /* because there is neither a text nor a file */
} options;

static const char NO_TEXT[] = "a text (-p), a file (-f) or standard input is needed (solo run --help)";

static const option TABLE[] = {
    {.name = "prompt",
     .letter = 'p',
     .value = "TEXT",
     .in_usage = true,
     INTO(options, prompt),
     .help = "the text to continue"},
    {.name = "file",
     .letter = 'f',
     .value = "FILE",
     .files = OPTION_FILES,
     .in_usage = true,
     INTO(options, file),
     .help = "the text is in this file, without the end of its last line; - is standard input",
     .otherwise = "standard input, if that is no terminal and there is no -p"},
    {.letter = 'n',
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 1000000,
     .in_usage = true,
     INTO(options, tokens),
     .help = "how many tokens at most"},
    {.name = "slide",
     .kind = OPTION_FLAG,
     INTO(options, slide),
     .help = "a full context forgets its older half and goes on, instead of being the end"},
    {.name = "session",
     .value = "FILE",
     .files = OPTION_FILES,
     INTO(options, session),
     .help = "go on with the text in this file, if it is there, and save it there at the end"},
    {0}};

static const options DEFAULTS = {.sampling.seed = -1, .tokens = 128};

/* There is a text to go on with. */
static bool has_session(const options *o)
{
    return o->session && file_exists(o->session);
}

/* The first option that says something about a text, which a program does not make; NULL: there is none. */
static const char *text_option(const options *o)
{
    const cli_model *m = &o->model;
    const struct {
        bool given;
        const char *name;
    } options[] = {{m->loras.count, "--lora"},
                   {m->check_tensors, "--check-tensors"},
                   {m->wait, "--wait"},
                   {m->chunk_ms, "--chunk"},
                   {o->tokens != DEFAULTS.tokens, "-n"},
                   {o->slide, "--slide"},
                   {o->sampling.stops.count, "--stop"},
                   {o->sampling.context_tok, "-c"},
                   {o->sampling.cache, "--cache-type"},
                   {memcmp(&o->sampling.how, &DEFAULTS.sampling.how, sizeof o->sampling.how) != 0,
                    "how tokens are chosen (--temp and the like)"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given)
            return options[i].name;
    return NULL;
}

static bool check(void *chosen, err *e)
{
    options *o = chosen;
    bool is_program = o->model.path && pt2_is_path(o->model.path);
    if (is_program && (o->prompt || o->file || o->session))
        return err_set_kind(e, ERR_USAGE, "a .pt2 file is run with --input, not with a text");
    if (!is_program && (o->program.inputs.count || o->program.folder))
        return err_set_kind(e, ERR_USAGE, "--input and --out go with a .pt2 file");
    if (is_program && text_option(o))
        return err_set_kind(e, ERR_USAGE, "%s: of models that make texts, which a .pt2 file does not", text_option(o));
    if (is_program)
        return true;
    if (o->prompt && o->file)
        return err_set_kind(e, ERR_USAGE, "-p and -f are both texts: only one of them is taken (solo run --help)");
    if (!cli_session_writable(o->session, "run", e))
        return false;
    if (!o->prompt && !o->file && has_session(o) && isatty(STDIN_FILENO))
        o->prompt = "";
    if (!o->prompt && !o->file) {
        if (isatty(STDIN_FILENO))
            return err_set_kind(e, ERR_USAGE, "%s", NO_TEXT);
        o->reads_input = true;
        o->file = "-";
    }
    return true;
}

/* The text to continue. */
static bool read_prompt(const options *o, str *text, err *e)
{
    if (o->prompt) {
        str_add(text, o->prompt);
        return true;
    }
    if (!cli_read_text(o->file, text, e))
        return false;
    str_add(text, "");
    /* where nothing says what to read, nothing to read is a mistake */
    if (o->reads_input && text->length == 0 && !has_session(o))
        return err_set_kind(e, ERR_USAGE, "%s", NO_TEXT);
    if (text->length && text->data[text->length - 1] == '\n')
        text->length -= text->length > 1 && text->data[text->length - 2] == '\r' ? 2 : 1; /* as Windows ends lines */
    return true;
}

typedef struct printed {
    bool any, unheard;
} printed;

static void print(void *context, const char *text, size_t bytes)
{
    printed *p = context;
    cli_print_text(text, bytes);
    *p = (printed){true, ferror(stdout) != 0};
}

/* Only on a terminal, not in a pipe. */
static void print_speed(const answer_report *r, fusion_level level)
{
    if (r->answer_tok == 0 || !isatty(STDOUT_FILENO) || !isatty(err_descriptor))
        return;
    fprintf(stderr, "%u tokens", r->answer_tok);
    if (r->answer_tok > 1 && r->tok_per_s > 0)
        fprintf(stderr, ", %.1f tok/s", r->tok_per_s);
    fprintf(stderr, ", the first after %.0f ms; %u read; level ", r->first_s * 1e3, r->fed_tok);
    if (r->changed_tok)
        fprintf(stderr, "%s, after %u tokens and %.2f s ", fusion_names[LEVEL_OPS], r->changed_tok, r->changed_s);
    fprintf(stderr, "%s\n", fusion_names[level]);
}

/* The prompt is printed as its tokens say it, then what follows as it comes. Stop texts
 * are looked for in what follows. */
static bool talk(const options *o, session *s, const str *text, err *e)
{
    printed p = {0};
    answer_report report = {0};
    answer_options how = {.most_tok = (uint32_t)o->tokens, .print = print, .context = &p, .unheard = &p.unheard};
    bool ok = o->session ? session_continue_on(s, text->data, text->length, true, &how, &report, e)
                         : session_continue(s, text->data, text->length, true, &how, &report, e);
    generation *n = session_generation(s);
    if (ok && report.end == ANSWER_FULL)
        fprintf(
            stderr,
            "\nsolo: the context of %u tokens is full: -c N makes it longer, --slide goes on without its older half\n",
            generation_context(n));
    if (ok || p.any)
        putchar('\n');
    cli_flush();
    cli_print_notice(n);
    print_speed(&report, generation_level(n));
    return ok;
}

/* What the command line says counts more than the file. */
static bool load_session(const options *o, bool seed_is_given, session *s, err *e)
{
    session_continues(s);
    if (!has_session(o))
        return true;
    if (!session_load(s, o->session, e))
        return false;
    sampling how = sampling_over(session_sampling(s), &o->sampling.how, &DEFAULTS.sampling.how, seed_is_given);
    session_set_sampling(s, &how);
    return true;
}

static bool run_model(const options *o, bool seed_is_given, const str *text, const model *m, gpu *g, err *e)
{
    session *s = cli_begin_session(&o->model, &o->sampling,
                                   (session_options){.generation = {.slide = o->slide, .text_waits = true}}, m, g, e);
    bool is_open = o->slide || o->session; /* how long the text gets; otherwise it is known */
    bool ok = s && (is_open || session_expect(s, text->data, text->length, (uint32_t)o->tokens, e)) &&
              cli_prepare_session(s, m, e) && (!o->session || load_session(o, seed_is_given, s, e)) &&
              talk(o, s, text, e) && (!o->session || session_save(s, o->session, e));
    session_free(s);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    options *o = chosen;
    str text = {0};
    bool seed_is_given = o->sampling.seed >= 0;
    sampling_choose_seed(&o->sampling);
    if (o->model.path && pt2_is_path(o->model.path)) {
        o->program.seed = seed_is_given ? (uint64_t)o->sampling.seed : 1;
        return cli_run_program(&o->model, &o->program, &e) ? 0 : cli_fail(&e);
    }
    model *m = read_prompt(o, &text, &e) ? cli_open_model(&o->model, &e) : NULL;
    gpu *g = m ? cli_open_model_gpu(&o->model, &e) : NULL;
    bool ok = g && run_model(o, seed_is_given, &text, m, g, &e);
    model_close(m);
    str_free(&text);
    int status = ok ? 0 : cli_fail(&e);
    cli_close_gpu(g, status);
    return status;
}

const cli_command command_run = {
    .name = "run",
    .summary = "continue a text",
    .about = "Continues a text, with the most likely token each time unless a temperature is given. On a terminal it "
             "says at the end how fast that was. A program of PyTorch (a .pt2 file) runs once.",
    .groups = {{NULL, MODEL_TABLE, offsetof(options, model)},
               {NULL, LORA_TABLE, offsetof(options, model)},
               {NULL, TABLE, 0},
               {NULL, PROGRAM_TABLE, offsetof(options, program)},
               {NULL, TEXT_TABLE, offsetof(options, sampling)},
               {"How tokens are chosen", SAMPLING_TABLE, offsetof(options, sampling)},
               {"How it runs", BEST_LEVEL_TABLE, offsetof(options, model)},
               {NULL, DEVICE_TABLE, offsetof(options, model)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
