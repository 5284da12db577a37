/* solo run: a text continued by a model. */
#include "cli/cli.h"
#include "llm/generation.h"
#include "model/model_text.h"

#include <stdio.h>
#include <string.h>

static const char HELP[] = "usage: solo run MODEL -p TEXT [-n N] [--fuse none] [--impl I]\n\n"
                           "Continues a text with the most likely token each time.\n\n"
                           "  MODEL         a GGUF file or a Hugging Face folder\n"
                           "  -p TEXT       the text to continue\n"
                           "  -n N          how many tokens at most (default 128)\n"
                           "  --fuse LEVEL  none: a dispatch for each operator; ops (default): for each group of them\n"
                           "  --impl I      dawn, wgpu, vulkan or a library's path (default: the first that works)\n";

typedef struct options {
    cli_model model;
    const char *prompt;
    long tokens;
    bool help;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "-p") == 0) {
            if (!(o->prompt = cli_value(a, word)))
                return false;
        } else if (strcmp(word, "-n") == 0) {
            if (!cli_number(a, word, 1, 1000000, &o->tokens))
                return false;
        } else if (!cli_model_word(a, word, &o->model))
            return false;
    }
    if (!o->help && (!o->model.path || !o->prompt))
        return err_set_kind(a->e, ERR_USAGE, "a model and a text (-p) are wanted (solo run --help)");
    return true;
}

static void print_piece(decode_stream *stream, const tokenizer *t, int32_t id)
{
    str text = {0};
    decode_stream_add(stream, t, id, &text);
    if (text.length)
        fwrite(text.data, 1, text.length, stdout);
    fflush(stdout);
    str_free(&text);
}

/* The prompt is printed as its tokens say it, then what follows as it comes. */
static bool talk(generation *n, const tokenizer *t, const token_list *prompt, long limit, err *e)
{
    decode_stream stream = {.strip_space = true};
    if (!generation_feed(n, (const uint32_t *)prompt->ids, (uint32_t)prompt->count, e))
        return false;
    for (size_t i = 0; i < prompt->count; i++)
        print_piece(&stream, t, prompt->ids[i]);
    for (long i = 0; i < limit; i++) {
        uint32_t next;
        if (generation_position(n) == generation_context(n)) {
            fprintf(stderr, "\nsolo: the context of %u tokens is full\n", generation_context(n));
            break;
        }
        if (!generation_next(n, &next, e))
            return false;
        if (tokenizer_ends(t, (int32_t)next))
            break;
        print_piece(&stream, t, (int32_t)next);
    }
    str rest = {0};
    decode_stream_end(&stream, &rest);
    printf("%s\n", rest.data ? rest.data : "");
    str_free(&rest);
    return true;
}

static bool run_model(const options *o, const model *m, gpu *g, err *e)
{
    token_list prompt = {0};
    tokenizer *t = tokenizer_of_model(m, e);
    generation *n = t ? generation_new(g, m, &(generation_options){.level = o->model.level, .submit = SUBMIT_BATCH}, e) : NULL;
    bool ok = n && tokenizer_encode(t, o->prompt, strlen(o->prompt), true, tokenizer_adds_bos(t), &prompt, e);
    if (ok && prompt.count == 0)
        ok = err_set(e, "the text is empty, and this model begins no text by itself");
    ok = ok && talk(n, t, &prompt, o->tokens, e);
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
        fputs(HELP, stdout);
        return 0;
    }
    model *m = model_open(o.model.path, &e);
    gpu *g = m ? gpu_open_now(&(gpu_choice){.impl = o.model.impl}, &e) : NULL;
    bool ok = g && run_model(&o, m, g, &e);
    gpu_close(g);
    model_close(m);
    return ok ? 0 : cli_fail(&e);
}
