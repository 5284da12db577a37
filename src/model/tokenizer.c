#include "model/tokenizer.h"
#include "model/bpe.h"
#include "model/pretokenize.h"
#include "model/spm.h"
#include "model/unicode.h"

#include <ctype.h>
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
    /* the tokens looked for in text before anything is merged */
    size_t special_count;
    int32_t *by_length;     /* (special_count) in the order they are looked for */
    int32_t *by_text;       /* (special_count) places in by_length, by what is written */
    uint32_t by_first[257]; /* where each first byte begins in by_text */
    int32_t bos, eos, eot, unknown, padding;
    bool add_bos, add_eos, add_space_prefix;
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

/* ---- special tokens in text ---------------------------------------------------------- */

static int longer_first(const void *a, const void *b, void *context)
{
    const token_text *texts = ((const vocab *)context)->texts;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    if (texts[x].length != texts[y].length)
        return texts[x].length > texts[y].length ? -1 : 1;
    return x < y ? -1 : x > y;
}

static token_text special_text(const tokenizer *t, int32_t place)
{
    return t->words.texts[t->by_length[place]];
}

static int as_written(const void *a, const void *b, void *context)
{
    token_text x = special_text(context, *(const int32_t *)a), y = special_text(context, *(const int32_t *)b);
    int order = memcmp(x.data, y.data, x.length < y.length ? x.length : y.length);
    return order ? order : x.length < y.length ? -1 : x.length > y.length;
}

static bool is_looked_for(const vocab *v, size_t id)
{
    uint8_t type = v->types[id];
    return v->texts[id].length && (type == TOKEN_CONTROL || type == TOKEN_USER_DEFINED || type == TOKEN_UNKNOWN);
}

static void list_specials(tokenizer *t)
{
    for (size_t i = 0; i < t->words.count; i++)
        t->special_count += is_looked_for(&t->words, i);
    t->by_length = mem_alloc(t->special_count * sizeof *t->by_length);
    t->by_text = mem_alloc(t->special_count * sizeof *t->by_text);
    size_t n = 0;
    for (size_t i = 0; i < t->words.count; i++)
        if (is_looked_for(&t->words, i))
            t->by_length[n++] = (int32_t)i;
    qsort_r(t->by_length, n, sizeof *t->by_length, longer_first, &t->words);
    for (size_t i = 0; i < n; i++)
        t->by_text[i] = (int32_t)i;
    qsort_r(t->by_text, n, sizeof *t->by_text, as_written, t);
    for (size_t i = 0; i < n; i++)
        t->by_first[(unsigned char)special_text(t, t->by_text[i]).data[0] + 1]++;
    for (int i = 0; i < 256; i++)
        t->by_first[i + 1] += t->by_first[i];
}

