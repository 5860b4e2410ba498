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
  ONE(tan, mpfr_tan) \
  ONE(atan, mpfr_atan) \
  ONE(asin, mpfr_asin) \
  ONE(acos, mpfr_acos) \
  TWO(atan2, mpfr_atan2) \
  ONE(erf, mpfr_erf) \
  ONE(erfc, mpfr_erfc) \
  TWO(pow, mpfr_pow) \
  ONE(cbrt, mpfr_cbrt) \
  TWO(hypot, mpfr_hypot) \
  ONE(asinh, mpfr_asinh) \
  ONE(acosh, mpfr_acosh) \
  ONE(atanh, mpfr_atanh)

/* x^n for whole n: POWER(name, n). */
#define MATH_POWERS(POWER) \
  POWER(powi_6, 6) \
  POWER(powi_7, 7) \
  POWER(powi_100, 100) \
  POWER(powi_65537, 65537) \
  POWER(powi_m2, -2) \
  POWER(powi_m3, -3) \
  POWER(powi_m1000, -1000)

/* Those that glibc's libmvec has too. */
#define IN_LIBMVEC(ONE, TWO) \
  ONE(exp) \
  ONE(exp2) \
  ONE(expm1) \
  ONE(tanh) \
  ONE(sinh) ONE(cosh) ONE(log) ONE(log2) ONE(log10) ONE(log1p) ONE(sin) ONE(cos) ONE(tan) ONE(atan) ONE(asin) \
      ONE(acos) TWO(atan2) ONE(erf) ONE(erfc) TWO(pow) ONE(cbrt) TWO(hypot) ONE(asinh) ONE(acosh) ONE(atanh)
