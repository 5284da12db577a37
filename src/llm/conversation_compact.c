/* conversation_compact: older turns become a summary that the model writes, in front of the last turn. */
#include "llm/conversation_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_SUMMARY_TOK = 256, /* and this part of the context: */
    SUMMARY_SHARE = 8,
    OLDER_SHARE = 2, /* part of the context that the turns to be summarised may fill */
};

static size_t first_turn(const conversation *c)
{
    return c->count && c->items[0].role == CHAT_SYSTEM ? 1 : 0;
}

/* Where the last turn begins: the user's last message. */
static size_t last_turn(const conversation *c)
{
    size_t at = c->count;
    while (at > 0 && c->items[at - 1].role != CHAT_USER)
        at--;
    return at ? at - 1 : 0;
}

/* The turns as a text, without thoughts; where that is too long, without the first of them. */
static void write_turns(const conversation *c, size_t first, size_t end, str *out)
{
    uint32_t most = generation_context(c->n) / OLDER_SHARE;
    token_list tokens = {0};
    do {
        out->length = 0;
        str_add(out, "");
        for (size_t i = first; i < end; i++) {
            const char *text = c->items[i].content, *thoughts = strstr(text, THOUGHTS_END);
            str_addf(out, "%s: %s\n", chat_role_names[c->items[i].role],
                     thoughts ? thoughts + strlen(THOUGHTS_END) : text);
        }
        tokens.count = 0;
        tokenizer_encode(c->t, out->data, out->length, false, false, &tokens, NULL);
        first++;
    } while (tokens.count > most && first < end);
    token_list_free(&tokens);
}

static void print_nothing(void *context, const char *text, size_t bytes)
{
    (void)context, (void)text, (void)bytes;
}

/* The model's summary of the turns from `first` to `end`. */
static bool summarise(conversation *c, size_t first, size_t end, const answer_options *o, str *out, err *e)
{
    str asked = {0};
    uint32_t share = generation_context(c->n) / SUMMARY_SHARE;
    answer_options quiet = {.most_tok = share < MOST_SUMMARY_TOK ? share : MOST_SUMMARY_TOK,
                            .interrupted = o->interrupted,
                            .print = print_nothing,
                            .stops = o->stops,
                            .stop_count = o->stop_count};
    answer_report report;
    write_turns(c, first, end, out);
    str_addf(&asked, "Summarise this conversation in a few sentences, with all facts, names and decisions:\n\n%s",
             out->data);
    conversation *own = conversation_new(c->n, c->t, c->f);
    conversation_set_think(own, CHAT_THINK_OFF);
    bool ok = conversation_say(own, asked.data, &quiet, &report, e);
    if (ok && report.end == ANSWER_INTERRUPTED)
        ok = err_set(e, "stopped: nothing was summarised");
    if (ok) {
        const char *text = conversation_at(own, conversation_count(own) - 1).content;
        const char *thoughts = strstr(text, THOUGHTS_END);
        text = thoughts ? thoughts + strlen(THOUGHTS_END) : text;
        out->length = 0;
        str_add(out, text + strspn(text, " \n"));
        ok = out->length > 0 || err_set(e, "the model's summary is empty");
    }
    conversation_free(own);
    conversation_forget_cache(c);
    str_free(&asked);
    return ok;
}

bool conversation_compact(conversation *c, const answer_options *o, err *e)
{
    size_t first = first_turn(c), last = last_turn(c);
    str summary = {0}, text = {0};
    if (!c->f)
        return err_set(e, "this model has no turns that could be summarised");
    if (last <= first)
        return err_set(e, "there is nothing before the last turn");
    bool ok = summarise(c, first, last, o, &summary, e);
    if (ok) {
        /* in the user's message: roles go on to alternate, and no template refuses that */
        str_addf(&text, "(What was said before, in short: %s)\n\n%s", summary.data, c->items[last].content);
        free(c->items[last].content);
        c->items[last].content = text.data;
        c->forgotten += (uint32_t)(last - first);
        for (size_t i = first; i < last; i++)
            conversation_remove(c, first);
    }
    str_free(&summary);
    return ok;
}
