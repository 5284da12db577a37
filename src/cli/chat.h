/* chat: what the files of `solo chat` share: chat.c reads and answers, chat_commands.c has the commands, chat_tools.c calls
 * tools. */
#ifndef SOLO_CLI_CHAT_H
#define SOLO_CLI_CHAT_H

#include "cli/cli.h"
#include "cli/prompt.h"
#include "cli/sampling_options.h"
#include "llm/session.h"

#define CHAT_COMMANDS \
    "  /system TEXT      tell the model this before everything; without a text: nothing\n" \
    "  /reset            begin anew\n" \
    "  /regenerate       another answer to the last message\n" \
    "  /compact          the model summarises the turns before the last one, which makes room\n" \
    "  /slide            from now on a full context drops its oldest turns\n" \
    "  /temp T           also /top-k /top-p /min-p /repeat-penalty /seed: how tokens are chosen\n" \
    "  /think WHEN       on, off, or auto: whether the model thinks before it answers\n" \
    "  /save FILE        the session, for /load and --session; FILE.json: the messages as JSON\n" \
    "  /load FILE        another session instead of this one\n" \
    "  /quit             leave; so does Ctrl-D\n" \
    "  Ctrl-C            stops an answer, or cancels the line; Tab completes a command\n" \
    "  A line that ends in \\ goes on in the next one, and so does all between two lines with \"\"\".\n"

typedef struct chat_settings {
    cli_model model;
    sampling_options sampling;
    const char *system, *template, *think, *session, *tools, *tool_command;
    long tokens, think_tok; /* 0: no limit */
    bool slide;
} chat_settings;

/* Someone at a terminal, or a pipe. */
typedef struct chat {
    chat_settings *o;
    session *s;
    prompt *input;
    bool slides; /* a full context drops its oldest turns; otherwise it is said, and the message waits: */
    char *waiting;
    bool said_forgotten, at_line_start;
    bool unheard; /* standard output takes no more */
    bool failed;  /* a command did, in a pipe, where nobody can mend it */
    stops calls;  /* of an answer with tools: what is passed on ends where a call begins */
    char *tools;  /* their list; NULL: none */
} chat;

/* Something to know that is not part of the conversation. */
void chat_note(const chat *c, const char *text);

typedef enum { CHAT_SAY, CHAT_AGAIN, CHAT_GO_ON } chat_asked;
/* Answers a message; or the last one again; or the messages that are there (`text` NULL). */
bool chat_answer(chat *c, chat_asked asked, const char *text, err *e);
/* The message that waited for room, if there is one. */
bool chat_answer_waiting(chat *c, err *e);

/* A line that begins with a slash. False: leave. Errors are printed, and the conversation goes on; in a pipe the status
 * of the program is 1 in the end. */
bool chat_command(chat *c, const char *line);
extern const char *const chat_commands[]; /* "/help", ..., NULL */
bool chat_find_think(const char *name, chat_think *out, err *e);
const char *chat_think_name(uint32_t i);

/* Where the last answer calls tools: shows the calls, gets their results and goes on with them, until an answer calls
 * none. */
bool chat_use_tools(chat *c, err *e);

#endif
