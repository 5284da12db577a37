/* chat: recognising the family of a chat template, and writing a conversation in its form. */
#include "model/chat.h"
#include "model/unicode.h"

#include <stdlib.h>
#include <string.h>

/* ---- the families ---------------------------------------------------------------- */

#define BOS "\1"
#define EOS "\2"

static const chat_format CHATML = {
    .name = "chatml",
    .start = "",
    .turns = {{"<|im_start|>system\n", "<|im_end|>\n", false},
              {"<|im_start|>user\n", "<|im_end|>\n", false},
              {"<|im_start|>assistant\n", "<|im_end|>\n", false}},
    .prompt = "<|im_start|>assistant\n",
};

#define HEADER(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"
static const chat_format LLAMA3 = {
    .name = "llama-3",
    .start = BOS,
    .turns = {{HEADER("system"), "<|eot_id|>", true},
              {HEADER("user"), "<|eot_id|>", true},
              {HEADER("assistant"), "<|eot_id|>", true}},
    .prompt = HEADER("assistant"),
};

static const chat_format LLAMA2 = {
    .name = "llama-2",
    .start = "",
    .turns = {{"<<SYS>>\n", "\n<</SYS>>\n\n", false}, {BOS "[INST] ", " [/INST]", true}, {" ", " " EOS, true}},
    .prompt = "",
    .system_place = SYSTEM_FIRST_USER,
    .keeps_leading_in_first = true,
};

static const chat_format MISTRAL = {
    .name = "mistral",
    .start = BOS,
    .turns = {{"", "\n\n", false}, {"[INST] ", " [/INST]", false}, {"", EOS, false}},
    .prompt = "",
    .system_place = SYSTEM_FIRST_USER,
};

static const chat_format MISTRAL_V1 = {
    .name = "mistral-v1",
    .start = BOS,
    .turns = {{"", "\n\n", false}, {" [INST] ", " [/INST]", false}, {" ", EOS, false}},
    .prompt = "",
    .system_place = SYSTEM_FIRST_USER,
};

static const chat_format MISTRAL_V3 = {
    .name = "mistral-v3",
    .start = BOS,
    .turns = {{"", "\n\n", false}, {"[INST] ", "[/INST]", false}, {" ", EOS, true}},
    .prompt = "",
    .system_place = SYSTEM_LAST_USER,
};

static const chat_format MISTRAL_TEKKEN = {
    .name = "mistral-v3-tekken",
    .start = BOS,
    .turns = {{"", "\n\n", false}, {"[INST]", "[/INST]", false}, {"", EOS, false}},
    .prompt = "",
    .system_place = SYSTEM_LAST_USER,
};

static const chat_format MISTRAL_V7 = {
    .name = "mistral-v7",
    .start = BOS,
    .turns = {{"[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]", false}, {"[INST] ", "[/INST]", false}, {" ", EOS, false}},
    .prompt = "",
};

static const chat_format MISTRAL_V7_TEKKEN = {
    .name = "mistral-v7-tekken",
    .start = BOS,
    .turns = {{"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", false}, {"[INST]", "[/INST]", false}, {"", EOS, false}},
    .prompt = "",
};

static const chat_format PHI3 = {
    .name = "phi-3",
    .start = "",
    .turns = {{"<|system|>\n", "<|end|>\n", false},
              {"<|user|>\n", "<|end|>\n", false},
              {"<|assistant|>\n", "<|end|>\n", false}},
    .prompt = "<|assistant|>\n",
};

static const chat_format ZEPHYR = {
    .name = "zephyr",
    .start = "",
    .turns = {{"<|system|>\n", EOS "\n", false}, {"<|user|>\n", EOS "\n", false}, {"<|assistant|>\n", EOS "\n", false}},
    .prompt = "<|assistant|>\n",
};

static const chat_format GEMMA = {
    .name = "gemma",
    .start = BOS,
    .turns = {{"", "\n\n", false},
              {"<start_of_turn>user\n", "<end_of_turn>\n", true},
              {"<start_of_turn>model\n", "<end_of_turn>\n", true}},
    .prompt = "<start_of_turn>model\n",
    .system_place = SYSTEM_FIRST_USER,
};

