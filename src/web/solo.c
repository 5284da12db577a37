/* What a page calls (web/engine.js): a device, a model on it, answers, measurements.
 *
 * One of each at a time. A call returns an err_kind; its reply, JSON or an error's text, is then at
 * solo_said(). Calls may suspend, and only one may be in progress.                             */
#include "base/jsonw.h"
#include "gpu/probe.h"
#include "graph/run.h"
#include "lab/dispatch.h"
#include "lab/llm.h"
#include "lab/record.h"
#include "llm/session.h"
#include "web/host.h"
#include "web/reply.h"

#include <stdlib.h>
#include <string.h>

static lab_device device;
static gpu_adapter_want wanted; /* measurements open devices of their own, of the same kind */
static model *opened;
static char *opened_name;
static session *talk;
static volatile sig_atomic_t interrupted;

/* ---- replies ------------------------------------------------------------------ */

static int failed(const err *e)
{
    str_add(reply_text(), e->text);
    return e->kind;
}

/* Setting it from outside while an answer is made ends the answer. */
EXPORT(solo_interrupted) volatile sig_atomic_t *solo_interrupted(void)
{
    return &interrupted;
}

static bool is_loaded(err *e)
{
    return talk || err_set(e, "no model is loaded");
}

static void unload(void)
{
    session_free(talk);
    model_close(opened);
    free(opened_name);
    talk = NULL;
    opened = NULL;
    opened_name = NULL;
}

/* ---- the device ----------------------------------------------------------------- */

EXPORT(solo_close) void solo_close(void)
{
    unload();
    lab_device_close(&device);
}

EXPORT(solo_open) int solo_open(int adapter)
{
    err e = {0};
    solo_close();
    wanted = (gpu_adapter_want)adapter;
    device = (lab_device){.g = gpu_open_now(&(gpu_choice){.impl = "web", .adapter = wanted}, &e)};
    if (!device.g || !gpu_check_language(device.g, &e)) {
        lab_device_close(&device);
        return failed(&e);
    }
    device.info = *gpu_get_info(device.g);
    jsonw j = reply_begin();
    lab_device_write(&device, &j, "gpu");
    jsonw_text(&j, "best_level", fusion_names[graph_run_level(device.g, LEVEL_AUTO)]);
    jsonw_end(&j);
    return 0;
}

EXPORT(solo_lose) void solo_lose(void)
{
    if (device.g)
        gpu_lose(device.g);
}

/* ---- a model ---------------------------------------------------------------------- */

static bool read_file(void *unused, uint64_t offset, void *to, size_t bytes, err *e)
{
    (void)unused;
    char why[512];
    if (page_read_file((double)offset, to, (uint32_t)bytes))
        return true;
    page_why(why, sizeof why);
    return err_set(e, "%s", why);
}

static void write_notice(jsonw *j)
{
    char notice[1200];
    generation *n = session_generation(talk);
    jsonw_text(j, "level", fusion_names[generation_level(n)]);
    jsonw_text(j, "notice", generation_take_notice(n, notice, sizeof notice));
    jsonw_end(j);
}

/* Of the context: the states of its plan. */
static uint64_t cache_bytes(generation *n)
{
    const graph *g = generation_plan(n)->g;
    uint64_t bytes = 0;
    for (node i = 1; i <= graph_count(g); i++) {
        const graph_node *x = graph_at(g, i);
        if (x->op == OP_STATE)
            bytes += dtype_bytes(x->type, shape_count(x->s));
    }
    return bytes;
}

