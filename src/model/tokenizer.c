#include "model/tokenizer.h"
#include "model/bpe.h"
#include "model/nfc.h"
#include "model/pretokenize.h"
#include "model/specials.h"
#include "model/spm.h"
#include "model/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 1 << 30 };

struct tokenizer {
    tokenizer_kind kind;
    vocab words;
    uint8_t *strips; /* (count) */
    bool *ends;      /* (count) */
    bpe bpe;
    spm spm;
    const pre_rule *pre;
    specials raw, normalized; /* looked for in the text as it is; and once it is normalized */
    int32_t bos, eos, eot, unknown, padding;
    bool add_bos, add_eos, add_space_prefix, metaspace, prefix_first_only, nfc;
};

/* ---- lists of ids ------------------------------------------------------------- */

void token_list_add(token_list *list, int32_t id)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? list->capacity + list->capacity / 2 : 64;
        list->ids = mem_grow(list->ids, list->capacity * sizeof *list->ids);
    }
    list->ids[list->count++] = id;
}

void token_list_free(token_list *list)
{
    free(list->ids);
    *list = (token_list){0};
}

/* ---- the vocabulary ------------------------------------------------------------- */

/* The slot that holds this text, or the free one where it belongs. */
static size_t vocab_slot(const vocab *v, const char *text, size_t length)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
    size_t at = (size_t)(h ^ h >> 32) & v->slot_mask;
    for (; v->slots[at]; at = (at + 1) & v->slot_mask) {
        token_text other = v->texts[v->slots[at] - 1];
        if (other.length == length && memcmp(other.data, text, length) == 0)
            break;
    }
    return at;
}

int32_t vocab_find(const vocab *v, const char *text, size_t length)
{
    if (length == 0 || length > v->longest_bytes)
        return TOKEN_NONE;
    return (int32_t)v->slots[vocab_slot(v, text, length)] - 1;
}

static void vocab_init(vocab *v, const tokenizer_parts *parts)
{
    size_t bytes = 0, slots = 16;
    for (size_t i = 0; i < parts->token_count; i++)
        bytes += parts->tokens[i].length;
    while (slots < 2 * parts->token_count)
        slots *= 2;
    *v = (vocab){.count = parts->token_count,
                 .texts = mem_alloc(parts->token_count * sizeof *v->texts),
                 .scores = mem_alloc(parts->token_count * sizeof *v->scores),
                 .types = mem_alloc(parts->token_count),
                 .bytes = mem_alloc(bytes),
                 .slots = mem_alloc(slots * sizeof *v->slots),
                 .slot_mask = slots - 1};
    char *at = v->bytes;
    for (size_t i = 0; i < v->count; i++) {
        token_text text = parts->tokens[i];
        v->texts[i] = (token_text){at, text.length};
        v->scores[i] = parts->scores ? parts->scores[i] : 0;
        v->types[i] = parts->types ? parts->types[i] : TOKEN_NORMAL;
        if (text.length == 0)
            continue;
        memcpy(at, text.data, text.length);
        at += text.length;
        if (text.length > v->longest_bytes)
            v->longest_bytes = text.length;
        size_t slot = vocab_slot(v, text.data, text.length);
        if (!v->slots[slot])
            v->slots[slot] = (uint32_t)i + 1;
    }
}

static void vocab_free(vocab *v)
{
    free(v->texts);
    free(v->scores);
    free(v->types);
    free(v->bytes);
    free(v->slots);
}

/* ---- tokens known by how they are written ------------------------------------------ */

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

/* ---- normalizing --------------------------------------------------------------------- */

/* Appends a text with U+2581 for each space; and what of it is plain, if that is asked
 * for. */
