/* check: are a model's weights numbers? Not in the browser. */
#ifndef SOLO_CHECK_H
#define SOLO_CHECK_H

#include "model/model.h"

/* Looks at every weight that the model's decoder reads; an error names the first that is NaN or infinite, and its row. */
bool model_check_weights(const model *m, err *e);

/* The first of the numbers that is not finite, or `count`. */
size_t check_finite(const float *x, size_t count);

#endif
