/* base/workers.h in a page, which has one thread: a job runs when it is given. */
#include "base/workers.h"

uint32_t workers_wanted(void)
{
    return 0;
}

workers *workers_new(uint32_t wanted)
{
    (void)wanted;
    return 0;
}

uint32_t workers_count(const workers *w)
{
    (void)w;
    return 0;
}

void workers_free(workers *w)
{
    (void)w;
}

void workers_give(workers *w, workers_job *job)
{
    (void)w;
    job->run(job);
}

bool workers_is_done(workers *w, const workers_job *job)
{
    (void)w, (void)job;
    return true;
}

void workers_wait(workers *w, const workers_job *job)
{
    (void)w, (void)job;
}