static void add_with_marks(const char *text, size_t bytes, const char *plain, str *out, str *plain_out)
{
    for (size_t at = 0; at < bytes;) {
        const char *space = memchr(text + at, ' ', bytes - at);
        size_t end = space ? (size_t)(space - text) : bytes;
        str_add_bytes(out, text + at, end - at);
        if (plain_out)
            str_add_bytes(plain_out, plain + at, end - at);
        if (space) {
            str_add(out, SPM_SPACE);
            for (int i = 0; plain_out && i < SPM_SPACE_BYTES; i++)
                str_add_bytes(plain_out, plain + end, 1);
        }
        at = end + 1;
    }
}

/* What is done to a text before tokens are looked for that were added as normalized. */
static void normalize(const tokenizer *t, const marked_text *text, str *out, str *plain_out)
{
    if (t->kind == TOKENIZER_SPM && !t->metaspace) {
        if (t->add_space_prefix && text->bytes) {
            str_add(out, SPM_SPACE);
            if (plain_out)
                str_add_bytes(plain_out, (const char[SPM_SPACE_BYTES]){0}, SPM_SPACE_BYTES);
        }
        add_with_marks(text->data, text->bytes, text->plain, out, plain_out);
        return;
    }
    if (t->nfc) {
        nfc_add(text->data, text->bytes, text->plain, out, plain_out);
        return;
    }
    str_add_bytes(out, text->data, text->bytes);
    if (plain_out)
        str_add_bytes(plain_out, text->plain, text->bytes);
}

/* ---- special tokens in text ---------------------------------------------------------- */

static bool is_looked_for(const vocab *v, size_t id)
{
    uint8_t type = v->types[id];
    return type == TOKEN_CONTROL || type == TOKEN_USER_DEFINED || type == TOKEN_UNKNOWN;
}

static special special_of(const tokenizer *t, int32_t id)
{
    return (special){t->words.texts[id], id, t->words.types[id] != TOKEN_USER_DEFINED, t->strips[id]};
}

/* Those that the types say. */
static void list_by_type(tokenizer *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->words.count; i++)
        n += is_looked_for(&t->words, i);
    special *list = mem_alloc(n * sizeof *list);
    n = 0;
    for (size_t i = 0; i < t->words.count; i++)
        if (is_looked_for(&t->words, i))
            list[n++] = special_of(t, (int32_t)i);
    specials_init(&t->raw, list, n, false);
    free(list);
}

/* Those that were added, each looked for in the text as it is or as it is normalized. */
static void list_added(tokenizer *t, const tokenizer_parts *parts)
{
    special *list = mem_alloc(parts->added_count * sizeof *list);
    str text = {0};
    for (int normalized = 0; normalized < 2; normalized++) {
        size_t n = 0;
        text.length = 0;
        for (size_t i = 0; i < parts->added_count; i++) {
            const added_token *a = &parts->added[i];
            if (a->normalized != (normalized == 1))
                continue;
            list[n] = special_of(t, a->id);
            if (normalized) {
                size_t start = text.length;
                normalize(t, &(marked_text){a->text.data, a->text.length, false, NULL}, &text, NULL);
                list[n].text = (token_text){NULL, text.length - start};
            } else
                list[n].text = a->text;
            n++;
        }
        /* the text does not move any more */
        for (size_t i = 0, at = 0; normalized && i < n; at += list[i++].text.length)
            list[i].text.data = text.data ? text.data + at : "";
        specials_init(normalized ? &t->normalized : &t->raw, list, n, true);
    }
    str_free(&text);
    free(list);
}

/* ---- encoding --------------------------------------------------------------------------- */

/* What an encoding works with, from one piece of text to the next. */
typedef struct workspace {
    merger merger;
    pre_text text;
    pre_words words;
    str bytes, normalized, plain;
    fragments found;
} workspace;

