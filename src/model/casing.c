/* casing: looking into the tables. */
#include "model/casing.h"

size_t casing_lower(uint32_t point, uint32_t out[2])
{
    uint32_t low = 0, high = casing_run_count;
    out[0] = point;
    if (point == 0x130) { /* a dotted I: an i and a dot */
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (casing_runs[middle].last < point)
            low = middle + 1;
        else
            high = middle;
    }
    const casing_run *run = &casing_runs[low];
    if (low < casing_run_count && run->first <= point && (point - run->first) % run->step == 0)
        out[0] = (uint32_t)((int32_t)point + run->by);
    return 1;
}

static bool is_in(const casing_range *ranges, uint32_t count, uint32_t point)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ranges[middle].last < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= point;
}

bool casing_is_accent(uint32_t point)
{
    return is_in(casing_accents, casing_accent_count, point);
}

bool casing_is_unseen(uint32_t point)
{
    return is_in(casing_unseen, casing_unseen_count, point);
}
