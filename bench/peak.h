/* What the machine can do at most, on one core; a second. */
#ifndef GRADC_BENCH_PEAK_H
#define GRADC_BENCH_PEAK_H

typedef struct Peak {
  double flops64, flops32, bytes;
} Peak;

Peak peak_measure(void);

#endif
