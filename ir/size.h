/* Sizes: interned polynomials with integer coefficients over atoms.
   An atom is an integer scalar Value, or the floor quotient, the lesser or the greater of two sizes.  Equal sizes are
   one pointer, after these normal forms: terms sorted, coefficients not zero; floor(p / m) with m a positive constant
   has the coefficients of p reduced into [0, m), the quotients moved out of it, so that d + d(d-1)/2 is d(d+1)/2; a
   value that is itself computed by add, sub, mul, const, size, from sizes is expanded into its polynomial
   (size_of_value). Coefficients that leave int64 saturate to a size that equals nothing but itself and fails at run
   time as an overflow. */
#ifndef GRADC_IR_SIZE_H
#define GRADC_IR_SIZE_H
#include "ir/ir.h"

typedef enum AtomKind { ATOM_QUOTIENT, ATOM_MIN, ATOM_MAX } AtomKind;
typedef struct Atom {
  Value *value; /* or NULL, and then */
  AtomKind kind;
  const Size *num, *den; /* floor(num / den), min(num, den) or max(num, den) */
  unsigned uid;          /* order of creation */
} Atom;
typedef struct Power {
  const Atom *atom;
  int exponent; /* 1 or more */
} Power;
typedef struct Term {
  int64_t coefficient;
  int npowers;
  const Power *powers; /* sorted by atom uid; none for the constant term */
} Term;
struct Size {
  int nterms; /* none: the constant 0 */
  const Term *terms;
  uint64_t hash;
  unsigned uid;
  bool overflow;
};

const Size *size_const(Module *m, int64_t c);
const Size *size_atom(Module *m, Value *v); /* v as an atom, not looked into */
const Size *size_of_value(Module *m, Value *v);
const Size *size_add(Module *m, const Size *a, const Size *b);
const Size *size_sub(Module *m, const Size *a, const Size *b);
const Size *size_mul(Module *m, const Size *a, const Size *b);
const Size *size_scale(Module *m, const Size *a, int64_t k);
const Size *size_floordiv(Module *m, const Size *a, const Size *b); /* b the constant 0: the overflow size */
/* One of the two where it is seen which. */
const Size *size_min(Module *m, const Size *a, const Size *b);
const Size *size_max(Module *m, const Size *a, const Size *b);
/* An atom that is made of two sizes, of two others. */
const Size *size_atom_of(Module *m, const Atom *like, const Size *num, const Size *den);
bool size_is_const(const Size *s, int64_t *value); /* value may be NULL */
static inline bool size_is(const Size *s, int64_t c) {
  int64_t v;
  return size_is_const(s, &v) && v == c;
}
/* The number of elements of a type. */
const Size *type_count(Module *m, Type t);
/* Replaces values by sizes: map returns the size for a value, or NULL to leave it. */
typedef const Size *SizeMap(Value *v, void *arg);
const Size *size_map(Module *m, const Size *s, SizeMap *map, void *arg);
Type type_map(Module *m, Type t, SizeMap *map, void *arg);
typedef void SizeVisit(Value *v, void *arg);
void size_values(const Size *s, SizeVisit *visit, void *arg); /* each value in it, floor quotients looked into */
bool size_uses(const Size *s, const Value *v);
bool size_is_outside(const Size *s, const Region *r); /* of no value that the region, or one inside of it, makes */
/* Splits s into  coefficient * v + rest  where v occurs linearly and in no quotient; false where it does not. */
bool size_linear_in(Module *m, const Size *s, Value *v, const Size **coefficient, const Size **rest);
/* True if s >= 0 can be shown, taking as known: size parameters >= 0, loop indices within [0, extent), their extents.
   False when it cannot be shown. */
bool size_nonnegative(Module *m, const Size *s);
/* Text as in the source where names are known: "n * (n + 1) / 2"; for messages. */
const char *size_text(Module *m, const Size *s);
const char *type_text(Module *m, Type t);
#endif
