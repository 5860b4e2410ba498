/* Sizes as text; see text.h.  Everything is ordered by the caller's numbering of values, never by our own uids, so that
   text that is read and written again stays the same. */
#include "ir/size.h"
#include "ir/size_table.h"
#include "ir/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- a polynomial with its terms in the order of writing */
typedef struct Factor {
  const char *text; /* of the atom */
  unsigned order;   /* of a value; other atoms come after all values, by their text */
  bool is_value;
  int exponent;
} Factor;
typedef struct Product {
  int64_t coefficient;
  int n, degree;
  Factor *factors;
} Product;
typedef struct Writer {
  Module *module;
  Arena *arena;
  const SizeNames *names;
} Writer;

static void write_size(const Writer *w, Text *out, const Size *s);
static void write_quotient(const Writer *w, Text *out, const Size *num, const Size *den);

static int compare_factors(const Factor *a, const Factor *b) {
  if (a->is_value != b->is_value)
    return a->is_value ? -1 : 1;
  if (a->is_value && a->order != b->order)
    return a->order < b->order ? -1 : 1;
  return strcmp(a->text, b->text);
}

static int compare_products(const Product *a, const Product *b) {
  if (a->degree != b->degree)
    return a->degree > b->degree ? -1 : 1;
  for (int i = 0; i < a->n && i < b->n; i++) {
    const int c = compare_factors(&a->factors[i], &b->factors[i]);
    if (c)
      return c;
    if (a->factors[i].exponent != b->factors[i].exponent)
      return a->factors[i].exponent > b->factors[i].exponent ? -1 : 1;
  }
  return a->n - b->n;
}

/* A constant below zero, a sum or a product: what needs parentheses beside an operator that binds tighter. */
static bool is_bare(const Size *s) {
  int64_t k;
  if (size_is_const(s, &k))
    return k >= 0;
  return s->overflow || (s->nterms == 1 && s->terms[0].coefficient == 1 && s->terms[0].npowers == 1 &&
                         s->terms[0].powers[0].exponent == 1 && s->terms[0].powers[0].atom->value);
}

static void write_operand(const Writer *w, Text *out, const Size *s) {
  const bool bare = is_bare(s);
  text_add(out, bare ? "" : "(");
  write_size(w, out, s);
  text_add(out, bare ? "" : ")");
}

static const char *two_text(const Writer *w, const Atom *a) {
  Text t = {.arena = w->arena};
  if (a->kind != ATOM_QUOTIENT) {
    text_add(&t, a->kind == ATOM_MIN ? "min(" : "max(");
    write_size(w, &t, a->num);
    text_add(&t, ", ");
    write_size(w, &t, a->den);
    text_add(&t, ")");
    return text_end(&t);
  }
  text_add(&t, "(");
  write_quotient(w, &t, a->num, a->den);
  text_add(&t, ")");
  return text_end(&t);
}

static Product product_of(const Writer *w, const Term *t) {
  Product p = {.coefficient = t->coefficient, .n = t->npowers, .factors = NEW_ARRAY(w->arena, Factor, t->npowers)};
  for (int i = 0; i < t->npowers; i++) {
    const Atom *a = t->powers[i].atom;
    Factor f = {.exponent = t->powers[i].exponent, .is_value = a->value != NULL};
    f.text = a->value ? w->names->name(a->value, w->names->arg) : two_text(w, a);
    f.order = a->value ? w->names->order(a->value, w->names->arg) : 0;
    p.degree += f.exponent;
    int at = i;
    for (; at > 0 && compare_factors(&f, &p.factors[at - 1]) < 0; at--)
      p.factors[at] = p.factors[at - 1];
    p.factors[at] = f;
  }
  return p;
}

static Product *products_of(const Writer *w, const Size *s) {
  Product *ps = NEW_ARRAY(w->arena, Product, s->nterms);
  for (int i = 0; i < s->nterms; i++) {
    const Product p = product_of(w, &s->terms[i]);
    int at = i;
    for (; at > 0 && compare_products(&p, &ps[at - 1]) < 0; at--)
      ps[at] = ps[at - 1];
    ps[at] = p;
  }
  return ps;
}

static void write_factors(Text *out, const Product *p) {
  const char *between = "";
  for (int i = 0; i < p->n; i++)
    for (int k = 0; k < p->factors[i].exponent; k++) {
      text_add(out, between);
      text_add(out, p->factors[i].text);
      between = " * ";
    }
}

static void write_sum(Text *out, int n, const Product *ps) {
  for (int i = 0; i < n; i++) {
    const int64_t c = ps[i].coefficient, size = c < 0 ? -c : c;
    text_add(out, i ? (c < 0 ? " - " : " + ") : (c < 0 ? "-" : ""));
    if (size != 1 || !ps[i].degree)
      text_printf(out, "%" PRId64 "%s", size, ps[i].degree ? " * " : "");
    write_factors(out, &ps[i]);
  }
  if (!n)
    text_add(out, "0");
}

