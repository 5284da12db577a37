/* solo chat: a conversation with a model. */
#include "base/file.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "cli/prompt.h"
#include "cli/sampling_options.h"

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
    "  /think WHEN       on, off, or auto: whether the model thinks before it answers\n" \
    "  /save FILE        the conversation as JSON\n" \
    "  /quit             leave; so does Ctrl-D\n" \
    "  Ctrl-C            stops an answer, or cancels the line\n" \
    "  A line that ends in \\ goes on in the next one, and so does all between two lines with \"\"\".\n"

enum { MAX_TEMPLATE_BYTES = 1 << 20 };

typedef struct options {
    cli_model model;
    sampling_options sampling;
    const char *system, *template, *think;
    long tokens; /* 0: no limit */
} options;

static const char *think_name(uint32_t i)
{
    static const char *const names[] = {"auto", "on", "off"}; /* as chat_think */
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static bool find_think(const char *name, chat_think *out, err *e)
{
    for (uint32_t i = 0; think_name(i); i++)
        if (strcmp(name, think_name(i)) == 0) {
            *out = (chat_think)i;
            return true;
        }
    return err_set_kind(e, ERR_USAGE, "thinking is auto, on or off, not '%s'", name);
}

static const option TABLE[] = {{.name = "system", .value = "TEXT", INTO(options, system), .help = "the system message"},
                               {.name = "template",
                                .value = "FILE",
                                INTO(options, template),
                                .help = "another chat template: a file with Jinja in it, chatml, or none, which "
                                        "continues the text",
                                .otherwise = "as the model's files say"},
                               {.name = "think",
                                .value = "WHEN",
                                .names = think_name,
                                INTO(options, think),
                                .help = "whether the model thinks before it answers: {names}; where its template asks",
                                .otherwise = "auto, as the template does by itself"},
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
    chat_think think;
    if (o->template && strcmp(o->template, "none") != 0 && strcmp(o->template, "chatml") != 0 &&
        !file_exists(o->template))
        return err_set_kind(e, ERR_USAGE, "there is no template '%s' (solo chat --help)", o->template);
    return !o->think || find_think(o->think, &think, e);
}

/* ---- someone at a terminal ------------------------------------------------------------------- */

typedef struct chat {
    options *o;
    session *s;
    prompt *input;
    bool said_forgotten, at_line_start;
} chat;

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* Something to know that is not part of the conversation. */
static void note(const chat *c, const char *text)
{
    bool color = prompt_on_terminal(c->input);
    fflush(stdout);
    fprintf(stderr, color ? "\033[2m%s\033[0m\n" : "solo: %s\n", text);
}

static void print(void *context, const char *text, size_t bytes)
{
    chat *c = context;
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
    c->at_line_start = text[bytes - 1] == '\n';
}

static void print_speed(const chat *c, const answer_report *r)
{
    if (!prompt_on_terminal(c->input) || r->answer_tok == 0)
        return;
    str line = {0};
    str_addf(&line, "%u tokens, %.1f per second, the first after %.0f ms; %u read", r->answer_tok, r->tok_per_s,
             1000 * r->first_s, r->fed_tok);
    if (r->reused_tok)
        str_addf(&line, ", %u remembered", r->reused_tok);
    note(c, line.data);
    str_free(&line);
}

static void print_end(chat *c, const answer_report *r)
{
    if (!c->at_line_start)
        putchar('\n');
    fflush(stdout);
    if (r->end == ANSWER_INTERRUPTED)
        note(c, "(stopped)");
    if (r->end == ANSWER_FULL)
        note(c, "the context is full: the answer ends here");
    if (r->forgotten && !c->said_forgotten) {
        note(c, "the context was full: the oldest turns are forgotten from now on (-c N makes it larger)");
        c->said_forgotten = true;
    }
    char notice[1200];
    if (generation_take_notice(session_generation(c->s), notice, sizeof notice))
        note(c, notice);
    print_speed(c, r);
}

/* `text` NULL: another answer to the last message. */
static bool answer(chat *c, const char *text, err *e)
{
    answer_report report;
    answer_options o = {.most_tok = (uint32_t)c->o->tokens, .interrupted = &interrupted, .print = print, .context = c};
    interrupted = 0;
    c->at_line_start = false;
    bool ok = text ? session_say(c->s, text, &o, &report, e) : session_again(c->s, &o, &report, e);
    if (ok)
        print_end(c, &report);
    return ok;
}

/* ---- commands ----------------------------------------------------------------------- */

static bool save(const chat *c, const char *path, err *e)
{
    str out = {0};
    jsonw j = jsonw_to(&out);
    jsonw_object(&j, NULL);
    jsonw_array(&j, "messages");
    for (size_t i = 0; i < conversation_count(session_conversation(c->s)); i++) {
        chat_message m = conversation_at(session_conversation(c->s), i);
        jsonw_object(&j, NULL);
        jsonw_text(&j, "role", chat_role_names[m.role]);
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
static bool set_sampling(chat *c, const char *name, const char *value, err *e)
{
    if (!sampling_set(&c->o->sampling, name, value, e)) {
        if (e->kind == ERR_NONE)
            err_set(e, "there is no command /%s (/help)", name);
        return false;
    }
    session_set_sampling(c->s, &c->o->sampling.how);
    return true;
}

static bool again(chat *c, err *e)
{
    /* the same seed would give the same answer */
    c->o->sampling.how.seed++;
    session_set_sampling(c->s, &c->o->sampling.how);
    if (answer(c, NULL, e))
        return true;
    return e->kind != ERR_NONE ? false : err_set(e, "there is no answer yet");
}

static bool set_think(const chat *c, const char *when, err *e)
{
    chat_think think;
    const chat_template *t = session_template(c->s);
    if (!find_think(when, &think, e))
        return false;
    session_set_think(c->s, think);
    return (t && chat_template_can_think(t)) || err_set(e, "this model's template does not ask about thinking");
}

/* False: leave. Errors are printed, and the conversation goes on. */
static bool command(chat *c, const char *line)
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
        conversation_set_system(session_conversation(c->s), value);
    else if (strcmp(name, "reset") == 0)
        conversation_reset(session_conversation(c->s));
    else if (strcmp(name, "regenerate") == 0)
        ok = again(c, &e);
    else if (strcmp(name, "think") == 0)
        ok = set_think(c, value, &e);
    else if (strcmp(name, "save") == 0)
        ok = *value ? save(c, value, &e) : err_set(&e, "/save needs a file's name");
    else
        ok = set_sampling(c, name, value, &e);
    if (!ok)
        note(c, e.text);
    return true;
}

/* ---- input ---------------------------------------------------------------------------- */

static const char QUOTES[] = "\"\"\"";

/* Lines up to one that ends in quotes; what is behind the opening ones is the first, if
 * there is something. */
static bool read_block(chat *c, const char *first, str *out)
{
    bool cancelled = false, more = true;
    char *line = *first ? mem_dup(first) : prompt_read(c->input, "... ", &cancelled);
    while (line && !cancelled && more) {
        size_t length = strlen(line);
        more = length < 3 || strcmp(line + length - 3, QUOTES) != 0;
        str_add_bytes(out, line, more ? length : length - 3);
        free(line);
        line = NULL;
        if (more) {
            str_add(out, "\n");
            line = prompt_read(c->input, "... ", &cancelled);
        }
    }
    free(line);
    return !cancelled;
}

/* A message, or a command; false at the end of input. */
static bool read_message(chat *c, str *out)
{
    bool cancelled;
    out->length = 0;
    str_add(out, "");
    char *line = prompt_read(c->input, "> ", &cancelled);
    if (!line)
        return false;
    if (strncmp(line, QUOTES, 3) == 0)
        cancelled = !read_block(c, line + 3, out);
    else {
        size_t length = strlen(line);
        while (!cancelled && length && line[length - 1] == '\\') {
            str_add_bytes(out, line, length - 1);
            str_add(out, "\n");
            free(line);
            line = prompt_read(c->input, "... ", &cancelled);
            length = line ? strlen(line) : 0;
        }
        str_add(out, line ? line : "");
    }
    free(line);
    if (cancelled)
        out->length = 0;
    str_add(out, "");
    prompt_remember(c->input, out->data);
    return true;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == 0;
}

static bool converse(chat *c, err *e)
{
    str message = {0};
    bool ok = true;
    while (ok && read_message(c, &message)) {
        if (message.length == 0 || is_blank(message.data))
            continue;
        if (message.data[0] == '/') {
            if (!command(c, message.data))
                break;
        } else if (!answer(c, message.data, e)) {
            /* on a terminal one may say something shorter; in a pipe that is a failure */
            ok = prompt_on_terminal(c->input) && e->kind == ERR_FAILED && !generation_is_full(session_generation(c->s));
            if (ok) {
                note(c, e->text);
                err_clear(e);
            }
        }
    }
    str_free(&message);
    return ok;
}

/* ---- the command ----------------------------------------------------------------------- */

static bool run_chat(options *o, const model *m, gpu *g, err *e)
{
    chat c = {.o = o};
    session_options how = {.template = o->template};
    size_t length;
    char *text = NULL;
    if (o->think)
        find_think(o->think, &how.think, e);
    if (o->template && file_exists(o->template))
        how.template = text = file_read(o->template, MAX_TEMPLATE_BYTES, &length, e);
    c.s = e->kind == ERR_NONE ? cli_begin_session(&o->model, &o->sampling, how, m, g, e) : NULL;
    free(text);
    bool ready = c.s && session_read_texts(c.s, e);
    if (ready && session_template_error(c.s))
        ready = err_set(e, "%s", session_template_error(c.s));
    if (!ready || !cli_prepare_session(c.s, m, e)) {
        session_free(c.s);
        return false;
    }
    c.input = prompt_open();
    conversation_set_system(session_conversation(c.s), o->system);
    if (!session_template(c.s))
        note(&c, "this model has no chat template: it goes on with what you type");
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART}, before;
    if (prompt_on_terminal(c.input))
        sigaction(SIGINT, &action, &before);
    bool ok = converse(&c, e);
    if (prompt_on_terminal(c.input))
        sigaction(SIGINT, &before, NULL);
    prompt_close(c.input);
    session_free(c.s);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    options *o = chosen;
    sampling_choose_seed(&o->sampling);
    model *m = cli_open_model(&o->model, &e);
    gpu *g = m ? cli_open_model_gpu(&o->model, &e) : NULL;
    bool ok = g && run_chat(o, m, g, &e);
    model_close(m);
    int status = ok ? 0 : cli_fail(&e);
    cli_close_gpu(g, status);
    return status;
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
               {NULL, LORA_TABLE, offsetof(options, model)},
               {NULL, TABLE, 0},
               {NULL, TEXT_TABLE, offsetof(options, sampling)},
               {"How tokens are chosen", SAMPLING_TABLE, offsetof(options, sampling)},
               {"How it runs", BEST_LEVEL_TABLE, offsetof(options, model)},
               {NULL, DEVICE_TABLE, offsetof(options, model)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
