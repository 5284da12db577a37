/* solo chat: a conversation with a model. */
#include "cli/chat.h"
#include "base/file.h"
#include "base/os.h"
#include "llm/tool_calls.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEMPLATE_BYTES = 1 << 20, MAX_TOOLS_BYTES = 1 << 20 };

typedef chat_settings options;

static const option TABLE[] = {
    {.name = "system", .value = "TEXT", INTO(options, system), .help = "the system message"},
    {.name = "template",
     .value = "FILE",
     INTO(options, template),
     .help = "another chat template: a file with Jinja in it, chatml, or none, which continues the text",
     .otherwise = "as the model's files say"},
    {.name = "think",
     .value = "WHEN",
     .names = chat_think_name,
     INTO(options, think),
     .help = "whether the model thinks before it answers: {names}; where its template asks",
     .otherwise = "auto, as the template does by itself"},
    {.name = "think-budget",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 1000000,
     INTO(options, think_tok),
     .help = "after N tokens of thoughts they are ended, and the answer begins",
     .otherwise = "as the model ends them"},
    {.name = "tools",
     .value = "FILE",
     .files = OPTION_FILES,
     INTO(options, tools),
     .help = "tools that the model may call: a list of JSON as in OpenAI's API. Calls are shown, and you type their "
             "results"},
    {.name = "tool-command",
     .value = "CMD",
     INTO(options, tool_command),
     .help = "this command gets each call on its standard input, as JSON with name and arguments, and writes the "
             "result"},
    {.name = "session",
     .value = "FILE",
     .files = OPTION_FILES,
     INTO(options, session),
     .help = "go on with the session in this file, if it is there, and save it there at the end"},
    {.name = "slide",
     .kind = OPTION_FLAG,
     INTO(options, slide),
     .help = "a full context drops its oldest turns; without it a terminal is asked, and a pipe drops them"},
    {.letter = 'n',
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 1000000,
     INTO(options, tokens),
     .help = "how many tokens an answer has at most",
     .otherwise = "until the context is full"},
    {0}};

static const options DEFAULTS = {
    .sampling = {.how = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f}, .seed = -1}};

static bool check(void *chosen, err *e)
{
    const options *o = chosen;
    chat_think think;
    if (o->template && strcmp(o->template, "none") != 0 && strcmp(o->template, "chatml") != 0 &&
        !file_exists(o->template))
        return err_set_kind(e, ERR_USAGE, "there is no template '%s' (solo chat --help)", o->template);
    if (o->tool_command && !o->tools)
        return err_set_kind(e, ERR_USAGE, "--tool-command needs --tools (solo chat --help)");
    if (!cli_session_writable(o->session, "chat", e))
        return false;
    return !o->think || chat_find_think(o->think, &think, e);
}

/* ---- answers -------------------------------------------------------------------------------- */

enum { HEARD_MS = 300 };
static volatile sig_atomic_t interrupted, is_answering;

/* The driver cannot be told to leave what it is at: whoever waits for that gets to know it. */
static void say_waiting(int number)
{
    static const char text[] = "\r\n\033[2m(stopping, when the GPU is done with what it is at; Ctrl-C again ends solo)"
                               "\033[0m\r\n";
    (void)number;
    ssize_t written = is_answering && interrupted ? write(err_descriptor, text, sizeof text - 1) : 0;
    (void)written; /* there is nobody else to tell */
}

/* An answer ends between two tokens, a prompt between two parts of it. Who cannot wait for that presses again. */
static void interrupt(int number)
{
    if (interrupted) {
        signal(number, SIG_DFL);
        raise(number);
    }
    interrupted = 1;
    os_soon(HEARD_MS, say_waiting);
}

void chat_note(const chat *c, const char *text)
{
    bool color = prompt_on_terminal(c->input);
    cli_flush();
    fprintf(stderr, color ? "\033[2m%s\033[0m\n" : "solo: %s\n", text);
}

static void write_out(chat *c, const char *text, size_t bytes, bool dimmed)
{
    if (bytes == 0)
        return;
    fputs(dimmed ? "\033[2m" : "", stdout);
    cli_print_text(text, bytes);
    fputs(dimmed ? "\033[0m" : "", stdout);
    cli_flush();
    c->unheard = ferror(stdout) != 0;
    c->at_line_start = text[bytes - 1] == '\n';
}

