/* grammar_parse: GBNF becomes states. */
#include "serve/grammar_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_REPEATS = 4096, MOST_RANGES = 256, LAST_CODE = 0x10FFFF };

uint32_t grammar_add_state(grammar *g, state_kind kind, uint32_t next, uint32_t other)
{
    if (g->state_count == GRAMMAR_MOST_STATES)
        return NO_STATE;
    if (g->state_count == g->state_capacity) {
        g->state_capacity = g->state_capacity ? 2 * g->state_capacity : 256;
        g->states = mem_grow(g->states, g->state_capacity * sizeof *g->states);
    }
    g->states[g->state_count] = (grammar_state){.kind = (uint8_t)kind, .next = next, .other = other};
    return g->state_count++;
}

typedef struct parser {
    grammar *g;
    const char *at, *end;
    uint32_t line, depth;
    err *e;
} parser;

static bool fail(parser *p, const char *what)
{
    return err_set(p->e, "the grammar's line %u: %s", p->line, what);
}

static bool too_large(parser *p)
{
    return fail(p, "it has too many states");
}

static char here(const parser *p)
{
    return p->at < p->end ? *p->at : '\0';
}

/* Blanks and comments; line ends only where an expression goes on behind them. */
static void skip_blanks(parser *p, bool lines)
{
    for (; p->at < p->end; p->at++) {
        if (*p->at == '#')
            while (p->at + 1 < p->end && p->at[1] != '\n')
                p->at++;
        else if (*p->at == '\n' && lines)
            p->line++;
        else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r')
            return;
    }
}

/* ---- rules by name -------------------------------------------------------------------------------- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_';
}

static bool read_rule(parser *p, uint32_t *rule)
{
    grammar *g = p->g;
    const char *name = p->at;
    while (p->at < p->end && is_name(*p->at))
        p->at++;
    size_t length = (size_t)(p->at - name);
    for (*rule = 0; *rule < g->rule_count; (*rule)++)
        if (strlen(g->rules[*rule].name) == length && memcmp(g->rules[*rule].name, name, length) == 0)
            return true;
    if (g->rule_count == GRAMMAR_MOST_RULES)
        return fail(p, "it has too many rules");
    if (g->rule_count == g->rule_capacity) {
        g->rule_capacity = g->rule_capacity ? 2 * g->rule_capacity : 32;
        g->rules = mem_grow(g->rules, g->rule_capacity * sizeof *g->rules);
    }
    str copy = {0};
    str_add_bytes(&copy, name, length);
    g->rules[g->rule_count++] = (grammar_rule){.name = copy.data, .line = p->line};
    return true;
}

/* ---- characters ------------------------------------------------------------------------------------- */

static bool read_hex(parser *p, int digits, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        char c = here(p);
        if (!isxdigit((unsigned char)c))
            return fail(p, "an escape has too few hexadecimal digits");
        *code = *code * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return *code <= LAST_CODE || fail(p, "an escape is no character");
}

static bool read_escape(parser *p, uint32_t *code)
{
    static const char plain[] = "\\\"[]-^/.'";
    char c = here(p);
    p->at += p->at < p->end;
    *code = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : (uint32_t)(unsigned char)c;
    if (c == 'x' || c == 'u' || c == 'U')
        return read_hex(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, code);
    return (c && (strchr(plain, c) || strchr("nrt", c))) || fail(p, "an escape is not known");
}

/* A character as it is written, or by an escape. */
static bool read_character(parser *p, uint32_t *code)
{
    unsigned char first = (unsigned char)here(p);
    if (p->at == p->end)
        return fail(p, "it ends in the middle of a text");
    p->at++;
    if (first == '\\')
        return read_escape(p, code);
    p->line += first == '\n';
    int more = first < 0x80                    ? 0
               : first >= 0xC2 && first < 0xE0 ? 1
               : first >= 0xE0 && first < 0xF0 ? 2
               : first >= 0xF0 && first < 0xF5 ? 3
                                               : -1;
    if (more < 0)
        return fail(p, "it is not UTF-8");
    *code = more == 0 ? first : first & (0x3Fu >> more);
    for (int i = 0; i < more; i++) {
        unsigned char next = (unsigned char)here(p);
        if ((next & 0xC0) != 0x80)
            return fail(p, "it is not UTF-8");
        *code = *code << 6 | (next & 0x3F);
        p->at++;
    }
    return *code <= LAST_CODE || fail(p, "it is not UTF-8");
}

