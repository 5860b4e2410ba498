/* The flex scanner of lexer.l, by hand so as not to need its generated header.  Private to the syntax half. */
#ifndef GRADC_FRONTEND_SCANNER_H
#define GRADC_FRONTEND_SCANNER_H
#include "frontend/parser.h"

typedef struct yy_buffer_state *ScannerBuffer;
int scanner_lex_init_extra(ParseState *s, void **scanner); /* 0: done */
int scanner_lex_destroy(void *scanner);
ScannerBuffer scanner__scan_bytes(const char *text, int n, void *scanner);
int scanner_lex(AD_STYPE *value, Range *at, void *scanner);
#endif
