/* solo run: a text continued by a model. */
#include "cli/cli.h"
#include "cli/sampling_options.h"
#include "llm/generation.h"
#include "llm/stops.h"
#include "model/model_text.h"

#include <stdio.h>
#include <string.h>

static const char HELP[] = "usage: solo run [MODEL] -p TEXT [-n N] [OPTIONS] [--fuse LEVEL] [--impl I]\n\n"
                           "Continues a text, with the most likely token each time unless a temperature is given.\n\n"
                           "  MODEL               a GGUF file or a Hugging Face folder (default: the built-in model)\n"
                           "  -p TEXT             the text to continue\n"
                           "  -n N                how many tokens at most (default 128)\n";
static const char MORE_HELP[] =
    "  --slide             a full context forgets its older half and goes on, instead of being the end\n"
    "  --fuse LEVEL        none: a dispatch for each operator; ops: for each group of them; token: for each\n"
    "                      token; loop: for many tokens (default: loop on GPUs where that is seen to work, else ops)\n"
    "  --chunk MS          with loop, how long a dispatch takes at most, about (default 50)\n"
    "  --impl I            dawn, wgpu, vulkan or a library's path (default: the first that works)\n"
    "  --checked           kernels look whether they keep to their memory, as in browsers; on GPUs they do not "
    "otherwise\n";

typedef struct options {
    cli_model model;
    sampling_options sampling;
    const char *prompt;
    long tokens;
    bool help, slide;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--slide") == 0)
            o->slide = true;
        else if (strcmp(word, "-p") == 0) {
            if (!(o->prompt = cli_value(a, word)))
                return false;
        } else if (strcmp(word, "-n") == 0) {
            if (!cli_number(a, word, 1, 1000000, &o->tokens))
                return false;
        } else if (!sampling_word(a, word, &o->sampling) &&
                   (a->e->kind != ERR_NONE || !cli_model_word(a, word, &o->model)))
            return false;
    }
    if (!o->help && !o->prompt)
        return err_set_kind(a->e, ERR_USAGE, "a text (-p) is wanted (solo run --help)");
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

/* The prompt is printed as its tokens say it, then what follows as it comes. Stop texts
 * are looked for in what follows. */
static bool talk(const options *o, generation *n, const tokenizer *t, const token_list *prompt, err *e)
{
    printer p = {.t = t, .characters = {.strip_space = true}};
    if (!generation_feed(n, (const uint32_t *)prompt->ids, (uint32_t)prompt->count, e))
        return false;
    for (size_t i = 0; i < prompt->count; i++)
        print_token(&p, prompt->ids[i]);
    p.stops = stops_of(o->sampling.stops, o->sampling.stop_count);
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
        if (!ok || tokenizer_ends(t, (int32_t)next) || !print_token(&p, (int32_t)next))
            break;
    }
    print_end(&p);
    cli_print_notice(n);
    return ok;
}

static bool run_model(const options *o, const model *m, gpu *g, err *e)
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
    bool ok = n && tokenizer_encode(t, o->prompt, strlen(o->prompt), true, tokenizer_adds_bos(t), &prompt, e);
    if (ok && prompt.count == 0)
        ok = err_set(e, "the text is empty, and this model begins no text by itself");
    ok = ok && talk(o, n, t, &prompt, e);
    token_list_free(&prompt);
    generation_free(n);
    tokenizer_free(t);
    return ok;
}

int cmd_run(int argc, char **argv)
{
    err e = {0};
    options o = {.tokens = 128};
    if (!parse(&o, &(cli_args){argc, 1, argv, &e}))
        return cli_fail(&e);
    if (o.help) {
        printf("%s%s%s", HELP, SAMPLING_HELP, MORE_HELP);
        return 0;
    }
    sampling_choose_seed(&o.sampling);
    model *m = model_open(o.model.path, &e);
    gpu *g = m ? cli_open_model_gpu(&o.model, &e) : NULL;
    bool ok = g && run_model(&o, m, g, &e);
    gpu_close(g);
    model_close(m);
    return ok ? 0 : cli_fail(&e);
}