static void encode_bpe(const tokenizer *t, workspace *w, const char *text, size_t bytes, token_list *out)
{
    if (t->add_space_prefix && text[0] != ' ') {
        w->bytes.length = 0;
        str_add(&w->bytes, " ");
        str_add_bytes(&w->bytes, text, bytes);
        pre_text_set(&w->text, w->bytes.data, w->bytes.length);
    } else
        pre_text_set(&w->text, text, bytes);
    pre_split(t->pre, &w->text, &w->words);
    uint32_t at = 0;
    for (uint32_t i = 0; i < w->words.count; i++) {
        w->bytes.length = 0;
        for (; at < w->words.ends[i]; at++) {
            char c[4];
            str_add_bytes(&w->bytes, c, utf8_put(w->text.points[at], c));
        }
        bpe_encode(&t->bpe, &w->merger, w->bytes.data, w->bytes.length, out);
    }
}

static void encode_spm(const tokenizer *t, workspace *w, const char *text, size_t bytes, bool at_start, token_list *out)
{
    if (!t->metaspace) { /* normalizing did it */
        spm_encode(&t->spm, &w->merger, text, bytes, out);
        return;
    }
    bool has_space = text[0] == ' ' || (bytes >= SPM_SPACE_BYTES && memcmp(text, SPM_SPACE, SPM_SPACE_BYTES) == 0);
    w->bytes.length = 0;
    if (t->add_space_prefix && !has_space && (at_start || !t->prefix_first_only))
        str_add(&w->bytes, SPM_SPACE);
    add_with_marks(text, bytes, NULL, &w->bytes, NULL);
    spm_encode(&t->spm, &w->merger, w->bytes.data, w->bytes.length, out);
}

static void encode_piece(const tokenizer *t, workspace *w, const char *text, size_t bytes, bool at_start,
                         token_list *out)
{
    if (t->kind == TOKENIZER_BPE)
        encode_bpe(t, w, text, bytes, out);
    else
        encode_spm(t, w, text, bytes, at_start, out);
}

/* Text between the tokens that were found in it as it is. */
static void encode_text(const tokenizer *t, workspace *w, const marked_text *text, bool at_start, token_list *out)
{
    w->normalized.length = w->plain.length = 0;
    normalize(t, text, &w->normalized, text->plain && t->normalized.count ? &w->plain : NULL);
    if (t->normalized.count == 0) {
        encode_piece(t, w, w->normalized.data, w->normalized.length, at_start, out);
        return;
    }
    marked_text normalized = {w->normalized.data, w->normalized.length, text->all_plain,
                              text->plain ? w->plain.data : NULL};
    w->found.count = 0;
    specials_cut(&t->normalized, &normalized, &w->found);
    for (size_t i = 0; i < w->found.count; i++) {
        fragment f = w->found.items[i];
        if (f.id >= 0)
            token_list_add(out, f.id);
        else
            encode_piece(t, w, normalized.data + f.start, f.length, at_start && f.start == 0, out);
    }
}

static bool encode_marked(const tokenizer *t, const marked_text *text, bool add_bos, token_list *out, err *e)
{
    if (text->bytes > MAX_TEXT_BYTES)
        return err_set(e, "the text is larger than 1 GiB");
    if (add_bos && t->bos >= 0)
        token_list_add(out, t->bos);
    if (text->bytes == 0)
        return true;
    workspace w = {0};
    fragments f = {0};
    specials_cut(&t->raw, text, &f);
    for (size_t i = 0; i < f.count; i++) {
        fragment piece = f.items[i];
        marked_text part = {text->data + piece.start, piece.length, text->all_plain,
                            text->plain ? text->plain + piece.start : NULL};
        if (piece.id >= 0)
            token_list_add(out, piece.id);
        else
            encode_text(t, &w, &part, piece.start == 0, out);
    }
    free(f.items);
    free(w.found.items);
    merger_free(&w.merger);
    pre_text_free(&w.text);
    pre_words_free(&w.words);
    str_free(&w.bytes);
    str_free(&w.normalized);
    str_free(&w.plain);
    return true;
}

bool tokenizer_encode(const tokenizer *t, const char *text, size_t bytes, bool parse_special, bool add_bos,
                      token_list *out, err *e)
{
    return encode_marked(t, &(marked_text){text, bytes, !parse_special, NULL}, add_bos, out, e);
}

