/* Interning and arithmetic of sizes; see size.h.
   A size is built in scratch room and copied to the arena only where it is new, so that proofs and printing,
   which make the same sizes again and again, take no memory.  Growth is bounded: a product of too many terms, of too
   high a power or with quotients too deep is the overflow size, and so every walk over a size is short. */
#include "ir/size.h"
#include "ir/size_table.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_TERMS = 256, MAX_DEGREE = 64, MAX_WEIGHT = 2048, MAX_DEPTH = 64 };

typedef struct AtomNode { /* an Atom with what only the table needs */
  Atom atom;
  int weight; /* of the tree of quotients below it */
  int depth;  /* of that tree: text of a size has about two parentheses a level */
} AtomNode;

struct SizeTable {
  Arena *arena;
  const Size **sizes; /* open addressing; a power of two */
  size_t nsizes, cap_sizes;
  AtomNode **atoms;
  size_t natoms, cap_atoms;
  const Size *overflow;
  Term terms[MAX_TERMS]; /* scratch */
};

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

struct SizeTable *size_table_new(Arena *a) {
  struct SizeTable *t = NEW(a, struct SizeTable);
  t->arena = a;
  t->cap_sizes = t->cap_atoms = 64;
  t->sizes = NEW_ARRAY(a, const Size *, t->cap_sizes);
  t->atoms = NEW_ARRAY(a, AtomNode *, t->cap_atoms);
  Size *o = NEW(a, Size);
  *o = (Size){.overflow = true, .hash = 1};
  t->overflow = o;
  return t;
}

/* ---- atoms */
static const AtomNode *node_of(const Atom *a) {
  return (const AtomNode *)a;
} /* the atom is its first member */

int size_weight(const Size *s) {
  int w = 1;
  for (int i = 0; i < s->nterms; i++)
    for (int j = 0; j < s->terms[i].npowers; j++)
      w += node_of(s->terms[i].powers[j].atom)->weight;
  return w;
}

static int quotient_depth(const Size *s) {
  int depth = 0;
  for (int i = 0; i < s->nterms; i++)
    for (int j = 0; j < s->terms[i].npowers; j++) {
      const int d = node_of(s->terms[i].powers[j].atom)->depth;
      depth = d > depth ? d : depth;
    }
  return depth;
}

static uint64_t atom_hash(const Atom *a) {
  return a->value ? mix(3, a->value->uid) : mix(mix(5 + 2 * (uint64_t)a->kind, a->num->hash), a->den->hash);
}

static void grow_atoms(struct SizeTable *t) {
  AtomNode **old = t->atoms;
  const size_t n = t->cap_atoms;
  t->cap_atoms *= 2;
  t->atoms = NEW_ARRAY(t->arena, AtomNode *, t->cap_atoms);
  for (size_t i = 0; i < n; i++)
    if (old[i]) {
      size_t at = atom_hash(&old[i]->atom) & (t->cap_atoms - 1);
      while (t->atoms[at])
        at = (at + 1) & (t->cap_atoms - 1);
      t->atoms[at] = old[i];
    }
}

static const Atom *intern_atom(struct SizeTable *t, Atom a, int weight, int depth) {
  if (t->natoms * 2 >= t->cap_atoms)
    grow_atoms(t);
  size_t at = atom_hash(&a) & (t->cap_atoms - 1);
  for (; t->atoms[at]; at = (at + 1) & (t->cap_atoms - 1)) {
    const Atom *b = &t->atoms[at]->atom;
    if (b->value == a.value && b->kind == a.kind && b->num == a.num && b->den == a.den)
      return b;
  }
  AtomNode *n = NEW(t->arena, AtomNode);
  n->atom = a;
  n->atom.uid = (unsigned)t->natoms++;
  n->weight = weight;
  n->depth = depth;
  t->atoms[at] = n;
  return &n->atom;
}

/* ---- sizes */
/* Any total order of monomials; the constant comes last. */
static int compare_powers(const Term *a, const Term *b) {
  for (int i = 0; i < a->npowers && i < b->npowers; i++) {
    const Power *p = &a->powers[i], *q = &b->powers[i];
    if (p->atom != q->atom)
      return p->atom->uid < q->atom->uid ? -1 : 1;
    if (p->exponent != q->exponent)
      return p->exponent > q->exponent ? -1 : 1;
  }
  return a->npowers == b->npowers ? 0 : a->npowers > b->npowers ? -1 : 1;
}

static int compare_terms(const void *a, const void *b) {
  return compare_powers(a, b);
}

static bool same_terms(const Size *s, int n, const Term *terms) {
  if (s->nterms != n || s->overflow)
    return false;
  for (int i = 0; i < n; i++)
    if (s->terms[i].coefficient != terms[i].coefficient || compare_powers(&s->terms[i], &terms[i]))
      return false;
  return true;
}

