#include "cli/sampling_options.h"
#include "base/clock.h"
#include "base/rng.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char SAMPLING_HELP[] = "  --temp T            how freely tokens are chosen; 0: always the most likely one\n"
                             "  --top-k K           only from the K most likely; 0: from all\n"
                             "  --top-p P           only from the most likely that together have the probability P\n"
                             "  --min-p P           only from those at least P times as likely as the most likely\n"
                             "  --repeat-penalty R  makes tokens that were there lately less likely; 1: does not\n"
                             "  --seed S            the same seed gives the same text (default: another each time)\n"
                             "  --stop TEXT         ends the text where this would come; may be given several times\n"
                             "  -c N                context: at most so many tokens are remembered\n";

/* A number from `low` to `high`. */
static bool read_number(const char *name, const char *value, double low, double high, double *out, err *e)
{
    char *end;
    errno = 0;
    *out = strtod(value, &end);
    if (errno || end == value || *end || !(*out >= low && *out <= high))
        return err_set_kind(e, ERR_USAGE, "--%s takes a number from %g to %g, not '%s'", name, low, high, value);
    return true;
}

typedef struct real_setting {
    const char *name;
    double low, high;
    float *where;
} real_setting;

bool sampling_set(sampling_options *o, const char *name, const char *value, err *e)
{
    const real_setting settings[] = {{"temp", 0, 100, &o->how.temperature},
                                     {"top-p", 0, 1, &o->how.top_p},
                                     {"min-p", 0, 1, &o->how.min_p},
                                     {"repeat-penalty", 0, 10, &o->how.repeat_penalty}};
    double number;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const real_setting *s = &settings[i];
        if (strcmp(name, s->name) != 0)
            continue;
        if (!read_number(name, value, s->low, s->high, &number, e))
            return false;
        *s->where = (float)number;
        return true;
    }
    bool is_seed = strcmp(name, "seed") == 0;
    if (!is_seed && strcmp(name, "top-k") != 0)
        return false;
    if (!read_number(name, value, 0, UINT32_MAX, &number, e))
        return false;
    if (number != floor(number))
        return err_set_kind(e, ERR_USAGE, "--%s takes a whole number, not '%s'", name, value);
    *(is_seed ? &o->how.seed : &o->how.top_k) = (uint32_t)number;
    o->has_seed = o->has_seed || is_seed;
    return true;
}

static bool add_stop(cli_args *a, const char *word, sampling_options *o)
{
    const char *text = cli_value(a, word);
    if (!text)
        return false;
    if (!*text)
        return err_set_kind(a->e, ERR_USAGE, "--stop takes a text that is not empty");
    if (o->stop_count == MAX_STOPS)
        return err_set_kind(a->e, ERR_USAGE, "--stop can be given %d times at most", MAX_STOPS);
    o->stops[o->stop_count++] = text;
    return true;
}

bool sampling_word(cli_args *a, const char *word, sampling_options *o)
{
    static const char *const names[] = {"--temp", "--top-p", "--min-p", "--repeat-penalty", "--top-k", "--seed"};
    if (strcmp(word, "--stop") == 0)
        return add_stop(a, word, o);
    if (strcmp(word, "-c") == 0) {
        long tokens;
        if (!cli_number(a, word, 1, 1 << 24, &tokens))
            return false;
        o->context_tok = (uint32_t)tokens;
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i]) == 0) {
            const char *value = cli_value(a, word);
            return value && sampling_set(o, word + 2, value, a->e);
        }
    return false;
}

void sampling_choose_seed(sampling_options *o)
{
    if (o->has_seed)
        return;
    rng r = rng_seed(clock_ns() ^ (uint64_t)getpid() << 32);
    o->how.seed = (uint32_t)rng_next(&r);
}
