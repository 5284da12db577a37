/* A small network with a memory, at every fusion level: each run stores a row in a state, and the sum of what it computes
 * from it is bound to the caller's memory on the device. */
#include <solo.h>
#include <stdio.h>

enum { WIDE = 8, RUNS = 3 };

static solo_graph *build(const float *weight)
{
    solo_graph *g = solo_graph_new();
    solo_node x = solo_graph_input(g, "x", SOLO_F32, (solo_shape){{1, WIDE}});
    solo_node row = solo_graph_input(g, "row", SOLO_U32, (solo_shape){{1}});
    solo_node w = solo_graph_weight(g, "w", SOLO_WEIGHT_F32, (solo_shape){{WIDE, WIDE}}, weight);
    solo_node memory = solo_graph_state(g, "memory", SOLO_F32, (solo_shape){{RUNS, 1, WIDE}});
    solo_node y = solo_graph_unary(g, SOLO_SILU, solo_graph_matmul(g, x, w));
    solo_graph_store(g, memory, solo_graph_reshape(g, y, (solo_shape){{1, 1, WIDE}}), row);
    solo_graph_output(g, "sum", solo_graph_reduce(g, SOLO_SUM, y));
    solo_graph_assign(g, row, row, 1); /* the next run stores the next row */
    return g;
}

static bool run(solo_device *d, const solo_graph *g, solo_level level, solo_error *e)
{
    static const char *const names[] = {"auto", "none", "ops", "token", "loop"};
    float x[WIDE], memory[RUNS][WIDE], sum = 0;
    for (int i = 0; i < WIDE; i++)
        x[i] = (float)(i + 1);
    solo_buffer *mine = solo_buffer_new(d, sizeof sum, e);
    solo_run *r = solo_run_new(d, g, &(solo_run_options){.level = level}, e);
    bool ok = solo_run_write(r, "x", x, sizeof x, e) && solo_run_bind(r, "sum", mine, e) && solo_run_go(r, RUNS, e) &&
              solo_buffer_read(mine, 0, &sum, sizeof sum, e) && solo_run_read(r, "memory", memory, sizeof memory, e);
    if (ok)
        printf("%-5s %u dispatches a run, sum %.4f, the last row begins with %.4f\n", names[level],
               solo_run_dispatches(r), (double)sum, (double)memory[RUNS - 1][0]);
    solo_run_free(r);
    solo_buffer_free(mine);
    return ok;
}

int main(void)
{
    float weight[WIDE * WIDE];
    solo_error e = {0};
    for (int i = 0; i < WIDE * WIDE; i++)
        weight[i] = (float)(i % 5 - 2) / 8;
    solo_device *d = solo_device_open(NULL, &e);
    solo_graph *g = build(weight);
    for (solo_level level = SOLO_LEVEL_AUTO; level <= SOLO_LEVEL_LOOP && run(d, g, level, &e); level++)
        continue;
    if (e.status)
        fprintf(stderr, "graph: %s\n", e.text);
    solo_graph_free(g);
    solo_device_close(d);
    return e.status;
}
