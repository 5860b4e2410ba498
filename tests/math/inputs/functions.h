/* The functions under test, with MPFR's: ONE(name, mpfr) of one operand, TWO of two. */
#define MATH_FUNCTIONS(ONE, TWO) \
  ONE(exp, mpfr_exp) \
  ONE(exp2, mpfr_exp2) \
  ONE(expm1, mpfr_expm1) \
  ONE(sigmoid, sigmoid_mpfr) \
  ONE(softplus, softplus_mpfr) \
  ONE(tanh, mpfr_tanh) \
  ONE(sinh, mpfr_sinh) \
  ONE(cosh, mpfr_cosh) \
  ONE(log, mpfr_log) \
  ONE(log2, mpfr_log2) \
  ONE(log10, mpfr_log10) \
  ONE(log1p, mpfr_log1p) \
  ONE(sin, mpfr_sin) \
  ONE(cos, mpfr_cos) \
  ONE(tan, mpfr_tan)