bool tokenizer_encode_partly(const tokenizer *t, const char *text, size_t bytes, const text_span *plain,
                             size_t plain_count, bool add_bos, token_list *out, err *e)
{
    char *marks = mem_alloc(bytes);
    for (size_t i = 0; i < plain_count; i++)
        if (plain[i].start <= bytes && plain[i].length <= bytes - plain[i].start)
            memset(marks + plain[i].start, 1, plain[i].length);
    bool ok = encode_marked(t, &(marked_text){text, bytes, false, marks}, add_bos, out, e);
    free(marks);
    return ok;
}

/* ---- decoding ----------------------------------------------------------------------------- */

void tokenizer_piece(const tokenizer *t, int32_t id, bool special, str *out)
{
    if (id < 0 || (size_t)id >= t->words.count)
        return;
    token_text text = t->words.texts[id];
    switch (t->words.types[id]) {
    case TOKEN_CONTROL:
    case TOKEN_UNKNOWN:
        if (special)
            str_add_bytes(out, text.data, text.length);
        break;
    case TOKEN_USER_DEFINED: str_add_bytes(out, text.data, text.length); break;
    case TOKEN_BYTE: spm_decode(text, true, out); break;
    case TOKEN_NORMAL:
        if (t->kind == TOKENIZER_BPE)
            bpe_decode(text, out);
        else
            spm_decode(text, false, out);
        break;
    default: break;
    }
}

static void add_replacement(str *out)
{
    str_add(out, "\xEF\xBF\xBD");
}

static void add_byte(decode_stream *s, char byte, str *out)
{
    s->held[s->held_bytes++] = byte;
    int length;
    while (s->held_bytes && (length = utf8_length(s->held, s->held_bytes)) != 0) {
        size_t taken = length > 0 ? (size_t)length : 1;
        if (length > 0)
            str_add_bytes(out, s->held, taken);
        else
            add_replacement(out);
        s->held_bytes -= taken;
        memmove(s->held, s->held + taken, s->held_bytes);
    }
}

void decode_stream_add(decode_stream *s, const tokenizer *t, int32_t id, str *out)
{
    str piece = {0};
    tokenizer_piece(t, id, s->special, &piece);
    for (size_t i = 0; i < piece.length; i++) {
        bool skip = s->strip_space && t->kind == TOKENIZER_SPM && t->add_space_prefix && piece.data[i] == ' ';
        s->strip_space = false;
        if (!skip)
            add_byte(s, piece.data[i], out);
    }
    str_free(&piece);
}

void decode_stream_end(decode_stream *s, str *out)
{
    for (; s->held_bytes; s->held_bytes--)
        add_replacement(out);
}

/* ---- making one ------------------------------------------------------------------------------ */

static bool check_id(const tokenizer_parts *parts, const char *what, int32_t id, err *e)
{
    if (id < TOKEN_NONE || (id >= 0 && (size_t)id >= parts->token_count))
        return err_set(e, "the %s token's id is %d, but there are %zu tokens", what, (int)id, parts->token_count);
    return true;
}

static bool check_parts(const tokenizer_parts *parts, err *e)
{
    if (parts->token_count == 0)
        return err_set(e, "the vocabulary is empty");
    if (parts->token_count > TOKENIZER_MAX_TOKENS || parts->merge_count > TOKENIZER_MAX_TOKENS)
        return err_set(e, "the vocabulary is too large: %zu tokens, %zu merges", parts->token_count,
                       parts->merge_count);
    if (parts->kind == TOKENIZER_SPM && !parts->scores && !parts->merge_count)
        return err_set(e, "the vocabulary has no scores and no merges");
    for (size_t i = 0; i < parts->added_count; i++)
        if (parts->added[i].id < 0 || !check_id(parts, "added", parts->added[i].id, e))
            return false;
    for (size_t i = 0; i < parts->end_count; i++)
        if (parts->ends[i] < 0 || !check_id(parts, "end", parts->ends[i], e))
            return false;
    return check_id(parts, "BOS", parts->bos, e) && check_id(parts, "EOS", parts->eos, e) &&
           check_id(parts, "EOT", parts->eot, e) && check_id(parts, "unknown", parts->unknown, e) &&
           check_id(parts, "padding", parts->padding, e);
}

