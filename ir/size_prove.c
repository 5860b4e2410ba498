/* size_nonnegative: a bounded proof that a size is never below zero.
   Known, at a place where all values of the size are in scope: size parameters and trip counts are >= 0; a loop index
   is in [0, extent); every loop around a value is being run, so each of its extents is >= 1; floor quotients lie within
   their bounds.  Steps, each of which replaces "s >= 0" by something that implies it:
     1. the lesser or greater of two is replaced by both, or by one where that says less; a quotient by a constant is
   multiplied out; what rounding may lose is made up by s being an integer;
     2. the innermost index is replaced by an end of its range: the one that its coefficients' signs say, or both where
   s is linear or concave in it, and so is least at an end;
     3. atoms with a known least value are shifted to it; then coefficients >= 0 of atoms >= 0 are a proof;
     4. an atom is split into "its least value" and "more".
   Every step is sound by itself and takes time about linear in s; the budget bounds their number. */
#include "ir/size.h"
#include "ir/size_table.h"
#include <string.h>

enum { BUDGET = 160, MAX_FACTS = 16, MAX_POWER = 4 };

typedef struct Proof {
  Module *module;
  int budget;
  const Size *facts[MAX_FACTS]; /* each known to be >= 0 */
  int nfacts;
} Proof;

static bool prove(Proof *p, const Size *s);
static bool prove_shifted(Proof *p, const Size *s);

/* ---- what is known of values */
static const Size *index_extent(const Value *v) {
  const Op *loop = v->def ? NULL : v->region->owner;
  return loop && loop->code == OP_LOOP && v->index < loop->at.loop->nindices ? loop->at.loop->extents[v->index] : NULL;
}

static bool value_nonnegative(const Value *v) {
  if (v->def)
    return v->def->code == OP_WHILE && v->index == v->def->nresults - 1;
  return index_extent(v) || (!v->region->owner && v->index < v->region->func->nsizes);
}

static int nesting(const Value *v) {
  int n = 0;
  for (const Region *r = v->region; r->owner; r = r->owner->parent)
    n++;
  return n;
}

static bool atom_nonnegative(Proof *p, const Atom *a) {
  if (a->value)
    return value_nonnegative(a->value);
  if (a->kind == ATOM_MAX)
    return prove(p, a->num) || prove(p, a->den);
  return prove(p, a->num) && prove(p, a->den); /* a denominator of 0 ends the call */
}

/* Coefficients >= 0 of atoms >= 0, or of even powers. */
static bool plainly_nonnegative(Proof *p, const Size *s) {
  if (s->overflow)
    return false;
  for (int i = 0; i < s->nterms; i++)
    if (s->terms[i].coefficient < 0)
      return false;
  for (int i = 0; i < s->nterms; i++)
    for (int j = 0; j < s->terms[i].npowers; j++)
      if (s->terms[i].powers[j].exponent % 2 && !atom_nonnegative(p, s->terms[i].powers[j].atom))
        return false;
  return true;
}

/* ---- facts: an extent of a loop that is being run is at least 1 */
static void add_fact(Proof *p, const Size *s) {
  if (s->overflow || p->nfacts == MAX_FACTS || size_is_const(s, NULL))
    return;
  for (int i = 0; i < p->nfacts; i++)
    if (p->facts[i] == s)
      return;
  p->facts[p->nfacts++] = s;
}

static void note_loops(Value *v, void *arg) {
  Proof *p = arg;
  for (const Region *r = v->region; r->owner && p->nfacts < MAX_FACTS; r = r->owner->parent)
    if (r->owner->code == OP_LOOP)
      for (int i = 0; i < r->owner->at.loop->nindices; i++)
        if (r->owner->at.loop->extents[i])
          add_fact(p, size_sub(p->module, r->owner->at.loop->extents[i], size_const(p->module, 1)));
}