static int write_model(void)
{
    const model_config *c = model_get_config(opened);
    const chat_template *template = session_template(talk);
    generation *n = session_generation(talk);
    uint32_t threads;
    jsonw j = reply_begin();
    jsonw_text(&j, "name", opened_name);
    jsonw_text(&j, "architecture", config_arch_name(c->arch));
    jsonw_count(&j, "layers", c->layer_count);
    jsonw_count(&j, "vocabulary", c->vocab_tok);
    jsonw_count(&j, "context", generation_context(n));
    jsonw_count(&j, "trained_context", c->context_tok);
    jsonw_text(&j, "format", template ? chat_template_name(template) : NULL);
    jsonw_text(&j, "template_error", session_template_error(talk));
    jsonw_bool(&j, "improving", generation_is_compiling(n));
    jsonw_count(&j, "dispatches", generation_dispatches(n));
    jsonw_count(&j, "workgroups", generation_workgroups(n, &threads));
    jsonw_count(&j, "gpu_bytes", generation_bytes(n));
    jsonw_count(&j, "cache_bytes", cache_bytes(n));
    write_notice(&j);
    return 0;
}

/* Software devices compile kernels when they first run: this runs them while the user still types. */
static bool warm_up(generation *n, err *e)
{
    generation_feed(n, &(uint32_t){0}, 1, e);
    generation_rewind(n, 0);
    return gpu_ok(device.g, e);
}

/* `level` is a fusion_level, LEVEL_AUTO for the best; `all_levels` makes the lower ones, too; `soon`: the model may
 * answer before the level has compiled. */
EXPORT(solo_load)
int solo_load(const char *name, double file_bytes, int level, int all_levels, uint32_t context_tok, int soon)
{
    err e = {0};
    unload();
    if (!device.g) {
        err_set(&e, "no device is open");
        return failed(&e);
    }
    /* an earlier model's error is cleared, unless the device is lost */
    gpu_poll(device.g);
    gpu_take_error(device.g, NULL);
    session_options o = {.generation = {.level = (fusion_level)level,
                                        .compile = soon ? COMPILE_IN_BACKGROUND : COMPILE_FIRST,
                                        .all_levels = all_levels != 0,
                                        .context_tok = context_tok}};
    opened_name = mem_dup(name);
    opened = model_open_reader(&(model_reader){(uint64_t)file_bytes, read_file, NULL}, name, &e);
    talk = opened ? session_new(device.g, opened, &o, &e) : NULL;
    if (!talk || !session_prepare(talk, &e) || !warm_up(session_generation(talk), &e)) {
        unload();
        return failed(&e);
    }
    return write_model();
}

/* Switches to the best level, once its kernels have compiled in the background. */
EXPORT(solo_improve) int solo_improve(void)
{
    err e = {0};
    return is_loaded(&e) && session_finish(talk, &e) ? write_model() : failed(&e);
}

EXPORT(solo_set_level) int solo_set_level(int level)
{
    err e = {0};
    if (!is_loaded(&e) || ((unsigned)level >= LEVEL_COUNT && !err_set(&e, "there is no such level")))
        return failed(&e);
    session_set_level(talk, (fusion_level)level);
    return write_model();
}

/* ---- answers ------------------------------------------------------------------------ */

EXPORT(solo_set_sampling)
void solo_set_sampling(float temperature, uint32_t top_k, float top_p, float min_p, float repeat_penalty, uint32_t seed)
{
    if (talk)
        session_set_sampling(talk, &(sampling){.temperature = temperature,
                                               .top_k = top_k,
                                               .top_p = top_p,
                                               .min_p = min_p,
                                               .repeat_penalty = repeat_penalty,
                                               .seed = seed});
}

/* Starts a conversation; tokens that are in the KV cache already stay. `chat` 0: a text that is continued. */
EXPORT(solo_begin) int solo_begin(int chat)
{
    err e = {0};
    interrupted = 0; /* here, so that a stop before the answer begins is not lost */
    if (!is_loaded(&e))
        return failed(&e);
    session_begin(talk, chat != 0);
    session_forget_stops(talk);
    reply_text(); /* empty: an earlier error is cleared */
    return 0;
}

EXPORT(solo_add_message) void solo_add_message(int role, const char *text)
{
    if (role == CHAT_SYSTEM)
        conversation_set_system(session_conversation(talk), text);
    else
        conversation_add(session_conversation(talk), (chat_role)role, text);
}

