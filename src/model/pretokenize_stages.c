/* pretokenize_stages: the patterns of the model families as scanners, each in time linear in the text. */
#include "model/pretokenize_stages.h"
#include "model/unicode.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- characters and runs of them ------------------------------------------ */

static bool is(const piece *p, uint32_t at, unsigned classes)
{
    return at < p->end && (p->classes[at] & classes);
}

static bool is_not(const piece *p, uint32_t at, unsigned classes)
{
    return at < p->end && !(p->classes[at] & classes);
}

static bool is_char(const piece *p, uint32_t at, uint32_t c)
{
    return at < p->end && p->points[at] == c;
}

static bool is_newline(const piece *p, uint32_t at)
{
    return is_char(p, at, '\n') || is_char(p, at, '\r');
}

static bool is_between(const piece *p, uint32_t at, uint32_t first, uint32_t last)
{
    return at < p->end && p->points[at] >= first && p->points[at] <= last;
}

static bool is_one_of(const piece *p, uint32_t at, const char *ascii)
{
    return is_between(p, at, 1, 0x7F) && strchr(ascii, (int)p->points[at]);
}

static uint32_t run(const piece *p, uint32_t at, unsigned classes)
{
    while (is(p, at, classes))
        at++;
    return at;
}

static uint32_t run_without(const piece *p, uint32_t at, unsigned classes)
{
    while (is_not(p, at, classes))
        at++;
    return at;
}

static uint32_t run_newlines(const piece *p, uint32_t at)
{
    while (is_newline(p, at))
        at++;
    return at;
}

/* ---- parts that many patterns share ---------------------------------------- */