/* The least value that a fact k * atom - c >= 0 or the atom's nature gives; false where there is none. */
static bool least_value(Proof *p, const Atom *a, int64_t *least) {
  bool known = atom_nonnegative(p, a);
  *least = 0;
  for (int i = 0; i < p->nfacts; i++) {
    const Size *f = p->facts[i];
    const Term *t = f->terms;
    const int64_t c = f->nterms == 2 && !f->terms[1].npowers ? -f->terms[1].coefficient : 0;
    if (f->nterms != 1 + (c != 0) || t->npowers != 1 || t->powers[0].atom != a || t->powers[0].exponent != 1 ||
        t->coefficient <= 0)
      continue;
    const int64_t bound = c / t->coefficient + (c % t->coefficient > 0);
    *least = !known || bound > *least ? bound : *least;
    known = true;
  }
  return known;
}

/* ---- polynomials in one atom */
typedef struct Coefficients {
  const Size *of[MAX_POWER + 1];
  int degree;
} Coefficients;

static bool split_by(Module *m, const Size *s, const Atom *a, Coefficients *c) {
  for (int k = 0; k <= MAX_POWER; k++)
    c->of[k] = size_const(m, 0);
  c->degree = 0;
  for (int i = 0; i < s->nterms; i++) {
    Term t = s->terms[i];
    Power powers[64]; /* as many as the highest degree */
    int n = 0, exponent = 0;
    for (int j = 0; j < t.npowers; j++)
      if (t.powers[j].atom == a)
        exponent = t.powers[j].exponent;
      else
        powers[n++] = t.powers[j];
    if (exponent > MAX_POWER)
      return false;
    t.npowers = n;
    t.powers = powers;
    c->of[exponent] = size_add(m, c->of[exponent], size_from_terms(m, 1, &t));
    c->degree = exponent > c->degree ? exponent : c->degree;
  }
  return true;
}

static const Size *evaluate(Module *m, const Coefficients *c, const Size *at) {
  const Size *s = c->of[c->degree];
  for (int k = c->degree - 1; k >= 0; k--)
    s = size_add(m, size_mul(m, s, at), c->of[k]);
  return s;
}

enum { MAX_ATOMS = 8 };
typedef struct AtomSet {
  const Atom *of[MAX_ATOMS];
  int n;
} AtomSet;

static bool in_set(const AtomSet *set, const Atom *a) {
  for (int i = 0; i < set->n; i++)
    if (set->of[i] == a)
      return true;
  return false;
}

/* The atoms of s; false where they are too many. */
static bool collect_atoms(const Size *s, AtomSet *set) {
  for (int i = 0; i < s->nterms; i++)
    for (int j = 0; j < s->terms[i].npowers; j++)
      if (!in_set(set, s->terms[i].powers[j].atom)) {
        if (set->n == MAX_ATOMS)
          return false;
        set->of[set->n++] = s->terms[i].powers[j].atom;
      }
  return true;
}

static int64_t value_mod(const Size *s, const AtomSet *r, const int64_t *at, int64_t k) {
  int64_t sum = 0;
  for (int i = 0; i < s->nterms; i++) {
    int64_t product = (s->terms[i].coefficient % k + k) % k;
    for (int j = 0; j < s->terms[i].npowers; j++)
      for (int a = 0; a < r->n; a++)
        if (r->of[a] == s->terms[i].powers[j].atom)
          for (int e = 0; e < s->terms[i].powers[j].exponent; e++)
            product = product * at[a] % k;
    sum = (sum + product) % k;
  }
  return sum;
}

/* True if s modulo k is the same for all integers: found out by trying all residues, which are few. */
static bool constant_residue(const Size *s, int64_t k, int64_t *residue) {
  AtomSet r = {.n = 0};
  int64_t at[MAX_ATOMS] = {0}, cases = 1;
  if (k > 256 || !collect_atoms(s, &r))
    return false;
  for (int i = 0; i < r.n && cases <= 256; i++)
    cases *= k;
  if (cases > 256)
    return false;
  *residue = value_mod(s, &r, at, k);
  for (int64_t c = 1; c < cases; c++) {
    for (int64_t i = 0, rest = c; i < r.n; i++, rest /= k)
      at[i] = rest % k;
    if (value_mod(s, &r, at, k) != *residue)
      return false;
  }
  return true;
}

