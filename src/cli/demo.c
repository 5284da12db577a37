/* solo demo: a first look at this machine: a story, told in more and in fewer
 * dispatches, then what is here, what a dispatch costs on it and why. */
#include "base/clock.h"
#include "base/version.h"
#include "cli/cli.h"
#include "lab/dispatch.h"
#include "llm/generation.h"
#include "model/tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STORY_TOK = 56, CONTEXT_TOK = 80 }; /* with room for the beginning */
enum { ENOUGH_US = 2000000 };              /* of timing a level: software needs that for some twenty tokens */
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
    fflush(stdout);
    str_free(&text);
}

static bool begin(story *s, err *e)
{
    generation_rewind(s->n, 0);
    generation_set_sampling(s->n, &TASTE);
    return generation_feed(s->n, (const uint32_t *)s->beginning.ids, (uint32_t)s->beginning.count, e);
}

static bool tell(story *s, err *e)
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

/* The same story once more, by another level, and how long that takes. The first token warms up. */
static bool time_level(story *s, gpu *g, fusion_level level, err *e)
{
    uint32_t next, made = 0, same = 0;
    double began = 0;
    gpu_counters before = {0};
    generation_set_launch(s->n, level, SUBMIT_BATCH);
    if (!begin(s, e))
        return false;
    while (made < s->count && (made < 2 || clock_us() - began < ENOUGH_US)) {
        if (!generation_next(s->n, &next, e))
            return false;
        same += same == made && next == s->tokens[made];
        if (++made == 1) {
            if (!gpu_wait(g, e))
                return false;
            before = gpu_get_counters(g);
            began = clock_us();
        }
    }
    if (!gpu_wait(g, e))
        return false;
    double seconds = (clock_us() - began) * 1e-6, dispatches = (double)gpu_counters_since(g, before).dispatches;
    printf("  --fuse %-6s %6.0f dispatches per token %10.1f tokens per second", fusion_names[level],
           dispatches / (made - 1), (made - 1) / seconds);
    printf(same < made ? "   (another story after %u tokens)\n" : "\n", same);
    fflush(stdout);
    return true;
}

static bool show_story(gpu *g, const model *m, err *e)
{
    story s = {0};
    generation_options o = {.level = LEVEL_OPS, .all_levels = true, .submit = SUBMIT_BATCH, .context_tok = CONTEXT_TOK};
    s.t = tokenizer_from_gguf(model_get_gguf(m), e);
    bool ok = s.t && tokenizer_encode(s.t, BEGINNING, strlen(BEGINNING), false, true, &s.beginning, e);
    s.n = ok ? generation_new(g, m, &o, e) : NULL;
    ok = s.n && tell(&s, e);
    if (ok && s.count > 1) {
        printf("The same story again, a dispatch for each operator (none) or for each group of them (ops):\n\n");
        for (int level = LEVEL_NONE; ok && level <= LEVEL_OPS; level++)
            ok = time_level(&s, g, (fusion_level)level, e);
        printf("\n");
    }
    generation_free(s.n);
    token_list_free(&s.beginning);
    tokenizer_free(s.t);
    return ok;
}

static bool tell_story(err *e)
{
    model *m = model_open(NULL, e);
    gpu *g = m ? gpu_open_now(&(gpu_choice){0}, e) : NULL;
    if (g)
        printf("A story by the model that is built in, on %s through %s:\n\n", gpu_get_info(g)->device,
               gpu_get_info(g)->impl);
    fflush(stdout);
    bool ok = g && show_story(g, m, e);
    gpu_close(g);
    model_close(m);
    return ok;
}

/* In a process of its own: the laboratory starts others later, and drivers do not promise to work
 * in the child of a process that has used them. */
static int tell_story_apart(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        err e = {0};
        int status = tell_story(&e) ? 0 : cli_fail(&e);
        fflush(stdout);
        _exit(status);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (child > 0 && WIFEXITED(status))
        return WEXITSTATUS(status);
    err e = {0};
    if (child < 0)
        err_set(&e, "no process for the story: %s", strerror(errno));
    else
        err_set(&e, "the story ended by signal %d", WTERMSIG(status));
    return cli_fail(&e);
}

static bool show_dispatches(err *e)
{
    printf("What does a dispatch cost on this machine, and how much of it is WebGPU?\n\n");
    fflush(stdout);
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

int cmd_demo(int argc, char **argv)
{
    err e = {0};
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        puts("usage: solo demo\n\nA story by the built-in model, in more and in fewer dispatches, then what works here "
             "and the quick\n"
             "dispatch laboratory on it: about a minute.");
        return 0;
    }
    if (argc > 1) {
        cli_unknown(&(cli_args){argc, 1, argv, &e}, argv[1]);
        return cli_fail(&e);
    }
    printf("solo %s\n\n", solo_version);
    int status = tell_story_apart();
    if (status)
        return status;
    return show_dispatches(&e) ? 0 : cli_fail(&e);
}
