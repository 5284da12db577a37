/* The measurement of a small decoder (lab/decoder.h), for a page's Measure: an export of the module that has the
 * simulations (web/sim.js), which is fetched when it is asked for. It opens a device of its own. */
#include "lab/decoder.h"
#include "web/reply.h"

EXPORT(decoder_bench) int decoder_bench(int adapter, uint32_t repetitions, uint32_t seed)
{
    err e = {0};
    decoder_lab lab = {0};
    bool ok = decoder_measure(&lab,
                              &(decoder_lab_options){.choice = {.impl = "web", .adapter = (gpu_adapter_want)adapter},
                                                     .repetitions = repetitions,
                                                     .seed = seed},
                              &e);
    str *reply = reply_text();
    if (ok)
        decoder_record(&lab, reply);
    else
        str_add(reply, e.text);
    decoder_free(&lab);
    return ok ? 0 : e.kind;
}