/* Step 1.  With q = floor(num / k):  k s = c (k q) + k rest  and  k q = num - residue, residue in [0, k). */
static const Size *multiply_out(Proof *p, const Atom *q, const Size *s) {
  Module *m = p->module;
  Coefficients c;
  int64_t k, residue;
  if (q->kind != ATOM_QUOTIENT || !size_is_const(q->den, &k) || !split_by(m, s, q, &c) || c.degree != 1)
    return NULL;
  if (!constant_residue(q->num, k, &residue)) {
    if (prove(p, c.of[1]))
      residue = k - 1;
    else if (prove(p, size_scale(m, c.of[1], -1)))
      residue = 0;
    else
      return NULL;
  }
  const Size *least =
      size_add(m, size_mul(m, c.of[1], size_sub(m, q->num, size_const(m, residue))), size_scale(m, c.of[0], k));
  return size_add(m, least, size_const(m, k - 1)); /* s is an integer: k s > -k will do */
}

/* The lesser or greater of two is one of them; where s falls with the lesser, or rises with the greater, either will
   do. */
static bool prove_either(Proof *p, const Atom *a, const Size *s, bool *tried) {
  Module *m = p->module;
  Coefficients c;
  if (a->kind == ATOM_QUOTIENT || !split_by(m, s, a, &c) || c.degree != 1)
    return false;
  *tried = true;
  const Size *slope = size_scale(m, c.of[1], a->kind == ATOM_MAX ? 1 : -1);
  const bool one = prove(p, evaluate(m, &c, a->num));
  if (one && prove(p, slope))
    return true;
  return prove(p, evaluate(m, &c, a->den)) && (one || prove(p, slope));
}

static const Atom *find_quotient(const Size *s, int nth) {
  for (int i = 0; i < s->nterms; i++)
    for (int j = 0; j < s->terms[i].npowers; j++)
      if (!s->terms[i].powers[j].atom->value && nth-- == 0)
        return s->terms[i].powers[j].atom;
  return NULL;
}

/* Step 2. */
static const Atom *innermost_index(const Size *s) {
  const Atom *found = NULL;
  int deepest = -1;
  for (int i = 0; i < s->nterms; i++)
    for (int j = 0; j < s->terms[i].npowers; j++) {
      const Atom *a = s->terms[i].powers[j].atom;
      if (a->value && index_extent(a->value) && nesting(a->value) > deepest) {
        found = a;
        deepest = nesting(a->value);
      }
    }
  return found;
}

static bool all_signed(Proof *p, const Coefficients *c, int from, int64_t sign) {
  for (int k = from; k <= c->degree; k++)
    if (!prove(p, size_scale(p->module, c->of[k], sign)))
      return false;
  return true;
}

static bool prove_at_ends(Proof *p, const Atom *index, const Size *s) {
  Module *m = p->module;
  Coefficients c;
  const Size *extent = index_extent(index->value);
  if (extent->overflow || size_uses(extent, index->value) || !split_by(m, s, index, &c))
    return false;
  const Size *last = size_sub(m, extent, size_const(m, 1));
  if (all_signed(p, &c, 1, 1))
    return prove(p, c.of[0]);
  if (all_signed(p, &c, 1, -1))
    return prove(p, evaluate(m, &c, last));
  if (all_signed(p, &c, 2, -1))
    return prove(p, c.of[0]) && prove(p, evaluate(m, &c, last));
  /* from the other end: i = last - j with j >= 0, written as the same atom, so that facts of i are to be forgotten */
  Coefficients d;
  const Size *mirrored = evaluate(m, &c, size_sub(m, last, size_atom(m, index->value)));
  if (split_by(m, mirrored, index, &d) && all_signed(p, &d, 1, 1))
    return prove(p, d.of[0]);
  Proof q = {.module = m, .budget = p->budget};
  for (int i = 0; i < p->nfacts; i++)
    if (!size_uses(p->facts[i], index->value))
      q.facts[q.nfacts++] = p->facts[i];
  const bool proved = prove_shifted(&q, mirrored);
  p->budget = q.budget;
  return proved;
}

