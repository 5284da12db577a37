/* server_log: lines, counts and histograms of requests. */
#include "serve/server_log.h"
#include "base/clock.h"
#include "base/jsonw.h"

#include <stdio.h>
#include <string.h>

static const double BOUNDS_S[LOG_BUCKETS] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

log_entry log_begin(const char *method, const char *path)
{
    return (log_entry){.method = method, .path = path, .began_us = clock_us()};
}

static void write_json(const log_entry *e, double took_s, str *line)
{
    char when[32];
    jsonw j = jsonw_to(line);
    clock_utc(when);
    jsonw_object(&j, NULL);
    jsonw_flat(&j);
    jsonw_text(&j, "time", when);
    jsonw_text(&j, "method", e->method);
    jsonw_text(&j, "path", e->path);
    jsonw_count(&j, "status", e->status);
    jsonw_number(&j, "seconds", took_s);
    jsonw_text(&j, "address", e->address);
    if (e->id[0])
        jsonw_text(&j, "id", e->id);
    if (e->user[0])
        jsonw_text(&j, "user", e->user);
    if (e->prompt_tok) {
        jsonw_count(&j, "prompt_tokens", e->prompt_tok);
        jsonw_count(&j, "cached_tokens", e->reused_tok);
        jsonw_count(&j, "completion_tokens", e->made_tok);
        if (e->stepped_tok)
            jsonw_count(&j, "stepped_tokens", e->stepped_tok);
        if (e->vain_tok)
            jsonw_count(&j, "vain_tokens", e->vain_tok);
        jsonw_number(&j, "queue_seconds", e->queue_s);
        jsonw_number(&j, "first_token_seconds", e->first_s);
    }
    if (e->finish)
        jsonw_text(&j, "finish", e->finish);
    if (e->is_gone)
        jsonw_bool(&j, "gone", true);
    if (e->error[0])
        jsonw_text(&j, "error", e->error);
    jsonw_end(&j);
}

static void write_text(const log_entry *e, double took_s, str *line)
{
    char when[32];
    clock_utc(when);
    str_addf(line, "%s %s %s %s %u %.3f s", when, e->address, e->method, e->path, e->status, took_s);
    if (e->prompt_tok)
        str_addf(line, ", %llu tokens read (%llu cached), %llu made, %.3f s in the queue, first after %.3f s",
                 (unsigned long long)e->prompt_tok, (unsigned long long)e->reused_tok, (unsigned long long)e->made_tok,
                 e->queue_s, e->first_s);
    if (e->stepped_tok)
        str_addf(line, ", %llu of them one by one", (unsigned long long)e->stepped_tok);
    if (e->vain_tok)
        str_addf(line, ", %llu more in vain", (unsigned long long)e->vain_tok);
    if (e->finish)
        str_addf(line, ", %s", e->finish);
    if (e->is_gone)
        str_add(line, ", the client went away");
    if (e->error[0])
        str_addf(line, ", %s", e->error);
}

static void observe(log_histogram *h, double value)
{
    int i = 0;
    while (i < LOG_BUCKETS && value > BOUNDS_S[i])
        i++;
    h->buckets[i]++;
    h->sum += value;
}

static void count_status(server_log *l, unsigned status)
{
    int i = 0;
    while (i < LOG_STATUSES - 1 && l->statuses[i].count && l->statuses[i].status != status)
        i++;
    l->statuses[i].status = status;
    l->statuses[i].count++;
}

void log_end(server_log *l, const log_entry *e)
{
    double took_s = (clock_us() - e->began_us) * 1e-6;
    pthread_mutex_lock(&l->mutex);
    count_status(l, e->status);
    l->gone += e->is_gone;
    if (e->prompt_tok) {
        observe(&l->queue_s, e->queue_s);
        observe(&l->request_s, took_s);
        if (e->first_s > 0)
            observe(&l->first_s, e->first_s);
    }
    pthread_mutex_unlock(&l->mutex);
    if (l->is_quiet)
        return;
    str line = {0};
    (l->as_json ? write_json : write_text)(e, took_s, &line);
    while (line.length && line.data[line.length - 1] == '\n')
        line.length--;
    for (size_t i = 0; i < line.length; i++) /* nobody writes lines of their own */
        if ((unsigned char)line.data[i] < ' ')
            line.data[i] = '?';
    str_add(&line, "\n");
    fwrite(line.data, 1, line.length, stderr);
    str_free(&line);
}

