/* solo run: a text continued by a model. */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/sampling_options.h"
#include "llm/generation.h"
#include "llm/stops.h"
#include "model/model_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    cli_model model;
    sampling_options sampling;
    const char *prompt, *file;
    long tokens;
    bool slide;
    bool reads_input; /* because there is neither a text nor a file */
} options;

static const char NO_TEXT[] = "a text (-p), a file (-f) or standard input is wanted (solo run --help)";

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
    {0}};

static bool check(void *chosen, err *e)
{
    options *o = chosen;
    if (o->prompt && o->file)
        return err_set_kind(e, ERR_USAGE, "-p and -f are both texts: only one of them is taken (solo run --help)");
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
    /* where nothing says what to read, nothing to read is a mistake */
    if (o->reads_input && text->length == 0)
        return err_set_kind(e, ERR_USAGE, "%s", NO_TEXT);
    if (text->length && text->data[text->length - 1] == '\n')
        text->length--;
    return true;
}

static void print(str *text)
{
    if (text->length)
        fwrite(text->data, 1, text->length, stdout);
    fflush(stdout);
    text->length = 0;
}

/* What is printed on the way from tokens to text. */
typedef struct printer {
    const tokenizer *t;
    decode_stream characters;
    stops stops;
    str piece, text;
} printer;

/* False once a stop text came. */
static bool print_token(printer *p, int32_t id)
{
    p->piece.length = 0;
    decode_stream_add(&p->characters, p->t, id, &p->piece);
    bool stopped = stops_add(&p->stops, p->piece.data, p->piece.length, &p->text);
    print(&p->text);
    return !stopped;
}

static void print_end(printer *p)
{
    p->piece.length = 0;
    decode_stream_end(&p->characters, &p->piece);
    stops_add(&p->stops, p->piece.data, p->piece.length, &p->text);
    stops_end(&p->stops, &p->text);
    str_add(&p->text, "\n");
    print(&p->text);
    stops_free(&p->stops);
    str_free(&p->piece);
    str_free(&p->text);
}

/* When the tokens came. */
typedef struct speed {
    double began_us, first_us, last_us;
    uint32_t tokens;
} speed;

static void count_token(speed *s)
{
    s->last_us = clock_us();
    if (s->tokens++ == 0)
        s->first_us = s->last_us;
}

/* For someone who watches; in a pipe nobody does. */
static void print_speed(const speed *s, size_t prompt_tok, fusion_level level)
{
    if (s->tokens == 0 || !isatty(STDOUT_FILENO) || !isatty(STDERR_FILENO))
        return;
    double seconds = (s->last_us - s->first_us) * 1e-6;
    fprintf(stderr, "%u tokens", s->tokens);
    if (s->tokens > 1 && seconds > 0)
        fprintf(stderr, ", %.1f tok/s", (s->tokens - 1) / seconds);
    fprintf(stderr, ", the first after %.0f ms; %zu read; level %s\n", (s->first_us - s->began_us) * 1e-3, prompt_tok,
            fusion_names[level]);
}

/* The prompt is printed as its tokens say it, then what follows as it comes. Stop texts
 * are looked for in what follows. */
static bool talk(const options *o, generation *n, const tokenizer *t, const token_list *prompt, err *e)
{
    printer p = {.t = t, .characters = {.strip_space = true}};
    speed s = {.began_us = clock_us()};
    if (!generation_feed(n, (const uint32_t *)prompt->ids, (uint32_t)prompt->count, e))
        return false;
    for (size_t i = 0; i < prompt->count; i++)
        print_token(&p, prompt->ids[i]);
    p.stops = stops_of(o->sampling.stops.items, o->sampling.stops.count);
    bool ok = true;
    if (!o->slide)
        generation_set_limit(n, (uint32_t)o->tokens);
    for (long i = 0; i < o->tokens; i++) {
        uint32_t next;
        if (generation_position(n) == generation_context(n) && !o->slide) {
            fprintf(stderr, "\nsolo: the context of %u tokens is full\n", generation_context(n));
            break;
        }
        ok = generation_next(n, &next, e);
        if (ok)
            count_token(&s);
        if (!ok || tokenizer_ends(t, (int32_t)next) || !print_token(&p, (int32_t)next))
            break;
    }
    print_end(&p);
    cli_print_notice(n);
    print_speed(&s, prompt->count, generation_level(n));
    return ok;
}

static bool run_model(const options *o, const str *text, const model *m, gpu *g, err *e)
{
    token_list prompt = {0};
    tokenizer *t = tokenizer_of_model(m, e);
    generation *n = t ? generation_new(g, m,
                                       &(generation_options){.level = cli_level_on(&o->model, g),
                                                             .chunk_ms = (uint32_t)o->model.chunk_ms,
                                                             .submit = SUBMIT_BATCH,
                                                             .context_tok = o->sampling.context_tok,
                                                             .slide = o->slide},
                                       e)
                      : NULL;
    if (n) {
        uint32_t ends[TOKENIZER_MAX_ENDS];
        generation_set_sampling(n, &o->sampling.how);
        generation_set_stops(n, ends, tokenizer_list_ends(t, ends));
        cli_print_notice(n);
    }
    bool ok = n && tokenizer_encode(t, text->data, text->length, true, tokenizer_adds_bos(t), &prompt, e);
    if (ok && prompt.count == 0)
        ok = err_set(e, "the text is empty, and this model begins no text by itself");
    ok = ok && talk(o, n, t, &prompt, e);
    token_list_free(&prompt);
    generation_free(n);
    tokenizer_free(t);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    options *o = chosen;
    str text = {0};
    sampling_choose_seed(&o->sampling);
    model *m = read_prompt(o, &text, &e) ? model_open(o->model.path, &e) : NULL;
    gpu *g = m ? cli_open_model_gpu(&o->model, &e) : NULL;
    bool ok = g && run_model(o, &text, m, g, &e);
    gpu_close(g);
    model_close(m);
    str_free(&text);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {.sampling.seed = -1, .tokens = 128};

const cli_command command_run = {
    .name = "run",
    .summary = "continue a text",
    .about = "Continues a text, with the most likely token each time unless a temperature is given. On a terminal it "
             "says at the end how fast that was.",
    .groups = {{NULL, MODEL_TABLE, offsetof(options, model)},
               {NULL, TABLE, 0},
               {NULL, TEXT_TABLE, offsetof(options, sampling)},
               {"How tokens are chosen", SAMPLING_TABLE, offsetof(options, sampling)},
               {"How it runs", BEST_LEVEL_TABLE, offsetof(options, model)},
               {NULL, DEVICE_TABLE, offsetof(options, model)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