/* The first of by_text[low .. high) whose byte at `depth` is at least `byte`. */
static uint32_t first_with(const tokenizer *t, uint32_t low, uint32_t high, size_t depth, int byte)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((unsigned char)special_text(t, t->by_text[middle]).data[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Which specials may be in the text: by their first bytes, all at once. */
static void note_specials(const tokenizer *t, const char *text, size_t bytes, bool *seen)
{
    enum { DEPTH = 32 };
    for (size_t at = 0; at < bytes; at++) {
        unsigned char first = (unsigned char)text[at];
        uint32_t low = t->by_first[first], high = t->by_first[first + 1];
        for (size_t depth = 1; low < high; depth++) {
            /* those that end here come first */
            for (; low < high && (special_text(t, t->by_text[low]).length == depth || depth == DEPTH); low++)
                seen[t->by_text[low]] = true;
            if (low == high || at + depth == bytes)
                break;
            int byte = (unsigned char)text[at + depth];
            high = first_with(t, low, high, depth, byte + 1);
            low = first_with(t, low, high, depth, byte);
        }
    }
}

/* A piece of text, or a token found in it. */
typedef struct fragment {
    size_t start, length;
    int32_t id; /* TOKEN_NONE: text */
} fragment;

typedef struct fragments {
    fragment *items;
    size_t count, capacity;
} fragments;

static void add_fragment(fragments *f, fragment item)
{
    if (item.id < 0 && item.length == 0)
        return;
    if (f->count == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 16;
        f->items = mem_grow(f->items, f->capacity * sizeof *f->items);
    }
    f->items[f->count++] = item;
}

static void cut_at_special(const tokenizer *t, const char *text, fragment piece, int32_t id, fragments *out)
{
    token_text special = t->words.texts[id];
    size_t at = piece.start, end = piece.start + piece.length;
    const char *found;
    while (at < end && (found = memmem(text + at, end - at, special.data, special.length))) {
        size_t left_end = (size_t)(found - text), right = left_end + special.length;
        if (t->strips[id] & TOKEN_STRIPS_LEFT)
            while (left_end > at && isspace((unsigned char)text[left_end - 1]))
                left_end--;
        if (t->strips[id] & TOKEN_STRIPS_RIGHT)
            while (right < end && isspace((unsigned char)text[right]))
                right++;
        add_fragment(out, (fragment){at, left_end - at, TOKEN_NONE});
        add_fragment(out, (fragment){left_end, 0, id});
        at = right;
    }
    add_fragment(out, (fragment){at, end - at, TOKEN_NONE});
}

/* The longest specials are cut out first, wherever they are; then the next ones from
 * what is left between them. */
static fragments cut_specials(const tokenizer *t, const char *text, size_t bytes, bool parse_special)
{
    fragments now = {0}, next = {0};
    bool *seen = mem_alloc(t->special_count * sizeof *seen);
    note_specials(t, text, bytes, seen);
    add_fragment(&now, (fragment){0, bytes, TOKEN_NONE});
    for (size_t s = 0; s < t->special_count; s++) {
        int32_t id = t->by_length[s];
        if (!seen[s] || (!parse_special && t->words.types[id] != TOKEN_USER_DEFINED))
            continue;
        next.count = 0;
        for (size_t i = 0; i < now.count; i++) {
            if (now.items[i].id >= 0)
                add_fragment(&next, now.items[i]);
            else
                cut_at_special(t, text, now.items[i], id, &next);
        }
        fragments swap = now;
        now = next;
        next = swap;
    }
    free(seen);
    free(next.items);
    return now;
}

/* ---- encoding --------------------------------------------------------------------------- */

/* What an encoding works with, from one piece of text to the next. */
typedef struct workspace {
    merger merger;
    pre_text text;
    pre_words words;
    str bytes;
} workspace;

static void encode_bpe(const tokenizer *t, workspace *w, const char *text, size_t bytes, token_list *out)
{
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

static void encode_spm(const tokenizer *t, workspace *w, const char *text, size_t bytes, bool prefix, token_list *out)
{
    w->bytes.length = 0;
    if (prefix)
        str_add(&w->bytes, SPM_SPACE);
    for (size_t at = 0; at < bytes;) {
        const char *space = memchr(text + at, ' ', bytes - at);
        size_t end = space ? (size_t)(space - text) : bytes;
        str_add_bytes(&w->bytes, text + at, end - at);
        if (space)
            str_add(&w->bytes, SPM_SPACE);
        at = end + 1;
    }
    spm_encode(&t->spm, &w->merger, w->bytes.data, w->bytes.length, out);
}

bool tokenizer_encode(const tokenizer *t, const char *text, size_t bytes, bool parse_special, bool add_bos,
                      token_list *out, err *e)
{
    if (bytes > MAX_TEXT_BYTES)
        return err_set(e, "the text is larger than 1 GiB");
    if (add_bos && t->bos >= 0)
        token_list_add(out, t->bos);
    if (bytes == 0)
        return true;
    workspace w = {0};
    fragments f = cut_specials(t, text, bytes, parse_special);
    bool after_special = true;
    for (size_t i = 0; i < f.count; i++) {
        fragment piece = f.items[i];
        if (piece.id >= 0)
            token_list_add(out, piece.id);
        else if (t->kind == TOKENIZER_BPE)
            encode_bpe(t, &w, text + piece.start, piece.length, out);
        else
            encode_spm(t, &w, text + piece.start, piece.length, t->add_space_prefix && after_special, out);
        after_special = piece.id >= 0;
    }
    free(f.items);
    merger_free(&w.merger);
    pre_text_free(&w.text);
    pre_words_free(&w.words);
    str_free(&w.bytes);
    return true;
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
    if (parts->kind == TOKENIZER_SPM && !parts->scores)
        return err_set(e, "the vocabulary has no scores");
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
    t->strips = mem_alloc(parts->token_count);
    if (parts->strips)
        memcpy(t->strips, parts->strips, parts->token_count);
    t->ends = mem_alloc(parts->token_count * sizeof *t->ends);
    vocab_init(&t->words, parts);
    mark_known_tokens(t);
    list_specials(t);
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
    vocab_free(&t->words);
    free(t->strips);
    free(t->ends);
    free(t->by_length);
    free(t->by_text);
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

int32_t tokenizer_find(const tokenizer *t, token_text text)
{
    return vocab_find(&t->words, text.data, text.length);
}
