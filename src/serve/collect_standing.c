/* collect_standing: where one record stands among the others. */
#include "serve/collect_summary.h"

#include "base/jsonw.h"

#include <stdlib.h>
#include <string.h>

/* The points of the record, and how the others compare with each. */
typedef struct mine {
    char *family, *subject, *variant, *unit, *impl;
    bool is_software;
    double value;
    size_t others, worse;
} mine;

typedef struct standing {
    const char *id;
    mine *items;
    size_t count, room;
} standing;

static void take_mine(void *user, const collect_stored_point *p)
{
    standing *s = user;
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 16;
        s->items = mem_grow(s->items, s->room * sizeof *s->items);
    }
    s->items[s->count++] = (mine){.family = mem_dup(p->point.family),
                                  .subject = mem_dup(p->point.subject),
                                  .variant = mem_dup(p->point.variant),
                                  .unit = mem_dup(p->point.unit),
                                  .impl = mem_dup(p->point.impl),
                                  .is_software = p->point.is_software,
                                  .value = p->point.value};
}

static void take_other(void *user, const collect_stored_point *p)
{
    standing *s = user;
    const collect_point *q = &p->point;
    for (size_t i = 0; i < s->count; i++) {
        mine *m = &s->items[i];
        if (strcmp(m->family, q->family) != 0 || strcmp(m->subject, q->subject) != 0 ||
            strcmp(m->variant, q->variant) != 0 || m->is_software != q->is_software || strcmp(p->id, s->id) == 0)
            continue;
        m->others++;
        m->worse += collect_less_is_better(q->unit) ? q->value > m->value : q->value < m->value;
    }
}

static void write_standing(str *out, const standing *s)
{
    jsonw j = jsonw_to(out);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "id", s->id);
    jsonw_array(&j, "standing");
    jsonw_rows(&j);
    for (size_t i = 0; i < s->count; i++) {
        const mine *m = &s->items[i];
        jsonw_object(&j, NULL);
        jsonw_text(&j, "family", m->family);
        jsonw_text(&j, "subject", m->subject);
        jsonw_text(&j, "variant", m->variant);
        jsonw_text(&j, "impl", m->impl);
        jsonw_text(&j, "unit", m->unit);
        jsonw_bool(&j, "software", m->is_software);
        jsonw_number(&j, "value", m->value);
        jsonw_count(&j, "others", m->others);
        if (m->others)
            jsonw_number(&j, "better_than", (double)m->worse / (double)m->others);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_end(&j);
    str_add(out, "\n");
}

bool collect_standing_json(str *out, collect_store *s, const char *id, err *e)
{
    standing mine_of = {.id = id};
    bool ok = collect_store_points(s, &(collect_filter){.id = id}, take_mine, &mine_of, e);
    /* only what was measured the same way is read again */
    for (size_t i = 0; ok && i < mine_of.count; i++) {
        const mine *m = &mine_of.items[i];
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first = is_first && (strcmp(mine_of.items[k].family, m->family) != 0 ||
                                    strcmp(mine_of.items[k].subject, m->subject) != 0);
        if (is_first)
            ok = collect_store_points(s, &(collect_filter){.family = m->family, .subject = m->subject}, take_other,
                                      &mine_of, e);
    }
    if (ok && mine_of.count)
        write_standing(out, &mine_of);
    for (size_t i = 0; i < mine_of.count; i++) {
        mine *m = &mine_of.items[i];
        free(m->family), free(m->subject), free(m->variant), free(m->unit), free(m->impl);
    }
    free(mine_of.items);
    return ok;
}
