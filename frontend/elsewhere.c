/* What is written otherwise in other languages and libraries, and how it is written here: mends for messages. */
#include "frontend/elsewhere.h"
#include <string.h>

typedef struct Elsewhere {
  const char *name, *here;
} Elsewhere;

static const Elsewhere NAMES[] = {
    {"ln", "log(x)"},
    {"power", "x ^ y"},
    {"square", "sqr(x)"},
    {"fabs", "abs(x)"},
    {"gamma", "exp(lgamma(x))"},
    {"tgamma", "exp(lgamma(x))"},
    {"rsqrt", "1.0 / sqrt(x)"},
    {"expit", "sigmoid(x)"},
    {"logistic", "sigmoid(x)"},
    {"swish", "silu(x)"},
    {"fmod", "x % y"},
    {"maximum", "max(a, b)"},
    {"fmax", "max(a, b)"},
    {"minimum", "min(a, b)"},
    {"fmin", "min(a, b)"},
    {"clamp", "clip(x, lo, hi)"},
    {"select", "where(c, a, b)"},
    {"reduce_sum", "sum(x)"},
    {"reduce_mean", "mean(x)"},
    {"reduce_max", "max(x)"},
    {"len", "size(x, 0)"},
    {"shape", "size(x, 0)"},
    {"arange", "iota[n]"},
    {"range", "0..n"},
    {"identity", "eye[n]"},
    {"concatenate", "concat((x, y), axis = 0)"},
    {"cat", "concat((x, y), axis = 0)"},
    {"hstack", "concat((x, y), axis = 1)"},
    {"vstack", "concat((x, y), axis = 0)"},
    {"matmul", "a @ b"},
    {"mm", "a @ b"},
    {"einsum", "let c[i, j] = sum[k: a[i, k] * b[k, j]];"},
    {"detach", "stop_gradient(x)"},
    {"vmap", "[for i: f(x[i])]"},
    {"jacfwd", "jacobian(f, mode = forward)"},
    {"jacrev", "jacobian(f, mode = reverse)"},
    {"float", "f64(x)"},
    {"double", "f64(x)"},
    {"int", "i64(x)"},
    {"True", "true"},
    {"False", "false"},
    {"None", NULL},
    {"NULL", NULL},
    {"PI", "pi"},
    {"M_PI", "pi"},
    {"INFINITY", "inf"},
    {"np", "the function's name alone: sum(x)"},
    {"numpy", "the function's name alone: sum(x)"},
    {"jnp", "the function's name alone: sum(x)"},
    {"torch", "the function's name alone: sum(x)"},
    {"math", "the function's name alone: sqrt(x)"},
};

static const Elsewhere OPTIONS[] = {{"keepdims", "keep"}, {"keepdim", "keep"}, {"dim", "axis"}, {"dims", "axis"}};

static const Elsewhere STRAY[] = {
    {"#", "a comment begins with //"},
    {"?", "a choice is written if c { a } else { b }"},
    {"&", "write and"},
    {"|", "write or"},
    {"~", "write not"},
    {"\xe2\x88\x92", "write -"},                    /* the sign of subtraction */
    {"\xe2\x80\x93", "write -"},                    /* an en dash */
    {"\xc3\x97", "write *"},                        /* the sign of multiplication */
    {"\xe2\x80\x9c", "a string is written \"..\""}, /* quotation marks */
    {"\xe2\x80\x9d", "a string is written \"..\""},
    {"\xe2\x89\xa4", "write <="},
    {"\xe2\x89\xa5", "write >="},
    {"\xe2\x89\xa0", "write !="},
    {"\xc2\xa0", "it is a no-break space: write a space"},
};

static const Elsewhere *find(const Elsewhere *table, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(table[i].name, name))
      return &table[i];
  return NULL;
}
#define FIND(table, name) find(table, sizeof(table) / sizeof *(table), name)

bool elsewhere_name(const char *name, const char **here) {
  const Elsewhere *found = FIND(NAMES, name);
  *here = found ? found->here : NULL;
  return found;
}

const char *elsewhere_option(const char *name) {
  const Elsewhere *found = FIND(OPTIONS, name);
  return found ? found->here : NULL;
}

const char *elsewhere_stray(const char *text) {
  const Elsewhere *found = FIND(STRAY, text);
  return found ? found->here : NULL;
}