static uint64_t terms_hash(int n, const Term *terms) {
  uint64_t h = mix(7, (uint64_t)n);
  for (int i = 0; i < n; i++) {
    h = mix(h, (uint64_t)terms[i].coefficient);
    for (int j = 0; j < terms[i].npowers; j++)
      h = mix(mix(h, terms[i].powers[j].atom->uid), (uint64_t)terms[i].powers[j].exponent);
  }
  return h;
}

static void grow_sizes(struct SizeTable *t) {
  const Size **old = t->sizes;
  const size_t n = t->cap_sizes;
  t->cap_sizes *= 2;
  t->sizes = NEW_ARRAY(t->arena, const Size *, t->cap_sizes);
  for (size_t i = 0; i < n; i++)
    if (old[i]) {
      size_t at = old[i]->hash & (t->cap_sizes - 1);
      while (t->sizes[at])
        at = (at + 1) & (t->cap_sizes - 1);
      t->sizes[at] = old[i];
    }
}

static const Size *copy_size(struct SizeTable *t, int n, const Term *terms, uint64_t hash) {
  Term *own = NEW_ARRAY(t->arena, Term, n);
  for (int i = 0; i < n; i++) {
    own[i] = terms[i];
    Power *powers = NEW_ARRAY(t->arena, Power, terms[i].npowers);
    if (terms[i].npowers)
      memcpy(powers, terms[i].powers, sizeof *powers * (size_t)terms[i].npowers);
    own[i].powers = powers;
  }
  Size *s = NEW(t->arena, Size);
  *s = (Size){.nterms = n, .terms = own, .hash = hash, .uid = (unsigned)t->nsizes + 1};
  return s;
}

/* The one copy of the sum of n sorted terms, all different and with coefficients not zero. */
static const Size *intern(struct SizeTable *t, int n, const Term *terms) {
  if (n > MAX_TERMS)
    return t->overflow;
  if (t->nsizes * 2 >= t->cap_sizes)
    grow_sizes(t);
  const uint64_t h = terms_hash(n, terms);
  size_t at = h & (t->cap_sizes - 1);
  for (; t->sizes[at]; at = (at + 1) & (t->cap_sizes - 1))
    if (t->sizes[at]->hash == h && same_terms(t->sizes[at], n, terms))
      return t->sizes[at];
  const Size *s = copy_size(t, n, terms, h);
  if (size_weight(s) > MAX_WEIGHT)
    return t->overflow;
  t->sizes[at] = s;
  t->nsizes++;
  return s;
}

/* Coefficients stay within [-INT64_MAX, INT64_MAX], so that each can be negated. */
static bool add_checked(int64_t a, int64_t b, int64_t *sum) {
  return !__builtin_add_overflow(a, b, sum) && *sum != INT64_MIN;
}
static bool mul_checked(int64_t a, int64_t b, int64_t *product) {
  return !__builtin_mul_overflow(a, b, product) && *product != INT64_MIN;
}

/* Sorts the terms in place and merges equal monomials. */
static const Size *sum_of(struct SizeTable *t, int n, Term *terms) {
  if (n > 1)
    qsort(terms, (size_t)n, sizeof *terms, compare_terms);
  int kept = 0;
  for (int i = 0; i < n;) {
    Term sum = terms[i++];
    for (; i < n && !compare_powers(&sum, &terms[i]); i++)
      if (!add_checked(sum.coefficient, terms[i].coefficient, &sum.coefficient))
        return t->overflow;
    if (sum.coefficient == INT64_MIN)
      return t->overflow;
    if (sum.coefficient)
      terms[kept++] = sum;
  }
  return intern(t, kept, terms);
}

const Size *size_from_terms(Module *m, int n, const Term *terms) {
  struct SizeTable *t = m->sizes;
  if (n <= MAX_TERMS) {
    if (n)
      memcpy(t->terms, terms, sizeof *terms * (size_t)n);
    return sum_of(t, n, t->terms);
  }
  Term *copy = malloc(sizeof *copy * (size_t)n);
  if (!copy)
    internal_error("no memory for a size of %d terms", n);
  memcpy(copy, terms, sizeof *terms * (size_t)n);
  const Size *s = sum_of(t, n, copy);
  free(copy);
  return s;
}

const Size *size_const(Module *m, int64_t c) {
  if (c == INT64_MIN)
    return m->sizes->overflow;
  const Term term = {.coefficient = c};
  return intern(m->sizes, c != 0, &term);
}

static const Size *size_of_atom(Module *m, const Atom *a) {
  const Power power = {.atom = a, .exponent = 1};
  const Term term = {.coefficient = 1, .npowers = 1, .powers = &power};
  return intern(m->sizes, 1, &term);
}

