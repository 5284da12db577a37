#include "graph/megakernel_schedule.h"

enum { MOST_PERIOD = 16 };

schedule_loop schedule_find_loop(const uint32_t *kinds, uint32_t phases)
{
    schedule_loop best = {.period = 1, .times = 1};
    uint32_t most_saved = 0;
    for (uint32_t period = 1; period <= MOST_PERIOD && period < phases; period++)
        for (uint32_t first = 0; first + 2 * period <= phases; first++) {
            uint32_t same = 0;
            while (first + period + same < phases && kinds[first + same] == kinds[first + period + same])
                same++;
            uint32_t saved = same / period * period;
            if (saved > most_saved) {
                most_saved = saved;
                best = (schedule_loop){first, period, same / period + 1};
            }
        }
    return best;
}

static uint32_t sites_of(schedule_loop l, uint32_t phases)
{
    return phases - l.period * (l.times - 1);
}

bool schedule_possible(const uint32_t *kinds, uint32_t phases)
{
    return sites_of(schedule_find_loop(kinds, phases), phases) <= SCHEDULE_MAX_SITES;
}

/* What a phase's kernel is dispatch_desc, and how many virtual workgroups there are of it. In the loop, which has its phases in the
 * text once, that depends on the time round. */
static void add_told(const schedule *c, schedule_loop l, uint32_t phase, bool inside, str *out)
{
    if (c->kinds[c->phase_kinds[phase]].per_iteration)
        str_addf(out, "{ let args = %s; let count = phase_word(%uu * PHASE_WORDS, 0u);\n", inside ? "time" : "0u",
                 phase);
    else if (inside)
        str_addf(out, "{ let args = (time * %uu + %uu) * PHASE_WORDS; let count = phase_word(args, 0u);\n", l.period,
                 phase);
    else
        str_addf(out, "{ let args = %uu * PHASE_WORDS; let count = phase_word(args, 0u);\n", phase);
}

/* What was begun with before need not be kept. */
static void add_forget(const schedule *c, uint32_t phase, str *out)
{
    if (c->kinds[c->phase_kinds[phase]].begins)
        str_addf(out, "begun_with_%u = begun_%u();\n", c->phase_kinds[phase], c->phase_kinds[phase]);
}

static void add_begin(const schedule *c, schedule_loop l, uint32_t phase, bool inside, str *out)
{
    uint32_t kind = c->phase_kinds[phase];
    if (!c->kinds[kind].begins)
        return;
    add_forget(c, phase, out);
    add_told(c, l, phase, inside, out);
    str_addf(out, "if (group.x < count) { begun_with_%u = begin_%u(args, group.x, local); } }\n", kind, kind);
}

/* The work of virtual workgroup v. */
static void add_work(const schedule *c, uint32_t kind, const char *v, str *out)
{
    if (c->kinds[kind].begins)
        str_addf(out, "work_%u(args, %s, local, begun_with_%u);", kind, v, kind);
    else
        str_addf(out, "body_%u(args, %s, local);", kind, v);
}

static void add_body(const schedule *c, schedule_loop l, uint32_t phase, bool inside, str *out)
{
    uint32_t kind = c->phase_kinds[phase];
    add_told(c, l, phase, inside, out);
    if (c->kinds[kind].single_pass) {
        str_add(out, "if (group.x < count) { ");
        add_work(c, kind, "group.x", out);
        str_add(out, " } }\n");
        return;
    }
    str_add(out, "var v = group.x;\nfor (var most = count; most > 0u; most--) {\n    if (v >= count) { break; }\n    ");
    add_work(c, kind, "v", out);
    /* Workgroup memory is everyone's. */
    str_add(out, "\n    v += groups.x;\n    if (v < count) {\n        workgroupBarrier();\n");
    if (c->kinds[kind].begins)
        str_addf(out, "        begun_with_%u = begin_%u(args, v, local);\n", kind, kind);
    str_add(out, "    }\n}\n}\n");
}

/* Do epoch_bit stand for the barrier between two phases? */
static bool marks_between(const schedule *c, uint32_t before, uint32_t after)
{
    return c->kinds[c->phase_kinds[before]].epoch_only && c->kinds[c->phase_kinds[after]].epoch_only;
}

/* Who leaves phases out, to time them, has no epoch_bit to go by: then there is a barrier all the same. */
static void add_arrival(bool epoch_only, str *out)
{
    str_add(out, "passed += 1u;\n");
    if (epoch_only)
        str_add(out, "pass_by_marks(group.x, passed);\nif (course.polls_epoch == 0u) {\n");
    str_add(out, "arrivals += 1u;\narrive(group.x, local, passed);\n");
    if (epoch_only)
        str_add(out, "}\n");
}

static void add_waiting(bool epoch_only, str *out)
{
    static const char wait[] = "wait_for_all(local, arrivals * groups.x);\n";
    if (epoch_only)
        str_addf(out, "if (course.polls_epoch == 0u) {\n%s}\nworkgroupBarrier();\n", wait);
    else
        str_add(out, wait);
}

/* A phase with few weights of its own leaves memory idle while all wait for its x: meanwhile the first of the many behind it come
 * nearer. Nobody needs the words themselves, or waits for them before that phase is done. */
