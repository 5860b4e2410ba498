/* Entry points of the syntax half of the front end: text in, syntax tree out.
   All memory comes from the arena; errors go to the Diag.  A Program is returned whatever the text holds: after errors
   it has poison in it, and d->nerrors tells. */
#ifndef GRADC_FRONTEND_PARSE_H
#define GRADC_FRONTEND_PARSE_H
#include "frontend/ast.h"

enum { SOURCE_MAX_BYTES = 256 << 20 };

/* Reads a whole file; "-" is standard input.  NULL, with an error that has no place, when it cannot be read. */
Source *source_read(Arena *arena, Diag *diag, const char *path);
/* A Source over text already in memory, which must be NUL-terminated at text[n]. */
Source *source_from_text(Arena *arena, const char *name, const char *text, size_t n);

Program *parse_file(Arena *arena, Diag *diag, const Source *source);

/* Writes the tree as s-expressions, one item a line. */
void ast_print(const Program *program, FILE *out);
#endif
