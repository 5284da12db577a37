/* options: what the files of the public API that make tokens do with its options. */
#ifndef SOLO_API_OPTIONS_H
#define SOLO_API_OPTIONS_H

#include "api/internal.h"
#include "llm/generation.h"

sampling api_sampling(const solo_sampling *how);
/* False where a setting is no number, or one that makes no sense. */
bool api_sampling_is_possible(const solo_sampling *how, err *e);
bool api_options_are_known(const solo_session_options *o, err *e);
/* Those about launching, the context and the cache. */
generation_options api_generation_options(const solo_session_options *o);

#endif
