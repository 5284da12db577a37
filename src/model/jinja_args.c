/* jinja_args: the arguments of calls, filters and tests: made from a tree, and asked for by place or name. */
#include "model/jinja_internal.h"

static void spread_named(jinja_run *r, jinja_args *args, jinja_value from)
{
    if (from.type != JINJA_DICT) {
        jinja_fail(&r->k, "argument after ** must be a mapping");
        return;
    }
    for (size_t i = 0; i < from.as.pairs->count; i++)
        if (from.as.pairs->at[i].key.type == JINJA_TEXT)
            jinja_pairs_set(&r->k, args->named, from.as.pairs->at[i].key, from.as.pairs->at[i].value);
        else
            jinja_fail(&r->k, "keywords must be strings");
}

jinja_args jinja_eval_args(jinja_run *r, const jinja_node *n)
{
    static jinja_items none; /* nobody adds to it */
    jinja_args args = {n ? jinja_items_new(&r->k, ITEMS_LIST).as.items : &none, NULL};
    for (; n && !r->k.failed; n = n->next) {
        bool named = n->kind == E_KEYWORD || n->kind == E_SPREAD_KEYWORDS;
        jinja_value v = jinja_eval(r, named || n->kind == E_SPREAD ? n->a : n);
        if (r->k.failed)
            break;
        if (named && !args.named)
            args.named = jinja_pairs_new(&r->k).as.pairs;
        if (n->kind == E_KEYWORD)
            jinja_pairs_set(&r->k, args.named, n->value, v);
        else if (n->kind == E_SPREAD_KEYWORDS)
            spread_named(r, &args, v);
        else if (n->kind == E_SPREAD) {
            const jinja_items *items = jinja_iterate(&r->k, v);
            for (size_t i = 0; items && i < items->count && !r->k.failed; i++)
                jinja_items_add(&r->k, args.given, items->at[i]);
        } else
            jinja_items_add(&r->k, args.given, v);
    }
    return args;
}

bool jinja_arg(jinja_core *k, const jinja_args *args, size_t place, const char *name, jinja_value *out)
{
    if (args->given->count > place) {
        *out = args->given->at[place];
        return true;
    }
    for (size_t i = 0; name && args->named && i < args->named->count; i++)
        if (jinja_is(args->named->at[i].key.as.text, name)) {
            *out = args->named->at[i].value;
            return !k->failed;
        }
    return false;
}

bool jinja_arg_whole(jinja_core *k, const jinja_args *args, size_t place, const char *name, int64_t *out)
{
    jinja_value v;
    if (!jinja_arg(k, args, place, name, &v) || v.type == JINJA_NONE)
        return false;
    if (v.type != JINJA_WHOLE && v.type != JINJA_BOOL)
        return jinja_fail(k, "'%s' object cannot be interpreted as an integer", jinja_type_name(v));
    *out = v.type == JINJA_BOOL ? v.as.yes : v.as.whole;
    return true;
}

bool jinja_arg_true(jinja_core *k, const jinja_args *args, size_t place, const char *name, bool otherwise)
{
    jinja_value v;
    return jinja_arg(k, args, place, name, &v) ? jinja_is_true(v) : otherwise;
}

bool jinja_arg_text(jinja_core *k, const jinja_args *args, size_t place, const char *name, jinja_text *out)
{
    jinja_value v;
    if (!jinja_arg(k, args, place, name, &v) || v.type == JINJA_NONE)
        return false;
    if (v.type != JINJA_TEXT)
        return jinja_fail(k, "must be str, not %s", jinja_type_name(v));
    *out = v.as.text;
    return true;
}
