/* gguf_split: a model in several GGUF files (NAME-00001-of-00003.gguf), opened as one.
 *
 * Each part is a GGUF file that says which one it is (split.no, from 0), of how many (split.count), and how many tensors
 * all of them have together (split.tensors.count). The first has the model's other keys; tensors are in any. */
#include "base/str.h"
#include "model/gguf_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 1024, SUFFIX_BYTES = 48 };

bool gguf_get_part(const gguf *g, gguf_part *p, err *e)
{
    *p = (gguf_part){.count = 1};
    if (!gguf_has(g, "split.count"))
        return true;
    if (!gguf_get_u32(g, "split.count", &p->count, e))
        return false;
    if (p->count <= 1) { /* split, but into one */
        p->count = 1;
        return true;
    }
    if (p->count > MOST_PARTS)
        return err_set(e, "%s: key 'split.count': %" PRIu32 " parts; at most %d are opened", g->name, p->count,
                       MOST_PARTS);
    if (!gguf_get_u32(g, "split.no", &p->number, e) || !gguf_get_u32(g, "split.tensors.count", &p->tensors, e))
        return false;
    if (p->number >= p->count)
        return err_set(e, "%s: key 'split.no': part %" PRIu32 " of %" PRIu32 ", counted from 0", g->name, p->number,
                       p->count);
    return true;
}

static void write_suffix(char suffix[SUFFIX_BYTES], uint32_t number, uint32_t count)
{
    snprintf(suffix, SUFFIX_BYTES, "-%05" PRIu32 "-of-%05" PRIu32 ".gguf", number + 1, count);
}

/* Is this part the one that its place says, of the same model as the first? */
static bool check_part(const gguf *first, const gguf *g, uint32_t number, err *e)
{
    gguf_part whole, p;
    gguf_text a, b;
    if (!gguf_get_part(first, &whole, e) || !gguf_get_part(g, &p, e))
        return false;
    if (p.count != whole.count || p.number != number)
        return err_set(e, "%s: says it is part %" PRIu32 " of %" PRIu32 ", and should be part %" PRIu32 " of %" PRIu32,
                       g->name, p.number + 1, p.count, number + 1, whole.count);
    if (p.tensors != whole.tensors)
        return err_set(e, "%s: says the model has %" PRIu32 " tensors, and part 1 says %" PRIu32, g->name, p.tensors,
                       whole.tensors);
    if (gguf_get_text(g, "general.architecture", &b, NULL) &&
        (!gguf_get_text(first, "general.architecture", &a, NULL) || gguf_text_order(a, b) != 0))
        return err_set(e, "%s: is of another architecture than part 1", g->name);
    return true;
}

gguf *gguf_join(gguf **parts, uint32_t count, err *e)
{
    gguf *first = parts[0];
    gguf_part whole;
    uint64_t tensors = 0;
    bool ok = gguf_get_part(first, &whole, e) &&
              (whole.count == count ||
               err_set(e, "%s: has %" PRIu32 " parts, not %" PRIu32, first->name, whole.count, count));
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = check_part(first, parts[i], i, e);
        tensors += parts[i]->tensor_count;
    }
    if (ok && tensors != whole.tensors)
        ok = err_set(e, "%s: its %" PRIu32 " parts have %" PRIu64 " tensors, and should have %" PRIu32, first->name,
                     count, tensors, whole.tensors);
    ok = ok && gguf_adopt_tensors(first, parts + 1, count - 1, e);
    if (ok) {
        first->parts = mem_alloc(count * sizeof *first->parts);
        first->part_count = count - 1;
        memcpy(first->parts, parts + 1, (count - 1) * sizeof *parts);
        return first;
    }
    for (uint32_t i = 0; i < count; i++)
        gguf_close(parts[i]);
    return NULL;
}

gguf *gguf_open_parts(gguf *opened, const char *path, err *e)
{
    gguf_part part;
    char suffix[SUFFIX_BYTES];
    if (!gguf_get_part(opened, &part, e)) {
        gguf_close(opened);
        return NULL;
    }
    if (part.count == 1)
        return opened;
    write_suffix(suffix, part.number, part.count);
    size_t length = strlen(path), end = strlen(suffix);
    if (length < end || strcmp(path + length - end, suffix) != 0) {
        err_set(e, "%s: is part %" PRIu32 " of %" PRIu32 "; its name must end in %s for the others to be found", path,
                part.number + 1, part.count, suffix);
        gguf_close(opened);
        return NULL;
    }
    gguf **parts = mem_alloc(part.count * sizeof *parts);
    bool ok = true;
    for (uint32_t i = 0; ok && i < part.count; i++) {
        str name = {0};
        write_suffix(suffix, i, part.count);
        str_add_bytes(&name, path, length - end);
        str_add(&name, suffix);
        parts[i] = i == part.number ? opened : gguf_open_file(name.data, e);
        ok = parts[i] || err_context(e, "part %" PRIu32 " of %" PRIu32, i + 1, part.count);
        str_free(&name);
    }
    gguf *g = NULL;
    if (ok)
        g = gguf_join(parts, part.count, e);
    else {
        parts[part.number] = opened; /* it may not have been its turn */
        for (uint32_t i = 0; i < part.count; i++)
            gguf_close(parts[i]);
    }
    free(parts);
    return g;
}
