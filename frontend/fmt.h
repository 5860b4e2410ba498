/* `gradc fmt`: canonical layout of .ad text.  Comments and the programmer's line breaks inside statements are kept;
   spacing, indentation and the breaks between statements are not.  See docs of the layout in fmt.c. */
#ifndef GRADC_FRONTEND_FMT_H
#define GRADC_FRONTEND_FMT_H
#include "frontend/parse.h"

/* Writes the text laid out anew; 0.  A text with syntax errors is not touched: they are reported, nothing is written,
   and the result is 1. */
int fmt_source(Arena *arena, Diag *diag, const Source *source, FILE *out);
#endif
