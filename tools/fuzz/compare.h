/* When two numbers agree. */
#ifndef GRADC_TOOLS_FUZZ_COMPARE_H
#define GRADC_TOOLS_FUZZ_COMPARE_H
#include "tools/fuzz/run.h"

/* ---- rounding otherwise than to nearest, in the evaluator */
enum { ROUNDINGS = 3 };
void round_otherwise(int which);
void round_nearest(void);

/* How far results move when rounding does. */
typedef struct Noise {
  Arrays base;
  double **spread; /* per result, per element; infinite where the program went another way */
} Noise;
void noise_begin(Arena *arena, Noise *n, Arrays base);
void noise_add(Noise *n, const Arrays *other); /* NULL: a status */
/* What is compared moves as well. */
void noise_join(Noise *n, const Noise *other);
/* AGREE, UNDECIDED or WRONG_VALUE for x in the place of that element. */
Verdict noise_judge(const Noise *n, int result, int64_t element, double x, bool narrow);

/* Equal, but for the rounding of a few operations. */
bool near(const Array *expected, const Array *actual, int64_t i, bool narrow);

typedef struct Product {
  double value, magnitude; /* of a sum of products, and of their absolute values */
} Product;
void product_add(Product *p, const Array *a, const Array *b);
/* The noise of <the last results, v>. */
double noise_product(const Noise *n, Arrays v);

/* ---- differences */
typedef struct Slope {
  Verdict verdict; /* AGREE, UNDECIDED or WRONG_SLOPE */
  double value;
} Slope;
/* change(arg, h): how much a function changes over a step h.  `size`: of what its values are sums. */
Slope slope_find(double (*change)(void *arg, double h), void *arg, double expected, double magnitude, double size);
#endif