/* ---- recognising them --------------------------------------------------------------- */

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* Some put a message of their own where there is no system's. */
static const char *default_system_of(const char *text)
{
    static const char *const known[] = {
        "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
        "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
        "You are a helpful assistant.",
        "You are a helpful assistant",
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        str written = {0};
        str_addf(&written, "<|im_start|>system\\n%s<|im_end|>", known[i]);
        bool found = has(text, written.data);
        written.length = 0;
        str_addf(&written, "<|im_start|>system\n%s<|im_end|>", known[i]);
        found = found || has(text, written.data);
        str_free(&written);
        if (found)
            return known[i];
    }
    return NULL;
}

static chat_format chatml_of(const char *text)
{
    chat_format f = CHATML;
    f.default_system = default_system_of(text);
    f.forgets_thoughts = has(text, "</think>");
    if (has(text, "bos_token"))
        f.start = BOS;
    return f;
}

/* From 3.1 on there is always a system's turn, with dates; the day is the template's own
 * where it is not told. */
#define DATES "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"

static chat_format llama3_of(const char *text)
{
    chat_format f = LLAMA3;
    if (has(text, "Cutting Knowledge Date: December 2023")) {
        f.turns[CHAT_SYSTEM].before = HEADER("system") DATES;
        f.default_system = "";
    }
    return f;
}

static chat_format inst_of(const char *text)
{
    if (has(text, "[SYSTEM_PROMPT]"))
        return has(text, "[SYSTEM_PROMPT] ") ? MISTRAL_V7 : MISTRAL_V7_TEKKEN;
    chat_format f = MISTRAL;
    if (has(text, "' [INST] '") || has(text, "\" [INST] \""))
        f = MISTRAL_V1;
    else if (has(text, "[AVAILABLE_TOOLS]"))
        f = has(text, "\"[INST]\"") || has(text, "'[INST]'") ? MISTRAL_TEKKEN : MISTRAL_V3;
    else if (has(text, "<<SYS>>")) {
        f = LLAMA2;
        if (!has(text, "bos_token + '[INST]") && !has(text, "bos_token + \"[INST]")) {
            f.start = BOS;
            f.turns[CHAT_USER].before = "[INST] ";
        }
    } else if (has(text, "eos_token + ' '") || has(text, "eos_token + \" \""))
        f.turns[CHAT_ASSISTANT].after = EOS " ";
    if (f.system_place == SYSTEM_LAST_USER && has(text, "loop.first and system_message"))
        f.system_place = SYSTEM_FIRST_USER;
    return f;
}

bool chat_format_of(const char *text, chat_format *out)
{
    if (has(text, "<|im_start|>"))
        *out = chatml_of(text);
    else if (has(text, "<|start_header_id|>"))
        *out = llama3_of(text);
    else if (has(text, "[INST]"))
        *out = inst_of(text);
    else if (has(text, "<start_of_turn>"))
        *out = GEMMA;
    else if ((has(text, "<|assistant|>") || has(text, "'<|' + message['role'] + '|>'")) && has(text, "<|end|>")) {
        *out = PHI3;
        if (has(text, "bos_token"))
            out->start = BOS;
    } else if (has(text, "<|user|>") && has(text, "eos_token"))
        *out = ZEPHYR;
    else
        return false;
    return true;
}

bool chat_format_named(const char *name, chat_format *out)
{
    static const chat_format *const all[] = {&CHATML,         &LLAMA3,     &LLAMA2,     &MISTRAL,
                                             &MISTRAL_V1,     &MISTRAL_V3, &MISTRAL_V7, &PHI3,
                                             &MISTRAL_TEKKEN, &ZEPHYR,     &GEMMA,      &MISTRAL_V7_TEKKEN};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) {
            *out = *all[i];
            return true;
        }
    return false;
}

/* ---- rendering --------------------------------------------------------------------------- */

void chat_text_free(chat_text *t)
{
    str_free(&t->text);
    free(t->plain);
    *t = (chat_text){0};
}

static void add_marker(chat_text *out, const char *marker, const char *bos, const char *eos)
{
    for (; *marker; marker++) {
        if (*marker == *BOS || *marker == *EOS)
            str_add(&out->text, *marker == *BOS ? bos : eos);
        else
            str_add_bytes(&out->text, marker, 1);
    }
}

static void add_plain(chat_text *out, token_text content)
{
    if (content.length == 0)
        return;
    if (out->plain_count == out->plain_capacity) {
        out->plain_capacity = out->plain_capacity ? 2 * out->plain_capacity : 8;
        out->plain = mem_grow(out->plain, out->plain_capacity * sizeof *out->plain);
    }
    out->plain[out->plain_count++] = (text_span){out->text.length, content.length};
    str_add_bytes(&out->text, content.data, content.length);
}

