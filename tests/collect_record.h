/* A record that a collector takes, for tests to change. */
#ifndef SOLO_TESTS_COLLECT_RECORD_H
#define SOLO_TESTS_COLLECT_RECORD_H

#include "base/str.h"
#include "serve/collect_check.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A record that is valid, made anew for each test. */
static json_t *record(void)
{
    static const char text[] =
        "{'schema': 'solo-record-1', 'solo': {'version': '0.1.0', 'commit': 'abc'}, 'when': '2026-11-18T08:46:39Z',"
        " 'host': {'os': 'Linux 6.1 x86_64', 'cpu': 'A CPU', 'cores': 4},"
        " 'gpu': {'impl': 'dawn', 'backend': 'Vulkan', 'vendor': 'nvidia', 'device': 'NVIDIA Test', 'driver': '1',"
        "         'adapter_type': 'discrete GPU', 'features': {'f16': true, 'subgroup_size': [32, 32]}},"
        " 'clock_ns': 29, 'experiment': 'llm', 'params': {'model': 'built-in', 'seed': 1},"
        " 'results': ["
        "  {'name': 'tg4', 'params': {'impl': 'dawn', 'fuse': 'none', 'submit': 'batch', 'depth': 16}, 'unit': 'tok/s',"
        "   'samples': [10, 12, 11], 'n': 3, 'min': 10, 'p10': 10.2, 'median': 11, 'p90': 11.8, 'mean': 11, 'sd': 1,"
        "   'ci95': [10, 12], 'dispatches': 8, 'passes': 1, 'submits': 1, 'us_per_token': 90909},"
        "  {'name': 'tg4', 'params': {'impl': 'dawn', 'fuse': 'loop', 'submit': 'batch', 'depth': 16}, 'unit': 'tok/s',"
        "   'samples': [100, 120, 110], 'n': 3, 'min': 100, 'p10': 102, 'median': 110, 'p90': 118, 'mean': 110, 'sd': "
        "10,"
        "   'ci95': [100, 120], 'dispatches': 1, 'passes': 1, 'submits': 1}],"
        " 'checks': [{'what': 'the same tokens', 'ok': true, 'detail': ''}]}";
    char *quoted = mem_dup(text);
    for (char *at = quoted; *at; at++)
        if (*at == '\'')
            *at = '"';
    json_t *root = json_loads(quoted, 0, NULL);
    free(quoted);
    return root;
}

static bool check_json(json_t *root, collect_record *r, err *e)
{
    char *text = json_dumps(root, JSON_INDENT(1));
    bool ok = collect_check("record", text, strlen(text), r, e);
    free(text);
    return ok;
}

#endif