/* Steps 3 and 4: no index and no quotient is left that could be taken away. */
static const Size *plus(Module *m, const Atom *a, int64_t by) {
  const Term t = {.coefficient = 1, .npowers = 1, .powers = &(Power){.atom = a, .exponent = 1}};
  return size_add(m, size_from_terms(m, 1, &t), size_const(m, by));
}

/* v: atoms known to be at least 0, after shifting. */
static bool shifted_nonnegative(const Size *s, const AtomSet *v) {
  if (s->overflow)
    return false;
  for (int i = 0; i < s->nterms; i++) {
    if (s->terms[i].coefficient < 0)
      return false;
    for (int j = 0; j < s->terms[i].npowers; j++)
      if (s->terms[i].powers[j].exponent % 2 && !in_set(v, s->terms[i].powers[j].atom))
        return false;
  }
  return true;
}

static bool prove_by_cases(Proof *p, const Size *s, const AtomSet *v, int depth) {
  if (p->budget-- <= 0 || s->overflow)
    return false;
  if (shifted_nonnegative(s, v))
    return true;
  if (size_is_const(s, NULL) || depth == 0)
    return false;
  for (int i = 0; i < v->n; i++) { /* an atom with a higher power: 0, or 1 and more */
    Coefficients c;
    if (split_by(p->module, s, v->of[i], &c) && c.degree >= 2 && prove_by_cases(p, c.of[0], v, depth - 1))
      return prove_by_cases(p, evaluate(p->module, &c, plus(p->module, v->of[i], 1)), v, depth - 1);
  }
  return false;
}

static bool prove_shifted(Proof *p, const Size *s) {
  AtomSet v = {.n = 0}, atoms = {.n = 0};
  if (!collect_atoms(s, &atoms))
    return false;
  for (int i = 0; i < atoms.n; i++) {
    int64_t least;
    Coefficients c;
    if (!least_value(p, atoms.of[i], &least) || !split_by(p->module, s, atoms.of[i], &c))
      continue;
    s = evaluate(p->module, &c, plus(p->module, atoms.of[i], least));
    v.of[v.n++] = atoms.of[i];
  }
  return prove_by_cases(p, s, &v, 3);
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    const int64_t r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

/* g t + c >= 0  is  t + floor(c / g) >= 0. */
static const Size *tightened(Module *m, const Size *s) {
  int64_t g = 0;
  for (int i = 0; i < s->nterms; i++)
    if (s->terms[i].npowers)
      g = gcd(s->terms[i].coefficient, g);
  return g > 1 ? size_floordiv(m, s, size_const(m, g)) : s;
}

static bool prove(Proof *p, const Size *s) {
  int64_t k;
  if (s->overflow || p->budget-- <= 0)
    return false;
  if (size_is_const(s, &k))
    return k >= 0;
  s = tightened(p->module, s);
  if (plainly_nonnegative(p, s))
    return true;
  size_values(s, note_loops, p);
  const Atom *q;
  for (int i = 0; (q = find_quotient(s, i)) && i < 4; i++) {
    bool tried = false;
    if (prove_either(p, q, s, &tried))
      return true;
    if (tried)
      continue;
    const Size *t = multiply_out(p, q, s);
    if (t)
      return prove(p, t);
  }
  const Atom *index = innermost_index(s);
  if (index && prove_at_ends(p, index, s))
    return true;
  return prove_shifted(p, s);
}

bool size_nonnegative(Module *m, const Size *s) {
  Proof p = {.module = m, .budget = BUDGET};
  if (prove(&p, s))
    return true;
  /* once more with each fact taken off: s = (s - fact) + fact */
  for (int i = 0; i < p.nfacts; i++) {
    Proof q = p;
    q.budget = BUDGET / 4;
    if (prove(&q, size_sub(m, s, p.facts[i])))
      return true;
  }
  return false;
}
