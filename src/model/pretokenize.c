/* pretokenize: the pre-tokenizers by name, and cutting a text by their stages. */
#include "model/pretokenize.h"
#include "base/str.h"
#include "model/pretokenize_stages.h"
#include "model/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STAGES = 6 };
struct pre_rule {
    const char *names; /* separated by spaces */
    stage stages[MAX_STAGES];
    bool ignores_merges, adds_bos;
};

/* ---- the names --------------------------------------------------------------------- */

static const pre_rule RULES[] = {
    {"default", {pre_signs, pre_gpt2, pre_digits, pre_ascii_triple}, false, false},
    {"gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en jina-v2-code "
     "roberta-bpe mpt olmo jais trillion granite-docling exaone4",
     {pre_gpt2},
     false,
     false},
    {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", {pre_llama3}, true, true},
    {"dbrx smaug-bpe glm4 chatglm-bpe", {pre_llama3}, false, false},
    {"qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2 bailingmoe bailingmoe2 llada-moe",
     {pre_qwen2},
     false,
     false},
    {"qwen35", {pre_qwen35}, false, false},
    {"seed-coder", {pre_seed_coder}, false, false},
    {"ufakzeka", {pre_ufakzeka}, false, false},
    {"minicpm5", {pre_three_digits, pre_minicpm5}, true, false},
    {"gpt-4o llama4 kanana2 talkie minimax-m2", {pre_gpt4o}, false, false},
    {"tekken", {pre_tekken}, true, true},
    {"deepseek-llm",
     {pre_newline, pre_deepseek_letters, pre_deepseek_signs, pre_spaces_at_end, pre_cjk, pre_digits},
     false,
     false},
    {"deepseek-coder", {pre_newline, pre_spaced_letters, pre_spaced_punctuation, pre_cjk, pre_digit}, false, false},
    {"deepseek-v3 hunyuan-dense joyai-llm hy_v4", {pre_three_digits, pre_han_and_kana, pre_deepseek3}, false, false},
    {"falcon", {pre_falcon_signs, pre_gpt2, pre_ascii_triple}, false, false},
    {"starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", {pre_digit, pre_gpt2}, false, false},
    {"bloom poro-chat gpt3-finnish", {pre_bloom}, false, false},
    {"viking", {pre_bloom, pre_digit}, false, false},
};

static bool names(const char *list, const char *name, size_t length)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && memcmp(at, name, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

const pre_rule *pre_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++)
        if (length > 0 && names(RULES[i].names, name, length))
            return &RULES[i];
    return NULL;
}

bool pre_ignores_merges(const pre_rule *rule)
{
    return rule->ignores_merges;
}

bool pre_adds_bos(const pre_rule *rule)
{
    return rule->adds_bos;
}

/* ---- splitting ------------------------------------------------------------------------ */

void pre_text_set(pre_text *t, const char *text, size_t bytes)
{
    if (bytes > t->capacity) {
        t->capacity = (uint32_t)bytes;
        t->points = mem_grow(t->points, bytes * sizeof *t->points);
        t->classes = mem_grow(t->classes, bytes);
    }
    t->count = 0;
    for (size_t at = 0, length; at < bytes; at += length) {
        uint32_t point = utf8_decode(text + at, bytes - at, &length);
        t->points[t->count] = point;
        t->classes[t->count++] = unicode_class(point);
    }
}

void pre_text_free(pre_text *t)
{
    free(t->points);
    free(t->classes);
    *t = (pre_text){0};
}

static void add_word(pre_words *words, uint32_t end)
{
    if (words->count == words->capacity) {
        words->capacity = words->capacity ? 2 * words->capacity : 256;
        words->ends = mem_grow(words->ends, words->capacity * sizeof *words->ends);
    }
    words->ends[words->count++] = end;
}

static void cut(stage match, const piece *p, pre_words *words)
{
    uint32_t rest = p->start;
    for (uint32_t at = p->start; at < p->end;) {
        uint32_t end = match(p, at);
        if (end == at) {
            at++;
            continue;
        }
        if (at > rest)
            add_word(words, at);
        add_word(words, end);
        rest = at = end;
    }
    if (rest < p->end)
        add_word(words, p->end);
}

void pre_split(const pre_rule *rule, const pre_text *t, pre_words *words)
{
    words->count = 0;
    if (t->count == 0)
        return;
    add_word(words, t->count);
    pre_words after = {0};
    for (int i = 0; i < MAX_STAGES && rule->stages[i]; i++) {
        after.count = 0;
        uint32_t start = 0;
        for (uint32_t w = 0; w < words->count; w++) {
            cut(rule->stages[i], &(piece){t->points, t->classes, start, words->ends[w]}, &after);
            start = words->ends[w];
        }
        pre_words swap = *words;
        *words = after;
        after = swap;
    }
    pre_words_free(&after);
}

void pre_words_free(pre_words *words)
{
    free(words->ends);
    *words = (pre_words){0};
}
