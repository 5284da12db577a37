/* solo demo: a first look at this machine: a story, told in more and in fewer
 * dispatches, then what is here, what a dispatch costs on it and why. */
#include "base/os_process.h"
#include "base/version.h"
#include "cli/cli.h"
#include "lab/dispatch.h"
#include "lab/llm.h"
#include "llm/generation.h"
#include "model/tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { STORY_TOK = 56, CONTEXT_TOK = 80 }; /* with room for the beginning */
enum { LADDER_TOK = 8 };                   /* software takes half a second for so many */
static const char BEGINNING[] = "Once upon a time";
static const sampling TASTE = {.temperature = 0.7f, .top_k = 40, .repeat_penalty = 1.1f, .seed = 6};

typedef struct story {
    generation *n;
    tokenizer *t;
    token_list beginning;
    uint32_t tokens[STORY_TOK], count; /* what follows the beginning */
} story;

static void print_token(const story *s, decode_stream *stream, uint32_t id)
{
    str text = {0};
    decode_stream_add(stream, s->t, (int32_t)id, &text);
    fwrite(text.data ? text.data : "", 1, text.length, stdout);
    cli_flush();
    str_free(&text);
}

static bool begin(story *s, err *e)
{
    generation_rewind(s->n, 0);
    generation_set_sampling(s->n, &TASTE);
    return generation_feed(s->n, (const uint32_t *)s->beginning.ids, (uint32_t)s->beginning.count, e);
}

static bool print_tokens(story *s, err *e)
{
    decode_stream stream = {.strip_space = true};
    if (!begin(s, e))
        return false;
    for (size_t i = 0; i < s->beginning.count; i++)
        print_token(s, &stream, (uint32_t)s->beginning.ids[i]);
    while (s->count < STORY_TOK) {
        uint32_t next;
        if (!generation_next(s->n, &next, e))
            return false;
        if (tokenizer_ends(s->t, (int32_t)next))
            break;
        print_token(s, &stream, next);
        s->tokens[s->count++] = next;
    }
    str rest = {0};
    decode_stream_end(&stream, &rest);
    printf("%s%s\n\n", rest.data ? rest.data : "", s->count == STORY_TOK ? " ..." : "");
    str_free(&rest);
    return true;
}

/* How fast that was, and how fast it is in more and in fewer dispatches. The story's device is closed by then: this
 * opens its own. */
static bool show_ladder(const model *m, bool with_one, err *e)
{
    llm_options o = {
        .model_name = "the built-in model",
        .levels = {[LEVEL_NONE] = true, [LEVEL_OPS] = true, [LEVEL_TOKEN] = with_one, [LEVEL_LOOP] = with_one},
        .submits = {[SUBMIT_SYNC] = true, [SUBMIT_EACH] = true, [SUBMIT_PASS] = true, [SUBMIT_BATCH] = true},
        .made_tok = LADDER_TOK,
        .depth_tok = LADDER_TOK,
        .repetitions = 2,
        .seed = 1};
    llm_lab lab = {0};
    bool ok = llm_measure(&lab, m, &o, e);
    if (ok) {
        printf("  %-30s %10s %12s %10s %14s\n", "", "dispatches", "us a token", "tokens/s", "of the memory");
        printf("  %-30s %10s %12s %10s %14s\n", "", "a token", "", "", "limit");
        for (uint32_t i = lab.measurement_count; i-- > 0;) {
            const llm_measurement *c = &lab.measurements[i];
            char how[64];
            snprintf(how, sizeof how, "--fuse %-5s --submit %s", fusion_names[c->level], submit_names[c->submit]);
            printf("  %-30s %10.2f %12.0f %10.1f %13.1f%%\n", how, (double)c->counted.dispatches / LADDER_TOK,
                   1e6 / c->rate.median, c->rate.median, 100 * llm_share(&lab, c));
        }
        printf("\n");
    }
    cli_flush();
    llm_free(&lab);
    return ok;
}

static bool show_story(gpu *g, const model *m, err *e)
{
    story s = {0};
    generation_options o = {.level = LEVEL_OPS, .submit = SUBMIT_BATCH, .context_tok = CONTEXT_TOK};
    s.t = tokenizer_from_gguf(model_get_gguf(m), e);
    bool ok = s.t && tokenizer_encode(s.t, BEGINNING, strlen(BEGINNING), false, true, &s.beginning, e);
    s.n = ok ? generation_new(g, m, &o, e) : NULL;
    ok = s.n && print_tokens(&s, e);
    generation_free(s.n);
    token_list_free(&s.beginning);
    tokenizer_free(s.t);
    return ok;
}

static bool print_story(err *e)
{
    model *m = model_open(NULL, e);
    gpu *g = m ? gpu_open_now(&(gpu_choice){.own_kernels = true}, e) : NULL;
    if (g)
        printf("A story by the model that is built in, on %s through %s:\n\n", gpu_get_info(g)->device,
               gpu_get_info(g)->impl);
    cli_flush();
    bool ok = g && show_story(g, m, e);
    bool software = ok && gpu_get_info(g)->type == GPU_TYPE_SOFTWARE;
    gpu_close(g);
    if (ok) {
        printf("Such tokens in more and in fewer dispatches: one for each operator (none), for each group of them "
               "(ops), for\n"
               "each token (token), for many tokens (loop)%s.\n\n",
               software ? "; software takes a while to compile the last two" : "");
        cli_flush();
        err why = {0};
        ok = show_ladder(m, true, &why);
        if (!ok) {
            printf("Without token and loop: %s.\n\n", why.text);
            ok = show_ladder(m, false, e);
        }
    }
    model_close(m);
    return ok;
}

static int story_body(int from, int to, void *given)
{
    (void)from, (void)to, (void)given;
    err e = {0};
    return print_story(&e) ? 0 : cli_fail(&e);
}

/* In a process of its own: the laboratory starts others later, and drivers do not promise to work
 * in the child of a process that has used them. */
static int print_story_in_child(void)
{
    os_process p;
    err e = {0};
    char how[OS_ENDING_ROOM];
    int status = 0;
    if (!os_process_start(&p, story_body, NULL, 0))
        err_set(&e, "no process for the story: %s", strerror(errno));
    else if (os_process_end(&p, &status, how))
        return status;
    else
        err_set(&e, "the story ended %s", how);
    return cli_fail(&e);
}

static bool show_dispatches(err *e)
{
    printf("What does a dispatch cost on this machine, and how much of it is WebGPU?\n\n");
    cli_flush();
    dispatch_lab lab = {0};
    bool ok = dispatch_measure(&lab, &(dispatch_options){.quick = true}, e);
    if (ok) {
        dispatch_print(&lab, stdout);
        puts("\nFor the record and the plots:\n"
             "  build/solo bench dispatch --json record.json && build/solo report record.json -o report.html\n"
             "More stories:\n"
             "  build/solo run -p \"There was once a king who had\"");
    }
    dispatch_free(&lab);
    return ok;
}

static int run(void *chosen)
{
    (void)chosen;
    err e = {0};
    printf("solo %s\n\n", solo_version);
    int status = print_story_in_child();
    if (status)
        return status;
    return show_dispatches(&e) ? 0 : cli_fail(&e);
}

const cli_command command_demo = {
    .name = "demo",
    .summary = "a first look: what is here, and what a dispatch costs on it",
    .about =
        "A story by the built-in model, its tokens in more and in fewer dispatches, then what works here and the quick "
        "dispatch laboratory on it: about two minutes.",
    .run = run};