/* A call of a tool is shown when it is whole. */
static void print(void *context, const char *text, size_t bytes)
{
    chat *c = context;
    str shown = {0};
    stops_add(&c->calls, text, bytes, &shown);
    write_out(c, shown.data, shown.length, false);
    str_free(&shown);
}

static void print_thought(void *context, const char *text, size_t bytes)
{
    write_out(context, text, bytes, true);
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
    chat_note(c, line.data);
    str_free(&line);
}

static void print_end(chat *c, const answer_report *r)
{
    if (!c->at_line_start)
        putchar('\n');
    cli_flush();
    if (r->end == ANSWER_INTERRUPTED && !c->unheard)
        chat_note(c, "(stopped)");
    if (r->end == ANSWER_FULL)
        chat_note(c, c->slides
                         ? "the context is full: the answer ends here (-c N makes it longer)"
                         : "the context is full: the answer ends here (/compact makes room, -c N a longer context)");
    if (r->forgotten && !c->said_forgotten) {
        chat_note(c, "the context was full: the oldest turns are forgotten from now on (-c N makes it larger)");
        c->said_forgotten = true;
    }
    char notice[1200];
    if (generation_take_notice(session_generation(c->s), notice, sizeof notice))
        chat_note(c, notice);
    print_speed(c, r);
}

static bool make_answer(chat *c, chat_asked asked, const char *text, answer_report *report, err *e)
{
    static const char *const call = TOOL_CALL_TAG;
    answer_options o = {.most_tok = (uint32_t)c->o->tokens,
                        .interrupted = &interrupted,
                        .unheard = &c->unheard,
                        .print = print,
                        .print_thought = prompt_on_terminal(c->input) ? print_thought : NULL,
                        .context = c,
                        .think_tok = (uint32_t)c->o->think_tok,
                        .keeps_all = !c->slides};
    str shown = {0};
    interrupted = 0;
    c->at_line_start = c->o->tools != NULL; /* a call alone is no line */
    c->calls = stops_of(&call, c->o->tools ? 1 : 0);
    is_answering = 1;
    bool ok = asked == CHAT_SAY     ? session_say(c->s, text, &o, report, e)
              : asked == CHAT_AGAIN ? session_again(c->s, &o, report, e)
                                    : session_answer(c->s, &o, report, e);
    is_answering = 0;
    stops_end(&c->calls, &shown);
    write_out(c, shown.data, shown.length, false);
    str_free(&shown);
    stops_free(&c->calls);
    return ok;
}

bool chat_answer(chat *c, chat_asked asked, const char *text, err *e)
{
    answer_report report = {0};
    bool ok = make_answer(c, asked, text, &report, e);
    if (!ok && report.is_full && asked == CHAT_SAY) {
        char line[200];
        snprintf(line, sizeof line,
                 "the context of %u tokens is full: /compact summarises the older turns, /slide drops them; then your "
                 "message is answered (-c N at the start makes it longer)",
                 generation_context(session_generation(c->s)));
        chat_note(c, line);
        err_clear(e);
        free(c->waiting);
        c->waiting = mem_dup(text);
        return true;
    }
    if (ok)
        print_end(c, &report);
    return ok && (!c->o->tools || asked == CHAT_GO_ON || report.end == ANSWER_INTERRUPTED || chat_use_tools(c, e));
}

bool chat_answer_waiting(chat *c, err *e)
{
    char *text = c->waiting;
    c->waiting = NULL;
    bool ok = !text || chat_answer(c, CHAT_SAY, text, e);
    free(text);
    return ok;
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
    while (ok && !c->unheard && read_message(c, &message)) {
        ok = prompt_ok(c->input, e);
        if (!ok)
            break;
        if (message.length == 0 || is_blank(message.data))
            continue;
        if (message.data[0] == '/') {
            if (!chat_command(c, message.data))
                break;
        } else if (!chat_answer(c, CHAT_SAY, message.data, e)) {
            /* on a terminal one may say something shorter; in a pipe that is a failure */
            ok = prompt_on_terminal(c->input) && e->kind == ERR_FAILED && !generation_is_full(session_generation(c->s));
            if (ok) {
                chat_note(c, e->text);
                err_clear(e);
            }
        }
    }
    str_free(&message);
    return ok && prompt_ok(c->input, e);
}

