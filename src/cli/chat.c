/* solo chat: a conversation with a model. */
#include "base/file.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "cli/prompt.h"
#include "cli/sampling_options.h"
#include "llm/conversation.h"
#include "model/model_text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMANDS \
    "  /system TEXT      tell the model this before everything; without a text: nothing\n" \
    "  /reset            begin anew\n" \
    "  /regenerate       another answer to the last message\n" \
    "  /temp T           also /top-k /top-p /min-p /repeat-penalty /seed: how tokens are chosen\n" \
    "  /save FILE        the conversation as JSON\n" \
    "  /quit             leave; so does Ctrl-D\n" \
    "  Ctrl-C            stops an answer, or gives up the line\n" \
    "  A line that ends in \\ goes on in the next one, and so does all between two lines with \"\"\".\n"

typedef struct options {
    cli_model model;
    sampling_options sampling;
    const char *system, *template;
    long tokens; /* 0: no limit */
} options;

static const char *template_name(uint32_t i)
{
    static const char *const names[] = {
        "chatml",     "llama-2",           "llama-3", "mistral", "mistral-v1", "mistral-v3", "mistral-v3-tekken",
        "mistral-v7", "mistral-v7-tekken", "phi-3",   "gemma",   "zephyr",     "none"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const option TABLE[] = {
    {.name = "system", .value = "TEXT", INTO(options, system), .help = "what the model is told before everything"},
    {.name = "template",
     .value = "NAME",
     .names = template_name,
     INTO(options, template),
     .help = "the form of conversations: {names}, which continues the text",
     .otherwise = "as the model's files say"},
    {.letter = 'n',
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 1000000,
     INTO(options, tokens),
     .help = "how many tokens an answer has at most",
     .otherwise = "until the context is full"},
    {0}};

static bool check(void *chosen, err *e)
{
    const options *o = chosen;
    chat_format f;
    if (o->template && strcmp(o->template, "none") != 0 && !chat_format_named(o->template, &f))
        return err_set_kind(e, ERR_USAGE, "there is no template '%s' (solo chat --help)", o->template);
    return true;
}

/* ---- a session ------------------------------------------------------------------- */

typedef struct session {
    options *o;
    generation *n;
    conversation *talk;
    prompt *input;
    bool said_forgotten, at_line_start;
} session;

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* Something to know that is not part of the conversation. */
static void note(const session *s, const char *text)
{
    bool color = prompt_on_terminal(s->input);
    fflush(stdout);
    fprintf(stderr, color ? "\033[2m%s\033[0m\n" : "solo: %s\n", text);
}

static void print(void *context, const char *text, size_t bytes)
{
    session *s = context;
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
    s->at_line_start = text[bytes - 1] == '\n';
}

static void print_speed(const session *s, const answer_report *r)
{
    if (!prompt_on_terminal(s->input) || r->answer_tok == 0)
        return;
    str line = {0};
    str_addf(&line, "%u tokens, %.1f per second, the first after %.0f ms; %u read", r->answer_tok, r->tok_per_s,
             1000 * r->first_s, r->fed_tok);
    if (r->reused_tok)
        str_addf(&line, ", %u remembered", r->reused_tok);
    note(s, line.data);
    str_free(&line);
}

static void print_end(session *s, const answer_report *r)
{
    if (!s->at_line_start)
        putchar('\n');
    fflush(stdout);
    if (r->end == ANSWER_INTERRUPTED)
        note(s, "(stopped)");
    if (r->end == ANSWER_FULL)
        note(s, "the context is full: the answer ends here");
    if (r->forgotten && !s->said_forgotten) {
        note(s, "the context was full: the oldest turns are forgotten from now on (-c N makes it larger)");
        s->said_forgotten = true;
    }
    print_speed(s, r);
}

/* `text` NULL: another answer to the last message. */
static bool answer(session *s, const char *text, err *e)
{
    answer_report report;
    answer_options o = {.most_tok = (uint32_t)s->o->tokens,
                        .stops = s->o->sampling.stops.items,
                        .stop_count = s->o->sampling.stops.count,
                        .interrupted = &interrupted,
                        .print = print,
                        .context = s};
    interrupted = 0;
    s->at_line_start = false;
    bool ok = text ? conversation_say(s->talk, text, &o, &report, e) : conversation_again(s->talk, &o, &report, e);
    if (ok)
        print_end(s, &report);
    return ok;
}

/* ---- commands ----------------------------------------------------------------------- */

static bool save(const session *s, const char *path, err *e)
{
    static const char *const roles[] = {"system", "user", "assistant"};
    str out = {0};
    jsonw j = jsonw_to(&out);
    jsonw_object(&j, NULL);
    jsonw_array(&j, "messages");
    for (size_t i = 0; i < conversation_count(s->talk); i++) {
        chat_message m = conversation_at(s->talk, i);
        jsonw_object(&j, NULL);
        jsonw_text(&j, "role", roles[m.role]);
        jsonw_text(&j, "content", m.content);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_end(&j);
    str_add(&out, "\n");
    bool ok = file_write(path, out.data, out.length, e);
    str_free(&out);
    return ok;
}

/* A sampling option by its name without the slash. */
static bool set_sampling(session *s, const char *name, const char *value, err *e)
{
    if (!sampling_set(&s->o->sampling, name, value, e)) {
        if (e->kind == ERR_NONE)
            err_set(e, "there is no command /%s (/help)", name);
        return false;
    }
    generation_set_sampling(s->n, &s->o->sampling.how);
    return true;
}

static bool again(session *s, err *e)
{
    /* the same seed would give the same answer */
    s->o->sampling.how.seed++;
    generation_set_sampling(s->n, &s->o->sampling.how);
    if (answer(s, NULL, e))
        return true;
    return e->kind != ERR_NONE ? false : err_set(e, "there is no answer yet");
}

/* False: leave. What goes wrong is said, and the conversation goes on. */
static bool command(session *s, const char *line)
{
    char name[32] = "";
    size_t length = strcspn(line + 1, " \t\n");
    const char *value = line + 1 + length;
    value += strspn(value, " \t\n");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), line + 1);
    err e = {0};
    bool ok = true;
    if (strcmp(name, "quit") == 0 || strcmp(name, "exit") == 0)
        return false;
    if (strcmp(name, "help") == 0)
        fputs(COMMANDS, stderr);
    else if (strcmp(name, "system") == 0)
        conversation_set_system(s->talk, value);
    else if (strcmp(name, "reset") == 0)
        conversation_reset(s->talk);
    else if (strcmp(name, "regenerate") == 0)
        ok = again(s, &e);
    else if (strcmp(name, "save") == 0)
        ok = *value ? save(s, value, &e) : err_set(&e, "/save needs a file's name");
    else
        ok = set_sampling(s, name, value, &e);
    if (!ok)
        note(s, e.text);
    return true;
}

/* ---- input ---------------------------------------------------------------------------- */

static const char QUOTES[] = "\"\"\"";

/* Lines up to one that ends in quotes; what is behind the opening ones is the first, if
 * there is something. */
static bool read_block(session *s, const char *first, str *out)
{
    bool cancelled = false, more = true;
    char *line = *first ? mem_dup(first) : prompt_read(s->input, "... ", &cancelled);
    while (line && !cancelled && more) {
        size_t length = strlen(line);
        more = length < 3 || strcmp(line + length - 3, QUOTES) != 0;
        str_add_bytes(out, line, more ? length : length - 3);
        free(line);
        line = NULL;
        if (more) {
            str_add(out, "\n");
            line = prompt_read(s->input, "... ", &cancelled);
        }
    }
    free(line);
    return !cancelled;
}

/* A message, or a command; false at the end of input. */
static bool read_message(session *s, str *out)
{
    bool cancelled;
    out->length = 0;
    str_add(out, "");
    char *line = prompt_read(s->input, "> ", &cancelled);
    if (!line)
        return false;
    if (strncmp(line, QUOTES, 3) == 0)
        cancelled = !read_block(s, line + 3, out);
    else {
        size_t length = strlen(line);
        while (!cancelled && length && line[length - 1] == '\\') {
            str_add_bytes(out, line, length - 1);
            str_add(out, "\n");
            free(line);
            line = prompt_read(s->input, "... ", &cancelled);
            length = line ? strlen(line) : 0;
        }
        str_add(out, line ? line : "");
    }
    free(line);
    if (cancelled)
        out->length = 0;
    str_add(out, "");
    prompt_remember(s->input, out->data);
    return true;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == 0;
}

static bool converse(session *s, err *e)
{
    str message = {0};
    bool ok = true;
    while (ok && read_message(s, &message)) {
        if (message.length == 0 || is_blank(message.data))
            continue;
        if (message.data[0] == '/') {
            if (!command(s, message.data))
                break;
        } else if (!answer(s, message.data, e)) {
            /* on a terminal one may say something shorter; in a pipe that is a failure */
            ok = prompt_on_terminal(s->input) && e->kind == ERR_FAILED &&
                 generation_position(s->n) < generation_context(s->n);
            if (ok) {
                note(s, e->text);
                err_clear(e);
            }
        }
    }
    str_free(&message);
    return ok;
}

/* ---- the command ----------------------------------------------------------------------- */

/* False without an error: this model knows no conversations. */
static bool find_format(const options *o, const model *m, chat_format *f, err *e)
{
    if (o->template)
        return strcmp(o->template, "none") != 0 && chat_format_named(o->template, f);
    str text = {0};
    bool found = chat_template_of_model(m, &text, e) && chat_format_of(text.data ? text.data : "", f);
    str_free(&text);
    return found;
}

static bool run_session(options *o, const model *m, gpu *g, err *e)
{
    chat_format format;
    bool turns = find_format(o, m, &format, e);
    if (e->kind != ERR_NONE)
        return false;
    tokenizer *t = tokenizer_of_model(m, e);
    generation *n = t ? generation_new(g, m,
                                       &(generation_options){.level = cli_level_on(&o->model, g),
                                                             .chunk_ms = (uint32_t)o->model.chunk_ms,
                                                             .submit = SUBMIT_BATCH,
                                                             .context_tok = o->sampling.context_tok},
                                       e)
                      : NULL;
    bool ok = false;
    if (n) {
        session s = {.o = o, .n = n, .input = prompt_open()};
        s.talk = conversation_new(n, t, turns ? &format : NULL);
        uint32_t ends[TOKENIZER_MAX_ENDS];
        generation_set_sampling(n, &o->sampling.how);
        generation_set_stops(n, ends, tokenizer_list_ends(t, ends));
        cli_print_notice(n);
        conversation_set_system(s.talk, o->system);
        if (!turns)
            note(&s, "this model has no chat template that is known: it goes on with what you type");
        struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART}, before;
        if (prompt_on_terminal(s.input))
            sigaction(SIGINT, &action, &before);
        ok = converse(&s, e);
        if (prompt_on_terminal(s.input))
            sigaction(SIGINT, &before, NULL);
        conversation_free(s.talk);
        prompt_close(s.input);
    }
    generation_free(n);
    tokenizer_free(t);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    options *o = chosen;
    sampling_choose_seed(&o->sampling);
    model *m = model_open(o->model.path, &e);
    gpu *g = m ? cli_open_model_gpu(&o->model, &e) : NULL;
    bool ok = g && run_session(o, m, g, &e);
    gpu_close(g);
    model_close(m);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {
    .sampling = {.how = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f}, .seed = -1}};

const cli_command command_chat = {
    .name = "chat",
    .summary = "a conversation with a model",
    .about =
        "A conversation: type, and the model answers. Ctrl-C stops an answer, Ctrl-D leaves; /help says more. Where "
        "input is no terminal, each line is a message.",
    .notes = "While it runs:\n" COMMANDS,
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