static bool add_character(parser *p, code_range range, fragment *out)
{
    return grammar_add_class(p->g, &range, 1, false, out) || too_large(p);
}

static void join(grammar *g, fragment *before, fragment after)
{
    g->states[before->end].next = after.start;
    before->end = after.end;
}

static bool add_empty(parser *p, fragment *out)
{
    uint32_t state = grammar_add_state(p->g, STATE_JUMP, NO_STATE, 0);
    *out = (fragment){state, state};
    return state != NO_STATE || too_large(p);
}

static bool parse_text(parser *p, fragment *out)
{
    if (!add_empty(p, out))
        return false;
    for (p->at++; here(p) != '"';) {
        uint32_t code;
        fragment one;
        if (!read_character(p, &code) || !add_character(p, (code_range){code, code}, &one))
            return false;
        join(p->g, out, one);
    }
    p->at++;
    return true;
}

static bool parse_class(parser *p, fragment *out)
{
    code_range ranges[MOST_RANGES];
    size_t count = 0;
    p->at++;
    bool is_negated = here(p) == '^';
    p->at += is_negated;
    while (here(p) != ']') {
        code_range r;
        if (count == MOST_RANGES)
            return fail(p, "a class has too many ranges");
        if (!read_character(p, &r.low))
            return false;
        r.high = r.low;
        if (here(p) == '-' && p->at + 1 < p->end && p->at[1] != ']') {
            p->at++;
            if (!read_character(p, &r.high))
                return false;
        }
        if (r.high < r.low)
            return fail(p, "a range of characters is the wrong way round");
        ranges[count++] = r;
    }
    p->at++;
    return grammar_add_class(p->g, ranges, count, is_negated, out) || too_large(p);
}

/* ---- expressions ------------------------------------------------------------------------------------- */

static bool parse_choice(parser *p, bool nested, fragment *out);

static bool parse_call(parser *p, fragment *out)
{
    uint32_t rule;
    if (!read_rule(p, &rule) || !add_empty(p, out))
        return false;
    out->start = grammar_add_state(p->g, STATE_CALL, out->end, rule);
    return out->start != NO_STATE || too_large(p);
}

static bool parse_group(parser *p, fragment *out)
{
    p->at++;
    skip_blanks(p, true);
    if (++p->depth > MOST_DEPTH)
        return fail(p, "parentheses are nested too deep");
    if (!parse_choice(p, true, out))
        return false;
    p->depth--;
    if (here(p) != ')')
        return fail(p, "a closing parenthesis is missing");
    p->at++;
    return true;
}

/* False without an error: there is no item here. */
static bool parse_item(parser *p, fragment *out)
{
    code_range all = {0, LAST_CODE};
    char c = here(p);
    if (c == '"')
        return parse_text(p, out);
    if (c == '[')
        return parse_class(p, out);
    if (c == '(')
        return parse_group(p, out);
    if (c == '.') {
        p->at++;
        return add_character(p, all, out);
    }
    return is_name(c) && p->at < p->end && parse_call(p, out);
}

static bool read_count(parser *p, uint32_t *count)
{
    *count = 0;
    if (!isdigit((unsigned char)here(p)))
        return fail(p, "a number of repetitions is missing");
    for (; isdigit((unsigned char)here(p)); p->at++) {
        *count = *count * 10 + (uint32_t)(here(p) - '0');
        if (*count > MOST_REPEATS)
            return fail(p, "there are too many repetitions");
    }
    return true;
}

/* "*", "+", "?", "{m}", "{m,}" or "{m,n}"; `most` UINT32_MAX: any number. */
static bool read_repetition(parser *p, uint32_t *least, uint32_t *most)
{
    char c = here(p);
    p->at++;
    *least = c == '+';
    *most = c == '?' ? 1 : UINT32_MAX;
    if (c != '{')
        return true;
    skip_blanks(p, false);
    if (!read_count(p, least))
        return false;
    skip_blanks(p, false);
    *most = *least;
    if (here(p) == ',') {
        p->at++;
        skip_blanks(p, false);
        *most = UINT32_MAX;
        if (here(p) != '}' && !read_count(p, most))
            return false;
        skip_blanks(p, false);
    }
    if (here(p) != '}')
        return fail(p, "a closing brace is missing");
    p->at++;
    return *most >= *least || fail(p, "a range of repetitions is the wrong way round");
}