tokenizer *tokenizer_new(const tokenizer_parts *parts, err *e)
{
    if (!check_parts(parts, e))
        return NULL;
    const pre_rule *pre = NULL;
    if (parts->kind == TOKENIZER_BPE && !(pre = pre_find(parts->pre.data, parts->pre.length))) {
        err_set(e, "the pre-tokenizer '%.*s' is not known", (int)(parts->pre.length < 64 ? parts->pre.length : 64),
                parts->pre.data);
        return NULL;
    }
    tokenizer *t = mem_alloc(sizeof *t);
    t->kind = parts->kind;
    t->pre = pre;
    t->bos = parts->bos;
    t->eos = parts->eos;
    t->eot = parts->eot;
    t->unknown = parts->unknown;
    t->padding = parts->padding;
    t->add_bos = parts->add_bos;
    t->add_eos = parts->add_eos;
    t->add_space_prefix = parts->add_space_prefix;
    t->metaspace = parts->metaspace;
    t->nfc = parts->nfc;
    t->prefix_first_only = parts->prefix_first_only;
    t->strips = mem_alloc(parts->token_count);
    if (parts->strips)
        memcpy(t->strips, parts->strips, parts->token_count);
    t->ends = mem_alloc(parts->token_count * sizeof *t->ends);
    vocab_init(&t->words, parts);
    mark_known_tokens(t);
    guard_turns(t);
    for (size_t i = 0; i < parts->end_count; i++)
        t->ends[parts->ends[i]] = true;
    if (parts->added)
        list_added(t, parts);
    else
        list_by_type(t);
    if (t->kind == TOKENIZER_BPE)
        bpe_init(&t->bpe, &t->words, parts);
    else
        spm_init(&t->spm, &t->words, parts);
    return t;
}

void tokenizer_free(tokenizer *t)
{
    if (!t)
        return;
    bpe_free(&t->bpe);
    spm_free(&t->spm);
    vocab_free(&t->words);
    free(t->strips);
    free(t->ends);
    specials_free(&t->raw);
    specials_free(&t->normalized);
    free(t);
}

/* ---- asking ------------------------------------------------------------------------------------ */

size_t tokenizer_size(const tokenizer *t)
{
    return t->words.count;
}

int32_t tokenizer_bos(const tokenizer *t)
{
    return t->bos;
}

int32_t tokenizer_eos(const tokenizer *t)
{
    return t->eos;
}

int32_t tokenizer_eot(const tokenizer *t)
{
    return t->eot;
}

int32_t tokenizer_unknown(const tokenizer *t)
{
    return t->unknown;
}

int32_t tokenizer_padding(const tokenizer *t)
{
    return t->padding;
}

bool tokenizer_adds_bos(const tokenizer *t)
{
    return t->add_bos;
}

bool tokenizer_adds_eos(const tokenizer *t)
{
    return t->add_eos;
}

bool tokenizer_ends(const tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->words.count && t->ends[id];
}

uint32_t tokenizer_list_ends(const tokenizer *t, uint32_t ids[TOKENIZER_MAX_ENDS])
{
    uint32_t count = 0;
    for (size_t id = 0; id < t->words.count && count < TOKENIZER_MAX_ENDS; id++)
        if (t->ends[id])
            ids[count++] = (uint32_t)id;
    return count;
}

int32_t tokenizer_find(const tokenizer *t, token_text text)
{
    return vocab_find(&t->words, text.data, text.length);
}