const Size *size_atom(Module *m, Value *v) {
  if (v->type.rank || !kind_is_int(v->type.kind))
    internal_error("a size over a value that is not an integer scalar");
  return size_of_atom(m, intern_atom(m->sizes, (Atom){.value = v}, 1, 0));
}

bool size_is_const(const Size *s, int64_t *value) {
  if (s->overflow || s->nterms > 1 || (s->nterms == 1 && s->terms[0].npowers))
    return false;
  if (value)
    *value = s->nterms ? s->terms[0].coefficient : 0;
  return true;
}

const Size *size_add(Module *m, const Size *a, const Size *b) {
  struct SizeTable *t = m->sizes;
  if (a->overflow || b->overflow)
    return t->overflow;
  Term terms[2 * MAX_TERMS];
  if (a->nterms)
    memcpy(terms, a->terms, sizeof *terms * (size_t)a->nterms);
  if (b->nterms)
    memcpy(terms + a->nterms, b->terms, sizeof *terms * (size_t)b->nterms);
  return sum_of(t, a->nterms + b->nterms, terms);
}

const Size *size_scale(Module *m, const Size *a, int64_t k) {
  struct SizeTable *t = m->sizes;
  if (a->overflow || k == INT64_MIN)
    return t->overflow;
  if (k == 0)
    return size_const(m, 0);
  for (int i = 0; i < a->nterms; i++) {
    t->terms[i] = a->terms[i];
    if (!mul_checked(a->terms[i].coefficient, k, &t->terms[i].coefficient))
      return t->overflow;
  }
  return intern(t, a->nterms, t->terms);
}

const Size *size_sub(Module *m, const Size *a, const Size *b) {
  return size_add(m, a, size_scale(m, b, -1));
}

/* The product's powers into `to`, which has room for those of both; their number, or -1 where the degree is too high.
 */
static int multiply_powers(const Term *a, const Term *b, Power *to) {
  int n = 0, i = 0, j = 0, degree = 0;
  while (i < a->npowers || j < b->npowers) {
    const Power *p = i < a->npowers ? &a->powers[i] : NULL, *q = j < b->npowers ? &b->powers[j] : NULL;
    if (p && q && p->atom == q->atom) {
      to[n] = (Power){.atom = p->atom, .exponent = p->exponent + q->exponent};
      i++, j++;
    } else if (!q || (p && p->atom->uid < q->atom->uid)) {
      to[n] = *p, i++;
    } else {
      to[n] = *q, j++;
    }
    degree += to[n++].exponent;
  }
  return degree > MAX_DEGREE ? -1 : n;
}

/* All products of terms, unsorted; false where one leaves the bounds. */
static bool multiply_terms(const Size *a, const Size *b, Term *terms, Power *powers) {
  for (int i = 0; i < a->nterms; i++)
    for (int j = 0; j < b->nterms; j++, terms++) {
      const int n = multiply_powers(&a->terms[i], &b->terms[j], powers);
      if (n < 0 || !mul_checked(a->terms[i].coefficient, b->terms[j].coefficient, &terms->coefficient))
        return false;
      terms->npowers = n;
      terms->powers = powers;
      powers += n;
    }
  return true;
}

static size_t count_powers(const Size *s) {
  size_t n = 0;
  for (int i = 0; i < s->nterms; i++)
    n += (size_t)s->terms[i].npowers;
  return n;
}

const Size *size_mul(Module *m, const Size *a, const Size *b) {
  struct SizeTable *t = m->sizes;
  int64_t k;
  if (a->overflow || b->overflow)
    return t->overflow;
  if (size_is_const(a, &k))
    return size_scale(m, b, k);
  if (size_is_const(b, &k))
    return size_scale(m, a, k);
  const size_t n = (size_t)a->nterms * (size_t)b->nterms;
  const size_t npowers = count_powers(a) * (size_t)b->nterms + count_powers(b) * (size_t)a->nterms;
  Term few_terms[64], *terms = few_terms;
  Power few_powers[128], *powers = few_powers;
  const bool many = n > 64 || npowers > 128;
  if (many) {
    terms = malloc(sizeof *terms * n);
    powers = malloc(sizeof *powers * npowers);
    if (!terms || !powers)
      internal_error("no memory for a product of sizes");
  }
  const Size *s = multiply_terms(a, b, terms, powers) ? sum_of(t, (int)n, terms) : t->overflow;
  if (many) {
    free(terms);
    free(powers);
  }
  return s;
}

const Size *type_count(Module *m, Type t) {
  const Size *n = size_const(m, 1);
  for (int i = 0; i < t.rank; i++)
    n = size_mul(m, n, t.dims[i]);
  return n;
}

/* ---- floor quotients */
static int64_t floor_div(int64_t a, int64_t m) {
  return a / m - (a % m < 0);
}

