/* Reads textual IR, verifies it and prints it again; for the tests of ir/.
     -2   checks that the print reads back as the same text
     -p   prints instead, for each `size` operation, whether it can be shown to be >= 0 */
#include "ir/parse_ir.h"
#include "ir/print.h"
#include "ir/size.h"
#include <stdlib.h>
#include <string.h>

static char *read_all(FILE *in, size_t *n) {
  size_t cap = 1 << 16;
  char *text = malloc(cap + 1);
  *n = 0;
  for (size_t got; text && (got = fread(text + *n, 1, cap - *n, in)) > 0;) {
    *n += got;
    if (*n == cap)
      text = realloc(text, (cap *= 2) + 1);
  }
  if (!text) {
    fputs("ir-cat: no memory\n", stderr);
    exit(70);
  }
  text[*n] = '\0';
  return text;
}

static void print_proof(Op *op, void *arg) {
  Module *m = arg;
  if (op->code == OP_SIZE)
    printf("%s  // %s\n", op_brief(m->arena, op), size_nonnegative(m, op->at.size) ? "nonnegative" : "not shown");
}

static bool print_proofs(const char *name, const char *in, size_t n) {
  Arena a = {0};
  Diag d = {.arena = &a};
  const Source src = {.name = name, .text = in, .n = n};
  Module *m = parse_ir(&a, &d, &src);
  diag_flush(&d, stderr);
  for (Func *f = m ? m->funcs : NULL; f; f = f->next)
    region_walk(f->body, print_proof, m);
  arena_free(&a);
  return m != NULL;
}

/* The text of a file's module in *text; false where it has errors, which have been shown. */
static bool cat(const char *name, const char *in, size_t n, char **text, size_t *length) {
  Arena a = {0};
  Diag d = {.arena = &a};
  const Source src = {.name = name, .text = in, .n = n};
  Module *m = parse_ir(&a, &d, &src);
  diag_flush(&d, stderr);
  if (m) {
    FILE *out = tmpfile();
    if (!out) {
      fputs("ir-cat: no temporary file\n", stderr);
      exit(70);
    }
    print_module(out, m);
    rewind(out);
    *text = read_all(out, length);
    fclose(out);
  }
  arena_free(&a);
  return m != NULL;
}

int main(int argc, char **argv) {
  const bool twice = argc == 3 && !strcmp(argv[1], "-2"), proofs = argc == 3 && !strcmp(argv[1], "-p");
  if (argc != 2 && !twice && !proofs) {
    fputs("usage: ir-cat [-2 | -p] FILE\n", stderr);
    return 2;
  }
  const char *name = argv[argc - 1];
  FILE *f = strcmp(name, "-") ? fopen(name, "rb") : stdin;
  if (!f) {
    fprintf(stderr, "ir-cat: cannot read %s\n", name);
    return 2;
  }
  size_t n, once_n, again_n;
  char *in = read_all(f, &n), *once = NULL, *again = NULL;
  bool good = proofs ? print_proofs(name, in, n) : cat(name, in, n, &once, &once_n);
  if (good && twice) {
    good = cat("its print", once, once_n, &again, &again_n) && once_n == again_n && !memcmp(once, again, once_n);
    if (!good)
      fputs("ir-cat: the print does not read back as the same module\n", stderr);
  }
  if (once)
    fwrite(once, 1, once_n, stdout);
  if (again && !good)
    fwrite(again, 1, again_n, stderr);
  free(in);
  free(once);
  free(again);
  if (f != stdin)
    fclose(f);
  return good ? 0 : 1;
}
