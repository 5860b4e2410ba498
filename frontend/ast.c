/* The few questions about the syntax tree that have one answer for everybody; see ast.h. */
#include "frontend/ast.h"

Expr *block_value(const Block *block) {
  if (block->tail)
    return block->tail;
  if (block->statements.n == 0)
    return NULL;
  const Stmt *last = block->statements.at[block->statements.n - 1];
  return last->kind == STMT_EXPR ? last->expr : NULL;
}

const char *kind_word_text(KindWord word) {
  static const char *const TEXT[] = {
      [WORD_BOOL] = "bool", [WORD_I32] = "i32", [WORD_I64] = "i64",
      [WORD_F32] = "f32",   [WORD_F64] = "f64", [WORD_REAL] = "real",
  };
  return TEXT[word];
}

const char *binary_op_text(BinaryOp op) {
  static const char *const TEXT[] = {
      [BINARY_ADD] = "+",    [BINARY_SUB] = "-", [BINARY_MUL] = "*", [BINARY_DIV] = "/",   [BINARY_MOD] = "%",
      [BINARY_MATMUL] = "@", [BINARY_POW] = "^", [BINARY_LT] = "<",  [BINARY_GT] = ">",    [BINARY_LE] = "<=",
      [BINARY_GE] = ">=",    [BINARY_EQ] = "==", [BINARY_NE] = "!=", [BINARY_AND] = "and", [BINARY_OR] = "or",
  };
  return TEXT[op];
}
