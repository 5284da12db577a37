/* synth_internal: what makes up a random model (synth*.c). */
#ifndef SOLO_SYNTH_INTERNAL_H
#define SOLO_SYNTH_INTERNAL_H

#include "model/gguf_write.h"

#include <stdbool.h>
#include <stdint.h>

/* So many tokens, of which the last two begin and end a text. `pre` is GGUF's name of how it cuts text into words. */
void synth_write_tokenizer(gguf_writer *w, uint32_t vocab, const char *pre, bool add_bos);

#endif