/* Takes the monomial that all products share out of them. */
static Product common_factor(const Writer *w, int n, Product *ps) {
  Product common = {.coefficient = 1, .factors = NEW_ARRAY(w->arena, Factor, ps[0].n)};
  for (int i = 0; i < ps[0].n; i++) {
    Factor f = ps[0].factors[i];
    for (int j = 1; j < n; j++) {
      int found = 0;
      for (int k = 0; k < ps[j].n; k++)
        if (!compare_factors(&ps[j].factors[k], &f))
          found = ps[j].factors[k].exponent;
      f.exponent = found < f.exponent ? found : f.exponent;
    }
    if (f.exponent)
      common.factors[common.n++] = f;
    common.degree += f.exponent;
  }
  for (int i = 0; i < common.n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < ps[j].n; k++)
        if (!compare_factors(&ps[j].factors[k], &common.factors[i])) {
          ps[j].factors[k].exponent -= common.factors[i].exponent;
          ps[j].degree -= common.factors[i].exponent;
        }
  return common;
}

/* A polynomial over atoms: x * (..) where all terms share x. */
static void write_polynomial(const Writer *w, Text *out, const Size *s) {
  Product *ps = products_of(w, s);
  if (s->nterms < 2) {
    write_sum(out, s->nterms, ps);
    return;
  }
  const Product common = common_factor(w, s->nterms, ps);
  write_factors(out, &common);
  text_add(out, common.n ? " * (" : "");
  write_sum(out, s->nterms, ps);
  text_add(out, common.n ? ")" : "");
}

static bool is_quotient(const Atom *a) {
  return !a->value && a->kind == ATOM_QUOTIENT;
}

static int count_quotients(const Size *s) {
  int n = 0;
  for (int i = 0; i < s->nterms; i++)
    for (int j = 0; j < s->terms[i].npowers; j++)
      n += is_quotient(s->terms[i].powers[j].atom);
  return n;
}

/* Where the only quotient of s is a term floor(p / k) with k constant, the whole is (rest * k + p) / k: the numerator,
   or NULL. */
static const Size *as_quotient(const Writer *w, const Size *s, const Size **den) {
  const Term *t = s->terms;
  if (count_quotients(s) != 1)
    return NULL;
  while (!t->npowers || !is_quotient(t->powers[t->npowers - 1].atom))
    if (++t == s->terms + s->nterms)
      return NULL; /* it is not its term's last power */
  if (t->coefficient != 1 || t->npowers != 1 || t->powers[0].exponent != 1)
    return NULL;
  const Atom *a = t->powers[0].atom;
  *den = a->den;
  if (s->nterms == 1)
    return a->num;
  int64_t k;
  if (!size_is_const(a->den, &k))
    return NULL;
  const Size *rest = size_sub(w->module, s, size_from_terms(w->module, 1, t));
  const Size *num = size_add(w->module, size_scale(w->module, rest, k), a->num);
  if (num->nterms >= s->nterms - 1 + a->num->nterms) /* nothing in common, nothing gained */
    return NULL;
  return size_floordiv(w->module, num, a->den) == s ? num : NULL;
}

static bool is_product(const Writer *w, const Size *s) {
  return count_quotients(s) == 0 &&
         (s->nterms == 1 || (s->nterms > 1 && common_factor(w, s->nterms, products_of(w, s)).n > 0));
}

static void write_quotient(const Writer *w, Text *out, const Size *num, const Size *den) {
  if (is_product(w, num))
    write_polynomial(w, out, num);
  else
    write_operand(w, out, num);
  text_add(out, " / ");
  write_operand(w, out, den);
}

static void write_size(const Writer *w, Text *out, const Size *s) {
  const Size *den = NULL, *num = NULL;
  if (s->overflow)
    text_add(out, "overflow");
  else if ((num = as_quotient(w, s, &den)))
    write_quotient(w, out, num, den);
  else
    write_polynomial(w, out, s);
}

void size_write(Module *m, Text *out, const Size *s, const SizeNames *names) {
  Arena scratch = {0};
  const Writer w = {.module = m, .arena = &scratch, .names = names};
  write_size(&w, out, s);
  arena_free(&scratch);
}

void type_write(Module *m, Text *out, Type t, const SizeNames *names) {
  text_add(out, kind_name[t.kind]);
  for (int i = 0; i < t.rank; i++) {
    text_add(out, i ? ", " : "[");
    size_write(m, out, t.dims[i], names);
  }
  text_add(out, t.rank ? "]" : "");
}

/* ---- messages */
static const char *source_name(const Value *v, void *arg) {
  Module *m = arg;
  return v->name ? v->name : arena_printf(m->arena, "_%u", v->uid);
}

static unsigned source_order(const Value *v, void *arg) {
  (void)arg;
  return v->uid;
}

const char *size_text(Module *m, const Size *s) {
  Text t = {.arena = m->arena};
  size_write(m, &t, s, &(SizeNames){source_name, source_order, m});
  return text_end(&t);
}

const char *type_text(Module *m, Type t) {
  Text text = {.arena = m->arena};
  type_write(m, &text, t, &(SizeNames){source_name, source_order, m});
  return text_end(&text);
}