EXPORT(solo_add_stop) void solo_add_stop(const char *text)
{
    session_add_stop(talk, text);
}

/* Dispatches before the first piece of an answer belong to the prompt. */
typedef struct counting {
    bool started;
    gpu_counters first;
} counting;

static void print(void *context, const char *text, size_t bytes)
{
    counting *c = context;
    if (!c->started)
        c->first = gpu_get_counters(device.g);
    c->started = true;
    page_answer(text, (uint32_t)bytes);
}

static const char *end_name(answer_end end)
{
    switch (end) {
    case ANSWER_ENDED:
    case ANSWER_STOPPED: return "stop";
    case ANSWER_LONG: return "length";
    case ANSWER_FULL: return "full";
    case ANSWER_INTERRUPTED: break;
    }
    return "interrupted";
}

/* `keeps_all`: a conversation that does not fit gets no answer, and its end is "full"; else its oldest turns are dropped. */
EXPORT(solo_answer) int solo_answer(uint32_t most_tok, int keeps_all)
{
    err e = {0};
    answer_report r;
    counting c = {0};
    answer_options o = {
        .most_tok = most_tok, .interrupted = &interrupted, .print = print, .context = &c, .keeps_all = keeps_all != 0};
    if (!session_answer(talk, &o, &r, &e)) {
        if (!r.is_full)
            return failed(&e);
        r.end = ANSWER_FULL;
    }
    gpu_counters since = gpu_counters_since(device.g, c.first);
    jsonw j = reply_begin();
    jsonw_text(&j, "end", end_name(r.end));
    jsonw_count(&j, "prompt_tokens", r.fed_tok + r.reused_tok);
    jsonw_count(&j, "reused_tokens", r.reused_tok);
    jsonw_count(&j, "tokens", r.answer_tok);
    jsonw_count(&j, "forgotten_messages", r.forgotten);
    jsonw_number(&j, "tokens_per_s", r.tok_per_s);
    jsonw_number(&j, "dispatches_per_token",
                 c.started && r.answer_tok > 1 ? (double)since.dispatches / (r.answer_tok - 1) : 0);
    write_notice(&j);
    return 0;
}

/* ---- measurements --------------------------------------------------------------------- */

/* The laboratory opens its own device beside the page's. 0 rounds or processes: the default number. */
EXPORT(solo_bench_dispatch) int solo_bench_dispatch(int quick, uint32_t rounds, uint32_t processes, uint32_t seed)
{
    err e = {0};
    dispatch_lab lab = {0};
    bool ok = dispatch_measure(
        &lab,
        &(dispatch_options){
            .quick = quick != 0, .rounds = rounds, .processes = processes, .seed = seed, .adapter = wanted},
        &e);
    if (ok) {
        dispatch_record(&lab, reply_text());
    }
    dispatch_free(&lab);
    return ok ? 0 : failed(&e);
}

/* `levels` and `submits` have a bit for each. The model is the one that is loaded. */
EXPORT(solo_bench_llm)
int solo_bench_llm(uint32_t levels, uint32_t submits, uint32_t prompt_tok, uint32_t made_tok, uint32_t depth_tok,
                   uint32_t repetitions, uint32_t seed)
{
    err e = {0};
    llm_lab lab = {0};
    llm_options o = {.model_name = opened_name,
                     .choice = {.impl = "web", .adapter = wanted},
                     .prompt_tok = prompt_tok,
                     .made_tok = made_tok,
                     .depth_tok = depth_tok,
                     .repetitions = repetitions,
                     .seed = seed};
    for (int i = 0; i < LEVEL_COUNT; i++)
        o.levels[i] = levels >> i & 1;
    for (int i = 0; i < SUBMIT_COUNT; i++)
        o.submits[i] = submits >> i & 1;
    bool ok = is_loaded(&e) && llm_measure(&lab, opened, &o, &e);
    if (ok) {
        llm_record(&lab, reply_text());
    }
    llm_free(&lab);
    return ok ? 0 : failed(&e);
}
