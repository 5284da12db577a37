/* jinja_lex: a template's text as tokens. What is between tags is one token each, with white space removed as Jinja
 * does with trim_blocks and lstrip_blocks: a tag takes the line end behind it, and the spaces before it where it is the
 * first in its line; "-" inside a tag takes all white space on that side, "+" none. */
#include "model/jinja_internal.h"
#include "model/unicode.h"

#include <string.h>

typedef struct lexer {
    jinja_core *k;
    const char *at, *end;
    uint32_t line;
    bool line_begins; /* what was read last ended a line */
    jinja_tokens *out;
    uint32_t open; /* brackets */
    char brackets[JINJA_MAX_NESTING];
} lexer;

static void add_token(lexer *l, token_kind kind, const char *text, size_t length, uint16_t op)
{
    jinja_tokens *t = l->out;
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 256;
        t->at = mem_grow(t->at, t->capacity * sizeof *t->at);
    }
    t->at[t->count++] = (jinja_token){kind, op, l->line, text, length};
}

static size_t left(const lexer *l)
{
    return (size_t)(l->end - l->at);
}

static bool sees(const lexer *l, const char *word)
{
    size_t length = strlen(word);
    return left(l) >= length && memcmp(l->at, word, length) == 0;
}

static void skip(lexer *l, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        l->line += l->at[i] == '\n';
    l->at += bytes;
    if (bytes)
        l->line_begins = l->at[-1] == '\n';
}

/* Bytes of the white space character at `at`, or 0. */
static size_t space_at(const char *at, const char *end)
{
    size_t length;
    if (at >= end)
        return 0;
    return jinja_is_space(utf8_decode(at, (size_t)(end - at), &length)) ? length : 0;
}

static void skip_space(lexer *l)
{
    for (size_t length; (length = space_at(l->at, l->end));)
        skip(l, length);
}

/* `text` up to `end` without the white space at its end; not before `begin`. */
static const char *before_space(const char *begin, const char *end)
{
    while (end > begin) {
        const char *last = end - 1;
        while (last > begin && end - last < 4 && ((unsigned char)*last & 0xC0) == 0x80)
            last--;
        if (space_at(last, end) != (size_t)(end - last))
            break;
        end = last;
    }
    return end;
}

/* The text before a tag that begins at `tag`; `sign` is what stands in the tag. */
static void add_data(lexer *l, const char *text, const char *tag, char sign, bool strips, bool line_begins)
{
    const char *end = tag;
    if (sign == '-')
        end = before_space(text, tag);
    else if (sign != '+' && strips) {
        const char *line = end;
        while (line > text && line[-1] != '\n')
            line--;
        if ((line > text || line_begins) && before_space(line, end) == line)
            end = line;
    }
    if (end > text)
        add_token(l, T_DATA, text, (size_t)(end - text), 0);
}

/* Behind "%}" or "#}": `sign` came before it. */
static void end_tag(lexer *l, char sign)
{
    l->line_begins = false;
    if (sign == '-')
        skip_space(l);
    else if (sign != '+' && sees(l, "\n"))
        skip(l, 1);
}

/* ---- inside tags ------------------------------------------------------------------------ */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static size_t digits(const char *at, const char *end)
{
    const char *begin = at;
    while (at < end && (is_digit(*at) || (*at == '_' && at > begin && at + 1 < end && is_digit(at[1]))))
        at++;
    return (size_t)(at - begin);
}

static void lex_number(lexer *l)
{
    const char *at = l->at, *begin = at;
    token_kind kind = T_WHOLE;
    at += digits(at, l->end);
    if (at + 1 < l->end && *at == '.' && is_digit(at[1])) {
        kind = T_REAL;
        at += 1 + digits(at + 1, l->end);
    }
    if (at + 1 < l->end && (*at == 'e' || *at == 'E')) {
        const char *power = at + 1 + (at[1] == '+' || at[1] == '-');
        size_t length = power < l->end ? digits(power, l->end) : 0;
        if (length) {
            kind = T_REAL;
            at = power + length;
        }
    }
    if (at < l->end && is_word(*at)) {
        jinja_fail(l->k, "a number that is not understood");
        return;
    }
    add_token(l, kind, begin, (size_t)(at - begin), 0);
    l->at = at;
}

static void lex_string(lexer *l)
{
    const char *at = l->at + 1;
    while (at < l->end && *at != *l->at)
        at += *at == '\\' && at + 1 < l->end ? 2 : 1;
    if (at >= l->end) {
        jinja_fail(l->k, "a string without an end");
        return;
    }
    add_token(l, T_STRING, l->at + 1, (size_t)(at - l->at - 1), 0);
    skip(l, (size_t)(at + 1 - l->at));
}

