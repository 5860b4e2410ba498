/* Gradients written by hand in straightforward C, for rows whose files are long without them. */
#ifndef GRADC_BENCH_BY_HAND_H
#define GRADC_BENCH_BY_HAND_H
#include "row.h"

Derivative lse_by_hand, ode_by_hand, bodies_by_hand, heat_by_hand, process_by_hand;

#endif