static bool is_space(uint32_t point)
{
    return unicode_class(point) & UNICODE_SPACE;
}

static token_text trim_start(token_text t)
{
    for (size_t length; t.length && is_space(utf8_decode(t.data, t.length, &length));) {
        t.data += length;
        t.length -= length;
    }
    return t;
}

static token_text trim_end(token_text t)
{
    while (t.length) {
        size_t at = t.length - 1, length;
        while (at > 0 && t.length - at < 4 && ((unsigned char)t.data[at] & 0xC0) == 0x80)
            at--;
        if (!is_space(utf8_decode(t.data + at, t.length - at, &length)) || at + length != t.length)
            break;
        t.length = at;
    }
    return t;
}

static token_text without_thoughts(token_text t)
{
    static const char end[] = "</think>";
    for (const char *found; (found = memmem(t.data, t.length, end, sizeof end - 1));) {
        size_t cut = (size_t)(found - t.data) + sizeof end - 1;
        t = (token_text){t.data + cut, t.length - cut};
        while (t.length && *t.data == '\n')
            t = (token_text){t.data + 1, t.length - 1};
    }
    return t;
}

/* What is rendered with. */
typedef struct rendering {
    const chat_format *f;
    const char *bos, *eos;
    const char *system; /* still to be said inside a user's turn; or NULL */
    chat_text *out;
} rendering;

static void add_turn(rendering *r, chat_role role, const char *content)
{
    const chat_turn *turn = &r->f->turns[role];
    token_text text = {content, strlen(content)};
    bool joined = role == CHAT_USER && r->system;
    if (role == CHAT_ASSISTANT && r->f->forgets_thoughts)
        text = without_thoughts(text);
    if (turn->trims && !(joined && r->f->keeps_leading_in_first))
        text = trim_start(text);
    if (turn->trims)
        text = trim_end(text);
    add_marker(r->out, turn->before, r->bos, r->eos);
    if (joined) {
        add_turn(&(rendering){r->f, r->bos, r->eos, NULL, r->out}, CHAT_SYSTEM, r->system);
        r->system = NULL;
    }
    add_plain(r->out, text);
    add_marker(r->out, turn->after, r->bos, r->eos);
}

static size_t last_user(const chat_message *messages, size_t count)
{
    size_t last = 0;
    for (size_t i = 0; i < count; i++)
        if (messages[i].role == CHAT_USER)
            last = i;
    return last;
}

void chat_render(const chat_format *f, const chat_message *messages, size_t count, bool ask, const char *bos,
                 const char *eos, chat_text *out)
{
    rendering r = {f, bos, eos, NULL, out};
    size_t first = count && messages[0].role == CHAT_SYSTEM ? 1 : 0, last = last_user(messages, count);
    const char *system = first ? messages[0].content : f->default_system;
    add_marker(out, f->start, bos, eos);
    if (system && f->system_place == SYSTEM_TURN)
        add_turn(&r, CHAT_SYSTEM, system);
    else if (f->system_place == SYSTEM_FIRST_USER)
        r.system = system;
    for (size_t i = first; i < count; i++) {
        if (f->system_place == SYSTEM_LAST_USER && i == last && i + 1 == count)
            r.system = system;
        add_turn(&r, messages[i].role, messages[i].content);
    }
    if (ask)
        add_marker(out, f->prompt, bos, eos);
}

bool chat_encode(const chat_format *f, const tokenizer *t, const chat_message *messages, size_t count, bool ask,
                 token_list *out, err *e)
{
    str bos = {0}, eos = {0};
    chat_text text = {0};
    str_add(&bos, "");
    str_add(&eos, "");
    tokenizer_piece(t, tokenizer_bos(t), true, &bos);
    tokenizer_piece(t, tokenizer_eos(t), true, &eos);
    chat_render(f, messages, count, ask, bos.data, eos.data, &text);
    bool begins = bos.length && text.text.length >= bos.length && memcmp(text.text.data, bos.data, bos.length) == 0;
    bool ok = tokenizer_encode_partly(t, text.text.data, text.text.length, text.plain, text.plain_count,
                                      !begins && tokenizer_adds_bos(t), out, e);
    chat_text_free(&text);
    str_free(&bos);
    str_free(&eos);
    return ok;
}
