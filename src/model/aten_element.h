/* aten_element: where single elements of a graph's nodes come from, so that what a program writes out can be recognised
 * by what it computes, however it arranges and copies its tensors. */
#ifndef SOLO_ATEN_ELEMENT_H
#define SOLO_ATEN_ELEMENT_H

#include "model/aten_internal.h"

/* factor * element `at` of node n; n is 0 if it is not known. */
typedef struct element {
    node n;
    uint32_t at;
    double factor;
} element;

/* Behind copies, shapes, placing beside one another, negation and constant factors. */
element element_behind(const aten *a, element e);
/* The same from element `at` of a node on. */
element element_of(const aten *a, node n, uint32_t at);
/* What a function of two or three reads for an element, each behind copies; false if the element is not of this kind. */
bool element_operands(const aten *a, element e, map_kind kind, element out[GRAPH_MAP_OPERANDS]);
/* What a function of one number (UNARY_COS) or MAP_NOT reads. */
bool element_function(const aten *a, element e, unary_kind function, element *out);
bool element_not(const aten *a, element e, element *out);
/* What step `k` of a sum of products multiplies; false if the element is not one, or has other than `steps` steps. */
bool element_product(const aten *a, element e, uint32_t steps, uint32_t k, element *x, element *y);
/* Is it a constant? */
bool element_constant(const aten *a, element e, double *value);
/* An integer as one that is known at run time and a constant: `root` is an input or state of one element. */
typedef struct element_sum {
    node root;
    int64_t added;
} element_sum;
bool element_is_sum(const aten *a, element e, element_sum *out);

#endif
