/* What the files of the textual IR's parser share.
   After an error the token is TOKEN_END until the parser goes on at the next function: every loop over tokens ends, and
   the functions here return harmless values, never NULL. */
#ifndef GRADC_IR_PARSE_STATE_H
#define GRADC_IR_PARSE_STATE_H
#include "ir/ir.h"
#include "ir/ir_lex.h"
#include "ir/symbols.h"

enum { IR_MAX_DEPTH = 256 }; /* of regions and parentheses */

typedef enum FixupKind { FIX_CALLEE, FIX_DERIVE, FIX_VJP, FIX_JVP, FIX_SIZES, FIX_EXPORT } FixupKind;
typedef struct Fixup { /* a function's name, looked up when all functions are there */
  FixupKind kind;
  Token name;
  Op *op;     /* FIX_CALLEE */
  Func *func; /* FIX_DERIVE, FIX_VJP, FIX_JVP */
  int *wrt;   /* FIX_DERIVE: positions of parameters */
  int nwrt;
  Export *export; /* FIX_SIZES, FIX_EXPORT; its func is not set yet */
} Fixup;

typedef struct IrParser {
  Arena *arena;
  Module *module;
  Diag *diag;
  Lexer lexer;
  Token token;
  bool failed;   /* since the last recovery */
  Token stopped; /* and then the token at which it was noticed */
  Func *func;
  Symbols values; /* of the function: by spelling, Value */
  Symbols funcs, opcodes, files;
  VEC(Fixup) fixups;
  int depth;
} IrParser;

void ir_error(IrParser *p, Range at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void ir_next(IrParser *p);
bool ir_at_mark(const IrParser *p, char mark);
bool ir_at_word(const IrParser *p, const char *word);
bool ir_at_item(const IrParser *p);          /* at a word that only begins a function or an export */
bool ir_accept_mark(IrParser *p, char mark); /* true, and goes on, where the token is that mark */
bool ir_accept_word(IrParser *p, const char *word);
void ir_expect_mark(IrParser *p, char mark);
/* The token, which must be of that kind; `what` says it to the user.  False after the error. */
bool ir_expect(IrParser *p, TokenKind kind, const char *what, Token *token);
/* A whole number with an optional minus. */
int64_t ir_integer(IrParser *p);
int ir_small_integer(IrParser *p, int least); /* within int */
Range ir_location(IrParser *p);               /* !.., or no place */

void ir_define(IrParser *p, Token name, Value *v);
Value *ir_value(IrParser *p); /* a use: %name */
const Size *ir_size(IrParser *p);
Type ir_type(IrParser *p);
/* The name that a definition gives: NULL for a number. */
static inline const char *ir_value_name(Token t) {
  return t.text;
}

/* { operations, yield or return } into r */
void ir_region(IrParser *p, Region *r);
#endif