/* ---- the command ----------------------------------------------------------------------- */

/* The options with the texts of the files that they name. */
static bool begin_session(chat *c, const model *m, gpu *g, err *e)
{
    const options *o = c->o;
    session_options how = {.template = o->template};
    char *text = NULL;
    if (o->think)
        chat_find_think(o->think, &how.think, e);
    if (o->template && file_exists(o->template))
        how.template = text = cli_read_whole_text(o->template, MAX_TEMPLATE_BYTES, e);
    c->s = e->kind == ERR_NONE ? cli_begin_session(&o->model, &o->sampling, how, m, g, e) : NULL;
    free(text);
    if (!c->s || !session_read_texts(c->s, e))
        return false;
    if (session_template_error(c->s))
        return err_set(e, "%s", session_template_error(c->s));
    return cli_prepare_session(c->s, m, e);
}

static bool give_tools(chat *c, err *e)
{
    const chat_template *t = session_template(c->s);
    c->tools = c->o->tools ? cli_read_whole_text(c->o->tools, MAX_TOOLS_BYTES, e) : NULL;
    if (!c->tools)
        return !c->o->tools;
    const char *fault = tool_list_fault(c->tools);
    if (fault)
        return err_set(e, "%s is no list of tools: %s", c->o->tools, fault);
    if (!t || !chat_template_takes_tools(t))
        return err_set(e, "this model's template takes no tools");
    conversation_set_tools(session_conversation(c->s), c->tools);
    return true;
}

/* What the command line says counts more than the file. */
static bool load_session(chat *c, bool seed_is_given, err *e)
{
    options *o = c->o;
    chat_think think;
    if (!o->session || !file_exists(o->session))
        return true;
    if (!session_load(c->s, o->session, e))
        return false;
    o->sampling.how = sampling_over(session_sampling(c->s), &o->sampling.how, &DEFAULTS.sampling.how, seed_is_given);
    session_set_sampling(c->s, &o->sampling.how);
    if (o->think && chat_find_think(o->think, &think, e))
        session_set_think(c->s, think);
    return true;
}

static bool run_chat(options *o, bool seed_is_given, const model *m, gpu *g, bool *command_failed, err *e)
{
    chat c = {.o = o};
    if (!begin_session(&c, m, g, e) || !give_tools(&c, e) || !load_session(&c, seed_is_given, e)) {
        session_free(c.s);
        free(c.tools);
        return false;
    }
    c.input = prompt_open(chat_commands);
    c.slides = o->slide || !prompt_on_terminal(c.input);
    if (o->system)
        conversation_set_system(session_conversation(c.s), o->system);
    if (!session_template(c.s))
        chat_note(&c, "this model has no chat template: it goes on with what you type");
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART}, before;
    if (prompt_on_terminal(c.input))
        sigaction(SIGINT, &action, &before);
    bool ok = converse(&c, e);
    if (prompt_on_terminal(c.input))
        sigaction(SIGINT, &before, NULL);
    ok = ok && (!o->session || session_save(c.s, o->session, e));
    *command_failed = c.failed;
    prompt_close(c.input);
    free(c.waiting);
    free(c.tools);
    session_free(c.s);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    options *o = chosen;
    bool seed_is_given = o->sampling.seed >= 0;
    sampling_choose_seed(&o->sampling);
    model *m = cli_open_model(&o->model, &e);
    gpu *g = m ? cli_open_model_gpu(&o->model, &e) : NULL;
    bool command_failed = false;
    bool ok = g && run_chat(o, seed_is_given, m, g, &command_failed, &e);
    model_close(m);
    int status = ok ? command_failed : cli_fail(&e);
    cli_close_gpu(g, status);
    return status;
}

const cli_command command_chat = {
    .name = "chat",
    .summary = "a conversation with a model",
    .about =
        "A conversation: type, and the model answers. Ctrl-C stops an answer, Ctrl-D leaves; /help says more. Where "
        "input is no terminal, each line is a message.",
    .notes = "While it runs:\n" CHAT_COMMANDS,
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
