/* one: the dispatches of a plan as phases of a single one.
 *
 * As many workgroups run it as were found resident at the same time for this very
 * kernel, with a barrier over all of them between phases; or one workgroup, which
 * every device runs. A workgroup that waits too long at a barrier makes all leave:
 * then one_gave_up says so after the dispatch, and what it should have written is
 * not there.                                                                    */
#ifndef SOLO_GRAPH_ONE_H
#define SOLO_GRAPH_ONE_H

#include "graph/tell.h"

enum { ONE_MAX_STOPS = 16 };

typedef struct one one;

/* The phases of a plan for so many workgroups: told again when that number is known. */
typedef struct one_phases {
    const told *items;
    uint32_t count;
} one_phases;
typedef bool (*one_teller)(void *user, const tell_tuning *t, one_phases *out, err *e);

/* `tuning` says how many threads a workgroup has (row_threads), and at most how many there are (one_groups; 0: as many as
 * are resident). */
one *one_new(gpu *g, const memory *m, uint32_t which_plan, const tell_tuning *tuning, one_teller tell, void *user,
             err *e);
/* The hash of the text that its kernel would be made of at first; 0: there would be none. If `begin`, a page begins to make it, in the
 * background: one_new finds it there. */
uint64_t one_look_ahead(gpu *g, const memory *m, uint32_t which_plan, const tell_tuning *tuning, one_teller tell,
                        void *user, bool begin);
/* Something else has used the memory since it was last dispatched: marks in it mean nothing. */
void one_forget(one *o);
void one_free(one *o);

gpu_kernel *one_kernel(const one *o);
gpu_bindings *one_bindings(const one *o);
uint32_t one_groups(const one *o);
uint32_t one_threads(const one *o);
uint32_t one_phase_count(const one *o);
uint64_t one_text_hash(const one *o); /* of the kernel */

/* Submits it once. */
void one_dispatch(one *o);

/* How often a dispatch goes through its phases, 1 at first. */
void one_set_rounds(one *o, uint32_t rounds);
/* No further round begins when the word at `place` is one of these. */
void one_set_stops(one *o, uint32_t place, const uint32_t *stops, uint32_t count);
/* For tests: workgroup 0 stops before the n-th barrier of a dispatch; 0: it does not. */
void one_set_stall(one *o, uint32_t barrier);
/* For experiments: phases of this kernel do nothing. Nobody writes their marks then, so all wait at barriers; ONE_NO_KIND: they do
 * that, and all phases work; ONE_AS_IT_IS: marks count again. */
enum { ONE_NO_KIND = -1, ONE_AS_IT_IS = -2 };
void one_leave_out(one *o, int kind);
int one_kind_count(const one *o);
int one_kind_of(const one *o, uint32_t phase);
/* After dispatches that are done: whether one gave up. It can be used again afterwards. */
bool one_gave_up(one *o, bool *gave_up, err *e);

#endif