static int64_t floor_rest(int64_t a, int64_t m) {
  return a % m + (a % m < 0 ? m : 0);
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    const int64_t r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

static const Size *atom_of_two(Module *m, AtomKind kind, const Size *num, const Size *den) {
  const int weight = 1 + size_weight(num) + size_weight(den);
  const int of_num = quotient_depth(num), of_den = quotient_depth(den), depth = 1 + (of_num > of_den ? of_num : of_den);
  if (weight > MAX_WEIGHT || depth > MAX_DEPTH)
    return m->sizes->overflow;
  return size_of_atom(m, intern_atom(m->sizes, (Atom){.kind = kind, .num = num, .den = den}, weight, depth));
}

/* floor(p / k) with p's coefficients in [0, k): divided through by their common factor with k, and with
   floor((floor(x / j) + c) / k) written as floor((x + c j) / (k j)). */
static const Size *reduced_quotient(Module *m, const Size *p, int64_t k) {
  int64_t g = k, c = 0;
  for (int i = 0; i < p->nterms; i++)
    if (p->terms[i].npowers)
      g = gcd(p->terms[i].coefficient, g);
    else
      c = p->terms[i].coefficient;
  if (p->nterms == (c != 0)) /* the constant alone, below k */
    return size_const(m, 0);
  if (g > 1) {
    Term terms[MAX_TERMS];
    for (int i = 0; i < p->nterms; i++) {
      terms[i] = p->terms[i];
      terms[i].coefficient = terms[i].coefficient / g;
    }
    return size_floordiv(m, size_from_terms(m, p->nterms, terms), size_const(m, k / g));
  }
  const Term *t = &p->terms[0];
  int64_t j, offset, product;
  if (p->nterms == 1 + (c != 0) && t->coefficient == 1 && t->npowers == 1 && t->powers[0].exponent == 1 &&
      !t->powers[0].atom->value && t->powers[0].atom->kind == ATOM_QUOTIENT &&
      size_is_const(t->powers[0].atom->den, &j) && mul_checked(k, j, &product) && mul_checked(c, j, &offset))
    return size_floordiv(m, size_add(m, t->powers[0].atom->num, size_const(m, offset)), size_const(m, product));
  return atom_of_two(m, ATOM_QUOTIENT, p, size_const(m, k));
}

const Size *size_floordiv(Module *m, const Size *a, const Size *b) {
  struct SizeTable *t = m->sizes;
  int64_t k;
  if (a->overflow || b->overflow || size_is(b, 0))
    return t->overflow;
  if (!size_is_const(b, &k))
    return atom_of_two(m, ATOM_QUOTIENT, a, b);
  if (k < 0)
    return size_floordiv(m, size_scale(m, a, -1), size_const(m, -k));
  if (k == 1)
    return a;
  Term whole[MAX_TERMS], part[MAX_TERMS];
  int nwhole = 0, npart = 0;
  for (int i = 0; i < a->nterms; i++) {
    const Term *term = &a->terms[i];
    const int64_t q = floor_div(term->coefficient, k), r = floor_rest(term->coefficient, k);
    if (q)
      whole[nwhole] = *term, whole[nwhole++].coefficient = q;
    if (r)
      part[npart] = *term, part[npart++].coefficient = r;
  }
  const Size *outside = size_from_terms(m, nwhole, whole);
  if (!npart)
    return outside;
  return size_add(m, outside, reduced_quotient(m, size_from_terms(m, npart, part), k));
}

/* ---- the lesser and the greater */
/* What is seen without looking at where values come from, so that a size that is mapped to other values and back is the
   same. */
static const Size *lesser_or_greater(Module *m, AtomKind kind, const Size *a, const Size *b) {
  int64_t d;
  if (a->overflow || b->overflow)
    return m->sizes->overflow;
  if (size_is_const(size_sub(m, a, b), &d))
    return (d < 0) == (kind == ATOM_MIN) ? a : b;
  return atom_of_two(m, kind, a, b);
}

const Size *size_min(Module *m, const Size *a, const Size *b) {
  if (size_nonnegative(m, size_sub(m, a, b)))
    return b;
  return size_nonnegative(m, size_sub(m, b, a)) ? a : lesser_or_greater(m, ATOM_MIN, a, b);
}

const Size *size_max(Module *m, const Size *a, const Size *b) {
  if (size_nonnegative(m, size_sub(m, a, b)))
    return a;
  return size_nonnegative(m, size_sub(m, b, a)) ? b : lesser_or_greater(m, ATOM_MAX, a, b);
}

const Size *size_atom_of(Module *m, const Atom *like, const Size *num, const Size *den) {
  return like->kind == ATOM_QUOTIENT ? size_floordiv(m, num, den) : lesser_or_greater(m, like->kind, num, den);
}
