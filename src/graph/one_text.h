/* one_text: several kernels as the phases of one dispatch.
 *
 * The bodies are those of kernels/graph, unchanged: they say `arg(args, i)`, and here
 * `args` is where a phase's arguments begin in a table of all phases. What two kernels
 * declare alike is declared once; what they declare differently (how a weight type is
 * read, say), and whatever uses that, gets a name of its own for each.              */
#ifndef SOLO_GRAPH_ONE_TEXT_H
#define SOLO_GRAPH_ONE_TEXT_H

#include "graph/kernel_text.h"

/* The variants must agree on all that workgroup memory's size depends on. Phase p has its
 * arguments at word p * phase_words of the table, the number of its variant in word kind_word. */
gpu_source *one_text(const kernel_variant *variants, uint32_t count, uint32_t phase_words, uint32_t kind_word);

#endif
