/* tokenizer_known: tokens known by how they are written: which are control tokens, which end a turn. */
#include "model/tokenizer_internal.h"

#include <string.h>

static int32_t find_named(const tokenizer *t, const char *name)
{
    return vocab_find(&t->words, name, strlen(name));
}

static void set_type(tokenizer *t, int32_t id, token_type type, bool ends)
{
    if (id < 0)
        return;
    t->words.types[id] = (uint8_t)type;
    t->ends[id] = ends;
}

/* The same for each of several names, separated by spaces. Returns the first that is
 * a token, or TOKEN_NONE. */
static int32_t set_types(tokenizer *t, const char *names, token_type type, bool ends)
{
    int32_t first = TOKEN_NONE;
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, " ");
        int32_t id = vocab_find(&t->words, at, n);
        set_type(t, id, type, ends);
        if (first < 0)
            first = id;
        at += n + (at[n] == ' ');
    }
    return first;
}

/* Files often give control tokens as ordinary ones, and name only one of several that
 * end a turn. */
static void mark_known_tokens(tokenizer *t)
{
    int32_t turn_end =
        set_types(t,
                  "<|eot_id|> <|im_end|> <|end|> <end_of_turn> <|endoftext|> <|end_of_text|> <EOT> _<EOT> [EOT] "
                  "<｜end▁of▁sentence｜> <end_of_utterance>",
                  TOKEN_CONTROL, true);
    set_types(t, "<|return|> <|call|> <|flush|> <|calls|> </s> <|eom_id|> [EOS] <eos> [e~[", TOKEN_CONTROL, true);
    /* for filling in the middle */
    set_types(t,
              "<|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|> "
              "<|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|> "
              "<|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|> "
              "<|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD] <|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame> "
              "<|file_sep|>",
              TOKEN_CONTROL, false);
    set_types(t, "<|channel|> <|message|> <|start|> <|constrain|>", TOKEN_USER_DEFINED, false);
    /* here a message may end before the turn does */
    bool calls = find_named(t, "<|call|>") >= 0 || find_named(t, "<|calls|>") >= 0;
    if (calls && (find_named(t, "<|return|>") >= 0 || find_named(t, "<|flush|>") >= 0))
        set_type(t, find_named(t, "<|end|>"), TOKEN_USER_DEFINED, false);

    if (t->eot < 0)
        t->eot = turn_end;
    if (t->eos >= 0)
        t->ends[t->eos] = true;
    if (t->eot >= 0 && t->words.types[t->eot] == TOKEN_CONTROL)
        t->ends[t->eot] = true;
}

/* What begins a turn must not be found in plain text, also where a file calls it the
 * user's. */
static void guard_turns(tokenizer *t)
{
    static const char *const names[] = {"<|im_start|>",    "<|start_header_id|>", "<|end_header_id|>", "[INST]",
                                        "<start_of_turn>", "<|system|>",          "<|user|>",          "[/INST]",
                                        "<|assistant|>",   "[SYSTEM_PROMPT]",     "[/SYSTEM_PROMPT]",  "<s>",
                                        "<bos>",           "<|begin_of_text|>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int32_t id = find_named(t, names[i]);
        if (id >= 0 && t->words.types[id] == TOKEN_USER_DEFINED)
            t->words.types[id] = TOKEN_CONTROL;
    }
}

void tokenizer_mark_known(tokenizer *t)
{
    mark_known_tokens(t);
    guard_turns(t);
}