/* ---- metrics -------------------------------------------------------------------------------------- */

static void metric(str *out, const char *name, const char *type, const char *help, double value)
{
    str_addf(out, "# HELP solo_%s %s\n# TYPE solo_%s %s\nsolo_%s %.17g\n", name, help, name, type, name, value);
}

static void histogram(str *out, const char *name, const char *help, const log_histogram *h)
{
    uint64_t count = 0;
    str_addf(out, "# HELP solo_%s %s\n# TYPE solo_%s histogram\n", name, help, name);
    for (int i = 0; i < LOG_BUCKETS; i++) {
        count += h->buckets[i];
        str_addf(out, "solo_%s_bucket{le=\"%g\"} %llu\n", name, BOUNDS_S[i], (unsigned long long)count);
    }
    count += h->buckets[LOG_BUCKETS];
    str_addf(out, "solo_%s_bucket{le=\"+Inf\"} %llu\nsolo_%s_sum %.9g\nsolo_%s_count %llu\n", name,
             (unsigned long long)count, name, h->sum, name, (unsigned long long)count);
}

void log_write_metrics(server_log *l, const scheduler_counts *c, str *out)
{
    pthread_mutex_lock(&l->mutex);
    str_add(out, "# HELP solo_requests_total Requests, by the status of their replies.\n"
                 "# TYPE solo_requests_total counter\n");
    for (int i = 0; i < LOG_STATUSES && l->statuses[i].count; i++)
        str_addf(out, "solo_requests_total{status=\"%u\"} %llu\n", l->statuses[i].status,
                 (unsigned long long)l->statuses[i].count);
    metric(out, "clients_gone_total", "counter", "Clients that went away before their answer ended.", (double)l->gone);
    histogram(out, "queue_seconds", "Time that a request waited for a place.", &l->queue_s);
    histogram(out, "first_token_seconds", "Time until the first token.", &l->first_s);
    histogram(out, "request_seconds", "Time for a whole answer.", &l->request_s);
    pthread_mutex_unlock(&l->mutex);
    metric(out, "texts_running", "gauge", "Texts that are being made.", c->running);
    metric(out, "texts_waiting", "gauge", "Texts in the queue.", c->waiting);
    metric(out, "texts_total", "counter", "Texts that were taken.", (double)c->texts);
    metric(out, "texts_refused_total", "counter", "Requests refused because the queue was full.", (double)c->refused);
    metric(out, "texts_given_up_total", "counter", "Texts that nobody waited for any more.", (double)c->given_up);
    metric(out, "texts_failed_total", "counter", "Texts that failed.", (double)c->failed);
    metric(out, "prompt_tokens_total", "counter", "Tokens of prompts.", (double)c->prompt_tok);
    metric(out, "cached_tokens_total", "counter", "Tokens of prompts that were in the cache.", (double)c->reused_tok);
    metric(out, "generated_tokens_total", "counter", "Tokens that were made.", (double)c->made_tok);
    metric(out, "stepped_tokens_total", "counter", "Of these, tokens that were waited for one by one.",
           (double)c->stepped_tok);
    metric(out, "vain_tokens_total", "counter", "Tokens that were made, and not used: a grammar wanted others.",
           (double)c->vain_tok);
    metric(out, "busy_seconds_total", "counter", "Time that the device was worked with.", c->busy_s);
    metric(out, "device_reopened_total", "counter", "Devices that were lost and opened again.", (double)c->reopened);
}
