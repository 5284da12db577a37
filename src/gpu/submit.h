/* submit: how the dispatches of one piece of work go to the queue.
 *
 *   auto   the best there is: batch
 *   sync   a recording, a submit and a wait for each dispatch
 *   each   a recording and a submit for each dispatch, one wait at the end
 *   pass   one recording and submit, a pass for each dispatch
 *   batch  one recording, one submit, one pass
 *   one    a single dispatch that does the work of all                        */
#ifndef SOLO_GPU_SUBMIT_H
#define SOLO_GPU_SUBMIT_H

typedef enum {
    SUBMIT_AUTO,
    SUBMIT_SYNC,
    SUBMIT_EACH,
    SUBMIT_PASS,
    SUBMIT_BATCH,
    SUBMIT_ONE,
    SUBMIT_COUNT
} submit_policy;
extern const char *const submit_names[SUBMIT_COUNT];

#endif
