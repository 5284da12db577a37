/* matmul_software: the kernels of matrix products on software devices, where compiling takes longer than running. */
#include "graph/layout.h"
#include "graph/lower_internal.h"

void lower_leave_out_for_type(const lowering *c, dispatch_desc *l, tensor_type type)
{
    bool norms = false, combines = false, gates = false, rotates = false, states = false, operands = false,
         functions = false, parts = false, factors = false;
    uint32_t epilogue_steps = 0;
    for (const plan_step *s = c->p->steps; s < c->p->steps + c->p->count; s++) {
        if (s->op != OP_MATMUL || node_at(c, node_at(c, s->parts[0].matmul)->operands[1])->as.weight != type)
            continue;
        parts |= s->part_count > 1;
        norms |= s->norm != 0;
        combines |= s->combines_splits;
        for (const plan_part *part = s->parts; part < s->parts + s->part_count; part++) {
            gates |= part->gate_of != 0;
            functions |= part->gate_of != 0;
            rotates |= part->rope != 0;
            factors |= part->rope && node_at(c, part->rope)->operand_count > 2;
            uint32_t steps = part->gate_of ? 1 : part->epilogue_count;
            epilogue_steps = steps > epilogue_steps ? steps : epilogue_steps;
            states |= part->store != 0;
            for (uint32_t i = 0; i < part->epilogue_count; i++) {
                bool unary = node_at(c, part->epilogue[i])->op == OP_UNARY;
                functions |= unary;
                operands |= !unary;
            }
        }
    }
    kernel_set_constant(&l->kernel, CONSTANT_NORMS, norms);
    kernel_set_constant(&l->kernel, CONSTANT_COMBINES_SPLITS, combines);
    kernel_set_constant(&l->kernel, CONSTANT_GATES, gates);
    kernel_set_constant(&l->kernel, CONSTANT_ROPE, rotates);
    kernel_set_constant(&l->kernel, CONSTANT_STATES, states);
    kernel_set_constant(&l->kernel, CONSTANT_OPERANDS, operands);
    kernel_set_constant(&l->kernel, CONSTANT_FUNCTIONS, functions);
    if (strcmp(l->kernel.name, "matmul_plain") == 0) {
        kernel_set_constant(&l->kernel, CONSTANT_PARTS, parts);
        kernel_set_constant(&l->kernel, CONSTANT_EPILOGUE_STEPS, epilogue_steps);
        kernel_set_constant(&l->kernel, CONSTANT_FACTORS, factors);
        kernel_set_constant(&l->kernel, CONSTANT_PLACED, rotates || states);
        kernel_set_constant(&l->kernel, CONSTANT_TABLE, c->form->threads > 0);
        kernel_set_constant(&l->kernel, CONSTANT_SEPARATE, c->form->threads == 0);
    }
}

const char *lower_weight_type(const lowering *c, tensor_type type, uint32_t length)
{
    static const char *const vec4s[][2] = {{"q4_0", "q4_0_vec4"}, {"q8_0", "q8_0_vec4"}};
    const char *name = type_find(type)->name;
    for (size_t i = 0; i < sizeof vec4s / sizeof *vec4s; i++)
        if (c->t->compile_fast && length % 32 == 0 && strcmp(vec4s[i][0], name) == 0)
            return vec4s[i][1];
    return name;
}

bool lower_many_rows(const lowering *c, uint32_t rows)
{
    return c->t->compile_fast && plan_has_many_rows(c->p, rows) && !c->form->threads && c->t->subgroup >= 4;
}

/* The form for few rows reads four weights at a time. */
static bool fits_few(const dispatch_desc *l, const char *type)
{
    static const char *const types[] = {"q4_0_vec4", "q8_0_vec4", "f32", "f16", "bf16"};
    bool fits = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        fits |= strcmp(types[i], type) == 0;
    return fits && l->args[MATMUL_LENGTH] % 8 == 0;
}

uint32_t lower_matmul_plain(const lowering *c, dispatch_desc *l, uint32_t rows, tensor_type type)
{
    enum { FEW_THREADS = 8, X_ROWS = 8 };
    bool many = lower_many_rows(c, rows);
    const char *reader = many ? type_find(type)->name : lower_weight_type(c, type, l->args[MATMUL_LENGTH]);
    if (l->args[MATMUL_X_FORM] == X_SPLITS || (!many && !fits_few(l, reader)))
        return 0;
    uint32_t threads = c->form->threads ? c->form->threads : many ? c->t->subgroup : FEW_THREADS, filled = 0;
    for (uint32_t p = 0; p < l->args[MATMUL_PART_COUNT]; p++)
        filled += (lower_part_args(l, p)[PART_ROW4S] + threads - 1) / threads;
    l->kernel.name = "matmul_plain";
    l->kernel.type = reader;
    kernel_set_constant(&l->kernel, CONSTANT_FEW, !many);
    kernel_set_constant(&l->kernel, CONSTANT_MANY, many);
    if (many) {
        l->kernel.subgroup = threads;
        kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
        kernel_set_constant(&l->kernel, CONSTANT_X_LOADS, X_ROWS * 4 / threads);
        kernel_set_constant(&l->kernel, CONSTANT_LOAD_ROWS, threads / 4);
    }
    l->args[MATMUL_ROW_GROUPS] = c->form->threads             ? c->form->groups
                                 : filled > c->t->most_groups ? c->t->most_groups
                                                              : filled;
    l->args[ARG_GROUPS] = (many ? (rows + X_ROWS - 1) / X_ROWS : rows) * l->args[MATMUL_ROW_GROUPS];
    return threads;
}
