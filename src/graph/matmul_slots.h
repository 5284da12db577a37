/* matmul_slots: the forms of products that read weights once for several texts. */
#ifndef SOLO_GRAPH_MATMUL_SLOTS_H
#define SOLO_GRAPH_MATMUL_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

/* Where the next segment of x is read while this one is used: it takes registers. */
typedef enum slots_ahead { SLOTS_AHEAD_NONE, SLOTS_AHEAD_FLOATS, SLOTS_AHEAD_ALL } slots_ahead;

typedef struct slots_form {
    const char *name;
    bool by_sectors;   /* BY_SECTORS of matmul_slots.wgsl */
    bool alone;        /* ALONE_AT_ONCE, where a team can be a subgroup */
    slots_ahead ahead; /* READS_AHEAD, where x has several segments */
    bool spreads;      /* as separate dispatches it has as many workgroups as in a megakernel: each shares x once */
    bool all_memory;   /* x gets all workgroup memory that other kernels leave (workgroup_fit.h) */
} slots_form;

/* The form that SOLO_SLOTS_FORM names, or the default. */
const slots_form *slots_form_chosen(void);
/* The name of form i; NULL: there are no more. */
const char *slots_form_name(uint32_t i);

#endif