static uint32_t lower_ascii(const piece *p, uint32_t at, bool any_case)
{
    if (at >= p->end)
        return 0;
    uint32_t c = p->points[at];
    return any_case && c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* 's 't 're 've 'm 'll 'd */
static uint32_t contraction(const piece *p, uint32_t at, bool any_case)
{
    if (!is_char(p, at, '\''))
        return at;
    uint32_t a = lower_ascii(p, at + 1, any_case), b = lower_ascii(p, at + 2, any_case);
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return at + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l'))
        return at + 3;
    return at;
}

/* \s+(?!\S)|\s+ : the last space before a word is left to the word. */
static uint32_t spaces(const piece *p, uint32_t at)
{
    uint32_t end = run(p, at, UNICODE_SPACE);
    return end < p->end && end > at + 1 ? end - 1 : end;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ : up to the last line end there is. */
static uint32_t lines_or_spaces(const piece *p, uint32_t at)
{
    for (uint32_t end = run(p, at, UNICODE_SPACE); end > at; end--)
        if (is_newline(p, end - 1))
            return end;
    return spaces(p, at);
}

/* [^\r\n\p{L}\p{N}] and its like: what may stand before a word and belong to it. */
static bool leads_word(const piece *p, uint32_t at, unsigned but_not)
{
    return is_not(p, at, but_not) && !is_newline(p, at);
}

static uint32_t digits_up_to(const piece *p, uint32_t at, uint32_t most)
{
    uint32_t end = at;
    while (end - at < most && is(p, end, UNICODE_NUMBER))
        end++;
    return end;
}

/* ---- GPT-2 ------------------------------------------------------------------ */

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
uint32_t pre_gpt2(const piece *p, uint32_t at)
{
    uint32_t end = contraction(p, at, false);
    if (end > at)
        return end;
    uint32_t word = at + (is_char(p, at, ' ') ? 1 : 0);
    if (is(p, word, UNICODE_LETTER))
        return run(p, word, UNICODE_LETTER);
    if (is(p, word, UNICODE_NUMBER))
        return run(p, word, UNICODE_NUMBER);
    if (is_not(p, word, UNICODE_SPACE))
        return run_without(p, word, UNICODE_SPACE | UNICODE_LETTER | UNICODE_NUMBER);
    return spaces(p, at);
}

/* ---- Llama 3, Qwen 2 and their relatives ------------------------------------- */

typedef struct llama3_form {
    uint32_t digits;     /* at most so many in a word */
    unsigned letters;    /* what words are made of: letters, or marks too */
    bool contractions;   /* 's and the like, in either case */
    bool takes_newlines; /* punctuation takes the line ends behind it */
} llama3_form;

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
 * |\s*[\r\n]+|\s+(?!\S)|\s+ */
static uint32_t llama3_like(const piece *p, uint32_t at, llama3_form form)
{
    if (form.contractions) {
        uint32_t end = contraction(p, at, true);
        if (end > at)
            return end;
    }
    uint32_t word = at + (leads_word(p, at, UNICODE_LETTER | UNICODE_NUMBER) && is(p, at + 1, form.letters) ? 1 : 0);
    if (is(p, word, form.letters))
        return run(p, word, form.letters);
    if (is(p, at, UNICODE_NUMBER))
        return digits_up_to(p, at, form.digits);
    unsigned not_marks = UNICODE_SPACE | UNICODE_NUMBER | form.letters;
    uint32_t signs = at + (is_char(p, at, ' ') ? 1 : 0);
    if (is_not(p, signs, not_marks)) {
        uint32_t end = run_without(p, signs, not_marks);
        return form.takes_newlines ? run_newlines(p, end) : end;
    }
    return lines_or_spaces(p, at);
}

uint32_t pre_llama3(const piece *p, uint32_t at)
{
    return llama3_like(p, at, (llama3_form){3, UNICODE_LETTER, true, true});
}

uint32_t pre_qwen2(const piece *p, uint32_t at)
{
    return llama3_like(p, at, (llama3_form){1, UNICODE_LETTER, true, true});
}

uint32_t pre_qwen35(const piece *p, uint32_t at)
{
    return llama3_like(p, at, (llama3_form){1, UNICODE_LETTER | UNICODE_MARK, true, true});
}

uint32_t pre_seed_coder(const piece *p, uint32_t at)
{
    return llama3_like(p, at, (llama3_form){1, UNICODE_LETTER, true, false});
}

uint32_t pre_minicpm5(const piece *p, uint32_t at)
{
    return llama3_like(p, at, (llama3_form){UINT32_MAX, UNICODE_LETTER, true, true});
}

uint32_t pre_ufakzeka(const piece *p, uint32_t at)
{
    return llama3_like(p, at, (llama3_form){1, UNICODE_LETTER, false, true});
}

/* ---- GPT-4o and Tekken: words also end where the case changes ------------------- */

enum {
    HEAD = UNICODE_UPPER | UNICODE_CASELESS | UNICODE_MARK, /* what may begin a word */
    TAIL = UNICODE_LOWER | UNICODE_CASELESS | UNICODE_MARK  /* what may go on with it */
};

/* HEAD*TAIL+ */
static uint32_t ends_lower(const piece *p, uint32_t at)
{
    uint32_t head = run(p, at, HEAD), end = run(p, head, TAIL);
    if (end > head)
        return end;
    /* the heads give back down to the last that may also be a tail */
    for (; head > at; head--)
        if (is(p, head - 1, TAIL))
            return head;
    return at;
}

/* HEAD+TAIL* */
static uint32_t begins_upper(const piece *p, uint32_t at)
{
    uint32_t head = run(p, at, HEAD);
    return head > at ? run(p, head, TAIL) : at;
}

/* [^\r\n\p{L}\p{N}]? before a pattern, tried with it first. */
static uint32_t led(uint32_t (*pattern)(const piece *, uint32_t), const piece *p, uint32_t at)
{
    if (leads_word(p, at, UNICODE_LETTER | UNICODE_NUMBER)) {
        uint32_t end = pattern(p, at + 1);
        if (end > at + 1)
            return end;
    }
    return pattern(p, at);
}

static uint32_t cased(const piece *p, uint32_t at, uint32_t digits, bool contractions)
{
    uint32_t end = led(ends_lower, p, at);
    if (end == at)
        end = led(begins_upper, p, at);
    if (end > at)
        return contractions ? contraction(p, end, true) : end;
    if (is(p, at, UNICODE_NUMBER))
        return digits_up_to(p, at, digits);
    uint32_t signs = at + (is_char(p, at, ' ') ? 1 : 0);
    end = run_without(p, signs, UNICODE_SPACE | UNICODE_LETTER | UNICODE_NUMBER);
    if (end > signs) {
        while (is_newline(p, end) || is_char(p, end, '/'))
            end++;
        return end;
    }
    return lines_or_spaces(p, at);
}

uint32_t pre_gpt4o(const piece *p, uint32_t at)
{
    return cased(p, at, 3, true);
}

uint32_t pre_tekken(const piece *p, uint32_t at)
{
    return cased(p, at, 1, false);
}

/* ---- DeepSeek ------------------------------------------------------------------ */

uint32_t pre_newline(const piece *p, uint32_t at)
{
    return at + (is_newline(p, at) ? 1 : 0);
}

/* \s? before a run. */
static uint32_t spaced(const piece *p, uint32_t at, bool (*of)(const piece *, uint32_t))
{
    uint32_t end = at + (is(p, at, UNICODE_SPACE) && of(p, at + 1) ? 1 : 0);
    while (of(p, end))
        end++;
    return end;
}

static bool is_letter(const piece *p, uint32_t at)
{
    return is(p, at, UNICODE_LETTER);
}

static bool is_punctuation(const piece *p, uint32_t at)
{
    return is(p, at, UNICODE_PUNCTUATION);
}

uint32_t pre_spaced_letters(const piece *p, uint32_t at)
{
    return spaced(p, at, is_letter);
}

uint32_t pre_spaced_punctuation(const piece *p, uint32_t at)
{
    return spaced(p, at, is_punctuation);
}

/* The letters of scripts with two cases, as of Unicode 11 and of some blocks only. */
static bool is_deepseek_letter(const piece *p, uint32_t at)
{
    static const uint32_t blocks[][2] = {{0x41, 0x556},      {0x10A0, 0x10C5},   {0x13A0, 0x13FD},
                                         {0x1C90, 0x2CF3},   {0xA640, 0xA78E},   {0xAB70, 0x104FB},
                                         {0x10C80, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943}};
    if (is_char(p, at, 0x295))
        return true;
    if (!is(p, at, UNICODE_UPPER | UNICODE_LOWER))
        return false;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (is_between(p, at, blocks[i][0], blocks[i][1]))
            return true;
    return false;
}

/* ASCII from ! to ~ but for the digits (the letters are among them), the same in
 * full width, quotation marks, and the comma and full stop of CJK. */
static bool is_deepseek_sign(const piece *p, uint32_t at)
{
    return is_between(p, at, '!', '/') || is_between(p, at, ':', '~') || is_between(p, at, 0xFF01, 0xFF0F) ||
           is_between(p, at, 0xFF1A, 0xFF5E) || is_between(p, at, 0x2018, 0x201F) || is_between(p, at, 0x3001, 0x3002);
}

uint32_t pre_deepseek_letters(const piece *p, uint32_t at)
{
    return spaced(p, at, is_deepseek_letter);
}

uint32_t pre_deepseek_signs(const piece *p, uint32_t at)
{
    return spaced(p, at, is_deepseek_sign);
}

/* \s+$ */
uint32_t pre_spaces_at_end(const piece *p, uint32_t at)
{
    if (at > p->start && is(p, at - 1, UNICODE_SPACE))
        return at; /* this run was looked at where it begins */
    uint32_t end = run(p, at, UNICODE_SPACE);
    return end == p->end ? end : at;
}

/* From U+0800 up to the end of the common Han characters, and Hangul; not the spaces
 * among them. */
uint32_t pre_cjk(const piece *p, uint32_t at)
{
    while (is_not(p, at, UNICODE_SPACE) && (is_between(p, at, 0x0800, 0x9FA5) || is_between(p, at, 0xAC00, 0xD7FF)))
        at++;
    return at;
}

uint32_t pre_han_and_kana(const piece *p, uint32_t at)
{
    while (is_between(p, at, 0x4E00, 0x9FA5) || is_between(p, at, 0x3040, 0x30FF))
        at++;
    return at;
}

static bool is_ascii_letter(const piece *p, uint32_t at)
{
    return is_between(p, at, 'A', 'Z') || is_between(p, at, 'a', 'z');
}

static bool is_ascii_sign(const piece *p, uint32_t at)
{
    return is_between(p, at, '!', '~') && !is_ascii_letter(p, at) && !is_between(p, at, '0', '9');
}

/* [ASCII sign][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
 * |\s*[\r\n]+|\s+(?!\S)|\s+ */
uint32_t pre_deepseek3(const piece *p, uint32_t at)
{
    enum { SIGN = UNICODE_PUNCTUATION | UNICODE_SYMBOL, WORD = UNICODE_LETTER | UNICODE_MARK };
    if (is_ascii_sign(p, at) && is_ascii_letter(p, at + 1)) {
        at++;
        while (is_ascii_letter(p, at))
            at++;
        return at;
    }
    uint32_t word = at + (leads_word(p, at, UNICODE_LETTER | SIGN) && is(p, at + 1, WORD) ? 1 : 0);
    if (is(p, word, WORD))
        return run(p, word, WORD);
    uint32_t signs = at + (is_char(p, at, ' ') ? 1 : 0);
    if (is(p, signs, SIGN))
        return run_newlines(p, run(p, signs, SIGN));
    return lines_or_spaces(p, at);
}

/* ---- single stages ---------------------------------------------------------------- */

uint32_t pre_digit(const piece *p, uint32_t at)
{
    return digits_up_to(p, at, 1);
}

uint32_t pre_three_digits(const piece *p, uint32_t at)
{
    return digits_up_to(p, at, 3);
}

uint32_t pre_digits(const piece *p, uint32_t at)
{
    return run(p, at, UNICODE_NUMBER);
}

/* [0-9][0-9][0-9] */
uint32_t pre_ascii_triple(const piece *p, uint32_t at)
{
    for (uint32_t i = 0; i < 3; i++)
        if (!is_between(p, at + i, '0', '9'))
            return at;
    return at + 3;
}

/* [\p{P}$+<=>^~|]+ */
uint32_t pre_signs(const piece *p, uint32_t at)
{
    while (is(p, at, UNICODE_PUNCTUATION) || is_one_of(p, at, "$+<=>^~|"))
        at++;
    return at;
}

uint32_t pre_falcon_signs(const piece *p, uint32_t at)
{
    while (is(p, at, UNICODE_PUNCTUATION) || is_one_of(p, at, "$+<=>^~|`"))
        at++;
    return at;
}

/* Any but spaces, ( | ) and the punctuation that ends a clause in several scripts. */
static bool is_bloom_word(const piece *p, uint32_t at)
{
    static const uint32_t others[] = {0x2026, 0x3002, 0xFF0C, 0x3001, 0x0964, 0x06D4, 0x060C};
    if (!is_not(p, at, UNICODE_SPACE) || is_one_of(p, at, "(|.,!?)"))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_char(p, at, others[i]))
            return false;
    return true;
}

uint32_t pre_bloom(const piece *p, uint32_t at)
{
    uint32_t end = at + (is_char(p, at, ' ') && is_bloom_word(p, at + 1) ? 1 : 0);
    while (is_bloom_word(p, end))
        end++;
    return end;
}