static bool touches_behind(const schedule *c, schedule_loop l, uint32_t phase)
{
    return phase > l.first && phase + 1 < l.first + l.period && c->kinds[c->phase_kinds[phase + 1]].warms_cache &&
           !c->kinds[c->phase_kinds[phase]].warms_cache;
}

static void add_touch(const schedule *c, schedule_loop l, uint32_t phase, str *out)
{
    uint32_t kind = c->phase_kinds[phase + 1];
    if (!touches_behind(c, l, phase))
        return;
    str_addf(out, "touched_of_%u = touched_%u();\n", kind, kind);
    add_told(c, l, phase + 1, true, out);
    str_addf(out, "if (group.x < count) { touched_of_%u = touch_%u(args, group.x, local); } }\n", kind, kind);
}

static void add_touched(const schedule *c, schedule_loop l, uint32_t phase, str *out)
{
    uint32_t kind = c->phase_kinds[phase + 1];
    if (touches_behind(c, l, phase))
        str_addf(out, "given_back |= bits_touched_%u(touched_of_%u);\n", kind, kind);
}

/* A phase, and what is between it and the next. That one's weights are on their way while all wait for each other, but are
 * asked for after arriving: asking takes time, too. */
static void add_phase(const schedule *c, schedule_loop l, uint32_t phase, bool inside, str *out)
{
    bool epoch_only = marks_between(c, phase, phase + 1);
    add_body(c, l, phase, inside, out);
    if (inside)
        add_touched(c, l, phase, out);
    add_arrival(epoch_only, out);
    add_begin(c, l, phase + 1, inside, out);
    if (inside)
        add_touch(c, l, phase + 1, out);
    add_waiting(epoch_only, out);
}

/* The last phase of the loop, after which it goes round again, or on behind it. */
static void add_last_of_loop(const schedule *c, schedule_loop l, str *out)
{
    uint32_t last = l.first + l.period - 1, behind = l.first + l.period * l.times;
    bool is_end = behind == c->phases;
    bool epoch_only = !is_end && marks_between(c, last, l.first) && marks_between(c, last, behind);
    add_body(c, l, last, true, out);
    add_arrival(epoch_only, out);
    str_addf(out, "if (time + 1u < %uu) {\nlet next = time + 1u;\n{ let time = next;\n", l.times);
    add_forget(c, is_end ? 0 : behind, out);
    add_begin(c, l, l.first, true, out);
    str_add(out, "}\n} else {\n");
    add_forget(c, l.first, out);
    add_begin(c, l, is_end ? 0 : behind, false, out);
    str_add(out, "}\n");
    add_waiting(epoch_only, out);
    str_add(out, "going = going_on();\n");
}

static void add_loop(const schedule *c, schedule_loop l, str *out)
{
    str_addf(out, "for (var time = 0u; time < %uu; time++) {\nif (!going) { break; }\n", l.times);
    for (uint32_t phase = l.first; phase + 1 < l.first + l.period; phase++)
        add_phase(c, l, phase, true, out);
    add_last_of_loop(c, l, out);
    str_add(out, "}\n");
}

/* Nobody leaves in the middle: compilers make long detours of that. Where someone has given up, the loop ends, and of
 * the phases outside of it none is begun: they may be the ones whose results are kept. */
void schedule_add(const schedule *c, str *out)
{
    schedule_loop l = schedule_find_loop(c->phase_kinds, c->phases);
    str_add(out, "\n@compute @workgroup_size(THREADS)\n"
                 "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, "
                 "@builtin(local_invocation_index) local: u32) {\n"
                 "if (course.phases == 0u) {\ncall_roll(local);\n} else if (!is_stop(local)) {\n"
                 "var passed = 0u;\nvar arrivals = 0u;\nvar rounds = 0u;\nvar going = true;\n");
    for (uint32_t kind = 0; kind < c->kind_count; kind++) {
        if (c->kinds[kind].begins)
            str_addf(out, "var begun_with_%u: begun_%u;\n", kind, kind);
        if (c->kinds[kind].warms_cache)
            str_addf(out, "var touched_of_%u: touched_%u;\n", kind, kind);
    }
    add_begin(c, l, 0, false, out);
    str_add(out, "for (var left = course.rounds; left > 0u; left--) {\nif (!going) { break; }\n"
                 "let round = course.rounds - left;\nbegin_round(round);\n");
    for (uint32_t phase = 0; phase < c->phases; phase++) {
        if (l.times > 1 && phase == l.first) {
            add_loop(c, l, out);
            phase += l.period * l.times - 1;
        } else {
            str_add(out, "if (going) {\n");
            if (phase + 1 < c->phases) {
                add_phase(c, l, phase, false, out);
                str_add(out, "going = going_on();\n");
            } else
                add_body(c, l, phase, false, out);
            str_add(out, "}\n");
        }
    }
    str_add(out, "rounds = round + 1u;\nif (going && round + 1u < course.rounds) {\n");
    add_arrival(false, out);
    add_begin(c, l, 0, false, out);
    add_waiting(false, out);
    str_add(
        out,
        "going = going_on() && !is_stop(local);\n}\n}\nif (going_on()) { leave(local, groups.x, rounds); }\n}\n}\n");
}
