/* wgsl_nesting: refuses a WGSL file that is too deep for a compiler's stack. */
#include "sim/wgsl.h"

#include <string.h>

/* Compilers read what is nested by calling themselves, and not all of them count. These are Dawn's bounds. */
enum { MAX_NESTING = 127, MAX_OPERATORS = 512 };

typedef struct nesting {
    uint32_t depth, templates, prefixes, operators, alternatives[MAX_NESTING + 2];
} nesting;

static bool is_word(const wgsl_file *f, const wgsl_token *t, const char *word)
{
    return t->length == strlen(word) && memcmp(f->text + t->at, word, t->length) == 0;
}

static bool is_operator(char kind)
{
    return kind && strchr("+-*/%&|^!~<>=", kind);
}

/* Takes in the next token, and returns whether all of it is still shallow enough. */
static bool nest(nesting *n, const wgsl_file *f, size_t at)
{
    const wgsl_token *t = &f->tokens[at];
    char before = at ? t[-1].kind : ';';
    if (strchr("([{", t->kind))
        n->depth++;
    if (strchr(")]}", t->kind) && n->depth)
        n->depth--;
    n->operators = strchr(";{},", t->kind) ? 0 : n->operators + is_operator(t->kind);
    n->prefixes = strchr("-!~*&", t->kind) ? n->prefixes + 1 : 0;
    /* array<array<array< */
    n->templates = t->kind == '<' ? n->templates + 1 : t->kind == 'n' && before == '<' ? n->templates : 0;
    if (n->depth <= MAX_NESTING && is_word(f, t, "if"))
        n->alternatives[n->depth] = at && is_word(f, &t[-1], "else") ? n->alternatives[n->depth] + 1 : 0;
    return n->depth <= MAX_NESTING && n->templates <= MAX_NESTING && n->prefixes <= MAX_NESTING &&
           n->operators <= MAX_OPERATORS && n->alternatives[n->depth] <= MAX_NESTING;
}

bool wgsl_check_nesting(const wgsl_file *f, const char *path, err *e)
{
    nesting n = {0};
    for (size_t i = 0; i < f->token_count; i++)
        if (!nest(&n, f, i))
            return err_set(e,
                           "%s:%u: too deep: at most %d brackets, signs or alternatives in one another, and %d "
                           "operators in an expression",
                           path, f->tokens[i].line, MAX_NESTING, MAX_OPERATORS);
    return true;
}