/* From here on the rest may be left out: to `end`. `again`: the item may come any number of times. */
static bool make_optional(parser *p, fragment *f, uint32_t end, bool again)
{
    uint32_t split = grammar_add_state(p->g, STATE_SPLIT, f->start, end);
    if (split == NO_STATE)
        return too_large(p);
    if (again) {
        p->g->states[f->end].next = split;
        f->end = end;
    }
    f->start = split;
    return true;
}

/* An item that is repeated is read once for each time, from where it begins. Who leaves one out that may be left out
 * leaves out all that follow, so that only one of them is ever in question. */
static bool repeat(parser *p, const char *begin, uint32_t line, fragment *out)
{
    uint32_t least, most, depth = p->depth;
    if (!read_repetition(p, &least, &most))
        return false;
    const char *behind = p->at;
    uint32_t behind_line = p->line, times = most == UINT32_MAX ? least + 1 : most;
    uint32_t end = grammar_add_state(p->g, STATE_JUMP, NO_STATE, 0);
    if (end == NO_STATE)
        return too_large(p);
    if (!add_empty(p, out))
        return false;
    for (uint32_t i = 0; i < times; i++) {
        fragment one;
        p->at = begin;
        p->line = line;
        p->depth = depth;
        if (!parse_item(p, &one) || (i >= least && !make_optional(p, &one, end, most == UINT32_MAX)))
            return false;
        join(p->g, out, one);
    }
    if (out->end != end)
        join(p->g, out, (fragment){end, end});
    p->at = behind;
    p->line = behind_line;
    return true;
}

static bool parse_sequence(parser *p, bool nested, fragment *out)
{
    if (!add_empty(p, out))
        return false;
    for (;;) {
        const char *begin = p->at;
        uint32_t line = p->line;
        fragment one;
        if (!parse_item(p, &one))
            return p->e->kind == ERR_NONE;
        skip_blanks(p, nested);
        if (here(p) && strchr("*+?{", here(p)) && !repeat(p, begin, line, &one))
            return false;
        join(p->g, out, one);
        skip_blanks(p, nested);
    }
}

static bool parse_choice(parser *p, bool nested, fragment *out)
{
    if (!parse_sequence(p, nested, out))
        return false;
    while (here(p) == '|') {
        fragment other;
        p->at++;
        skip_blanks(p, true);
        if (!parse_sequence(p, nested, &other))
            return false;
        uint32_t split = grammar_add_state(p->g, STATE_SPLIT, out->start, other.start);
        if (split == NO_STATE)
            return too_large(p);
        p->g->states[out->end].next = other.end;
        *out = (fragment){split, other.end};
    }
    return true;
}

static bool parse_rule(parser *p)
{
    uint32_t rule;
    fragment f;
    if (!is_name(here(p)))
        return fail(p, "a rule's name is missing");
    if (!read_rule(p, &rule))
        return false;
    skip_blanks(p, false);
    if (p->end - p->at < 3 || memcmp(p->at, "::=", 3) != 0)
        return fail(p, "::= is missing");
    p->at += 3;
    skip_blanks(p, true);
    if (p->g->rules[rule].is_defined)
        return fail(p, "a rule is there twice");
    if (!parse_choice(p, false, &f))
        return false;
    uint32_t end = grammar_add_state(p->g, STATE_END, 0, 0);
    if (end == NO_STATE)
        return too_large(p);
    p->g->states[f.end].next = end;
    p->g->rules[rule].start = f.start;
    p->g->rules[rule].is_defined = true;
    if (p->at < p->end && *p->at != '\n')
        return fail(p, "something stands here that is no part of a rule");
    skip_blanks(p, true);
    return true;
}

grammar *grammar_parse(const char *text, size_t bytes, err *e)
{
    err fault = {0};
    grammar *g = mem_alloc(sizeof *g);
    parser p = {.g = g, .at = text, .end = text + bytes, .line = 1, .e = &fault};
    bool ok = bytes <= GRAMMAR_MOST_BYTES || err_set(&fault, "the grammar has more than %d bytes", GRAMMAR_MOST_BYTES);
    if (ok)
        skip_blanks(&p, true);
    while (ok && p.at < p.end)
        ok = parse_rule(&p);
    if (ok && grammar_check(g, &fault))
        return g;
    err_set(e, "%s", fault.text);
    grammar_free(g);
    return NULL;
}

void grammar_free(grammar *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; i < g->rule_count; i++)
        free(g->rules[i].name);
    free(g->rules);
    free(g->states);
    free(g);
}