static void lex_operator(lexer *l)
{
    static const char *const two[] = {"==", "!=", ">=", "<=", "//", "**"};
    uint16_t op = 0;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (sees(l, two[i]))
            op = OP2(two[i][0], two[i][1]);
    char c = *l->at;
    if (!op && strchr("+-/*%~[](){}><=.:|,;", c) && c)
        op = (uint16_t)c;
    if (!op)
        jinja_fail(l->k, "unexpected character '%c'", (unsigned char)c < 0x80 && (unsigned char)c >= 0x20 ? c : '?');
    if (c == '(' || c == '[' || c == '{') {
        if (l->open == JINJA_MAX_NESTING)
            jinja_fail(l->k, "too deeply nested");
        else
            l->brackets[l->open++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
        if (l->open == 0 || l->brackets[l->open - 1] != c)
            jinja_fail(l->k, "unexpected '%c'", c);
        else
            l->open--;
    }
    size_t length = op > 255 ? 2 : 1;
    add_token(l, T_OP, l->at, length, op);
    l->at += length;
}

/* Up to the tag's end, which is "}}" or "%}". */
static void lex_inside(lexer *l, const char *end, token_kind kind)
{
    l->open = 0;
    while (!l->k->failed) {
        l->k->line = l->line;
        skip_space(l);
        if (l->at >= l->end) {
            jinja_fail(l->k, "a tag without an end");
            return;
        }
        char sign = *l->at == '-' || (*l->at == '+' && kind == T_TAG_END) ? *l->at : 0;
        const char *close = l->at + (sign != 0);
        if (l->open == 0 && l->end - close >= 2 && memcmp(close, end, 2) == 0) {
            add_token(l, kind, NULL, 0, 0);
            skip(l, (size_t)(close + 2 - l->at));
            end_tag(l, kind == T_OUTPUT_END && sign == 0 ? '+' : sign);
            return;
        }
        if (*l->at == '\'' || *l->at == '"')
            lex_string(l);
        else if (is_digit(*l->at))
            lex_number(l);
        else if (is_word(*l->at)) {
            const char *begin = l->at;
            while (l->at < l->end && is_word(*l->at))
                l->at++;
            add_token(l, T_NAME, begin, (size_t)(l->at - begin), 0);
        } else
            lex_operator(l);
    }
}

/* ---- comments and raw parts --------------------------------------------------------------- */

static void skip_comment(lexer *l)
{
    const char *end = memmem(l->at, left(l), "#}", 2);
    if (!end) {
        jinja_fail(l->k, "a comment without an end");
        return;
    }
    char sign = end > l->at && (end[-1] == '-' || end[-1] == '+') ? end[-1] : 0;
    skip(l, (size_t)(end + 2 - l->at));
    end_tag(l, sign);
}

/* Is this tag `word` alone? Then its end, and the sign before its "%}". `at` is behind its beginning and its sign. */
static const char *is_tag(const lexer *l, const char *at, const char *word, char *sign)
{
    size_t length;
    while ((length = space_at(at, l->end)))
        at += length;
    length = strlen(word);
    if ((size_t)(l->end - at) < length || memcmp(at, word, length) != 0)
        return NULL;
    at += length;
    while ((length = space_at(at, l->end)))
        at += length;
    *sign = at < l->end && (*at == '-' || *at == '+') ? *at : 0;
    at += *sign != 0;
    return l->end - at >= 2 && memcmp(at, "%}", 2) == 0 ? at + 2 : NULL;
}

static void lex_raw(lexer *l, const char *begin_end, char begin_sign)
{
    skip(l, (size_t)(begin_end - l->at));
    end_tag(l, begin_sign == '-' ? '-' : '+');
    const char *text = l->at;
    bool line_begins = l->line_begins;
    for (const char *tag = text; (tag = memmem(tag, (size_t)(l->end - tag), "{%", 2)); tag += 2) {
        char sign = tag + 2 < l->end && (tag[2] == '-' || tag[2] == '+') ? tag[2] : 0, end_sign;
        const char *end = is_tag(l, tag + 2 + (sign != 0), "endraw", &end_sign);
        if (end) {
            add_data(l, text, tag, sign, true, line_begins);
            skip(l, (size_t)(end - l->at));
            end_tag(l, end_sign);
            return;
        }
    }
    jinja_fail(l->k, "a raw part without an end");
}

static const char *next_tag(const lexer *l)
{
    for (const char *at = l->at; at + 1 < l->end; at++)
        if (*at == '{' && (at[1] == '%' || at[1] == '{' || at[1] == '#'))
            return at;
    return NULL;
}

static void lex_all(lexer *l)
{
    while (!l->k->failed && l->at < l->end) {
        const char *text = l->at, *tag = next_tag(l), *raw;
        if (!tag) {
            add_token(l, T_DATA, text, left(l), 0);
            return;
        }
        char kind = tag[1], sign = tag + 2 < l->end && (tag[2] == '-' || tag[2] == '+') ? tag[2] : 0, raw_sign;
        add_data(l, text, tag, sign, kind != '{', l->line_begins);
        skip(l, (size_t)(tag - l->at) + 2 + (sign != 0));
        l->k->line = l->line;
        if (kind == '#')
            skip_comment(l);
        else if (kind == '%' && (raw = is_tag(l, l->at, "raw", &raw_sign)) && raw_sign != '+')
            lex_raw(l, raw, raw_sign);
        else {
            add_token(l, kind == '%' ? T_TAG : T_OUTPUT, NULL, 0, 0);
            lex_inside(l, kind == '%' ? "%}" : "}}", kind == '%' ? T_TAG_END : T_OUTPUT_END);
        }
    }
}

bool jinja_lex(jinja_core *k, const str *source, jinja_tokens *out)
{
    lexer l = {
        .k = k, .at = source->data, .end = source->data + source->length, .line = 1, .line_begins = true, .out = out};
    lex_all(&l);
    add_token(&l, T_END, NULL, 0, 0);
    add_token(&l, T_END, NULL, 0, 0); /* the parser looks one further */
    return !k->failed;
}
