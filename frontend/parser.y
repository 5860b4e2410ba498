/* Grammar of the .ad language, with error recovery and with the common wrong forms, which get their mend.
   Pure LALR(1): no precedence declarations, no conflicts.  Actions call the constructors of nodes.h and nothing else;
   all nodes and lists live in the arena, so that no %destructor is needed when recovery drops symbols.
   - `x_start` is `x` at the start of a statement, where an `if` or a `{` is a whole statement and never a left operand.
   - The brackets after an expression have one cover grammar for index and reduction; see cover.c.
   - A rule with `error` must leave the token that follows it in place unless that token ends the construct. */
%require "3.8"
%define api.pure full
%define api.prefix {ad_}
%define api.token.prefix {T_}
%define api.location.type {Range}
%define parse.error custom
%define parse.lac full
%define lr.default-reduction consistent
%locations
%expect 0
%param { ParseState *s }
%initial-action { @$ = (Range){s->source, 1, 1, 1, 1}; }

%code requires {
#include "frontend/nodes.h"
/* An empty symbol lies at the end of what stands before it. */
#define YYLLOC_DEFAULT(current, rhs, n)                                                                \
  ((current) = (n) ? range_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n))                                    \
                   : (Range){s->source, YYRHSLOC(rhs, 0).to_line, YYRHSLOC(rhs, 0).to_col,             \
                             YYRHSLOC(rhs, 0).to_line, YYRHSLOC(rhs, 0).to_col})
}
%union {
  Name name;
  NameList names;
  struct { int64_t value; const char *text; } integer;
  struct { double value; const char *text; } floating;
  const char *string;
  KindWord word;
  BinaryOp binary_op;
  Expr *expr;
  ExprList exprs;
  Argument argument;
  ArgumentList arguments;
  IndexRange *range;
  IndexRangeList ranges;
  CoverItem *cover;
  CoverItemList covers;
  TypeExpr *type;
  TypeElement element;
  TypeElementList elements;
  Parameter parameter;
  ParameterList parameters;
  Pattern *pattern;
  PatternList patterns;
  Block *block;
  Stmt *stmt;
  StmtList stmts;
  Checkpoint checkpoint;
  Item *item;
}
%code provides {
/* The parser's scanner: the bracket layer over the flex scanner; see brackets.h. */
int ad_lex(AD_STYPE *value, Range *at, ParseState *s);
}
%code {
#include "frontend/syntax_error.h"
#include <stdlib.h>

/* A nesting of AST_MAX_DEPTH takes up to six symbols a level, and reports itself as too deep before the stack ends. */
#define YYMAXDEPTH 40000

/* Called by the parser for want of stack only: syntax errors come through yyreport_syntax_error(). */
static void ad_error(const Range *at, ParseState *s, const char *message) {
  (void)message;
  if (!s->too_deep)
    diag_error(s->diag, *at, "this is nested more than %d deep", AST_MAX_DEPTH);
  s->too_deep = true;
}

/* The place of a bracket that is made up. */
static bool is_empty(Range at) {
  return at.line == at.to_line && at.col == at.to_col;
}

static void complain(ParseState *s, Range at, const char *message, const char *mend) {
  DiagMessage *m = diag_error(s->diag, at, "%s", message);
  if (mend)
    diag_mend(s->diag, m, "%s", mend);
}

/* What was parsed with an error in it. */
static Expr *chained(ParseState *s, Range at) {
  complain(s, at, "comparisons do not chain", "write a < b and b < c");
  return expr_poison(s, at);
}
static Expr *returned(ParseState *s, Range at, Expr *value) {
  complain(s, at, "there is no 'return'", "the value of a block is its last expression, without ';'");
  return value;
}
static Expr *assigned_condition(ParseState *s, Range equals, Range at) {
  complain(s, equals, "a condition has no '='", "comparison is '=='");
  return expr_poison(s, at);
}
static Stmt *unused_value(ParseState *s, Range at, const Expr *value) {
  if (value->kind != EXPR_POISON)
    complain(s, value->at, "this value is not used",
             value->kind == EXPR_BINARY && value->binary.op == BINARY_EQ ? "assignment is '='"
                                                                         : "as the value of the block it has no ';'");
  return stmt_poison(s, at);
}
/* Behind an if or a block it was meant to go on with that. */
static void plus_begins(ParseState *s, Range at) {
  if (syntax_is_after(s, at, '}'))
    complain(s, at, "a statement does not begin with '+'",
             "an if or a block before it is a whole statement: as an operand it needs ( )");
  else
    complain(s, at, "there is no unary '+'", "leave it out");
}
static IndexRange *new_range(ParseState *s, Range at, IndexRangeKind kind, Name name, Expr *from, Expr *to) {
  IndexRange *range = NEW(s->arena, IndexRange);
  *range = (IndexRange){kind, name, from, to, at};
  return range;
}
static CoverItem *new_cover(ParseState *s, Range at, CoverKind kind, Expr *first, Expr *second) {
  CoverItem *cover = NEW(s->arena, CoverItem);
  *cover = (CoverItem){.kind = kind, .at = at, .first = first, .second = second};
  return cover;
}
static CoverItem *new_cover_in(ParseState *s, Range at, IndexRange *range, Expr *filter, Expr *body) {
  CoverItem *cover = new_cover(s, at, COVER_IN, NULL, NULL);
  cover->range = *range;
  cover->filter = filter;
  cover->body = body;
  return cover;
}
#define PUSH(list, x) vec_push(s->arena, list, x)
}

%token END 0 "end of file"
%token IMPORT "import" CONST "const" STRUCT "struct" FN "fn" EXTERN "extern" EXPORT "export" LET "let" VAR "var"
  FOR "for" IN "in" WHILE "while" IF "if" ELSE "else" BREAK "break" CONTINUE "continue" REQUIRE "require"
  RETURN "return" AND "and" OR "or" NOT "not" TRUE "true" FALSE "false"
  DOTDOT ".." ARROW "->" LE "<=" GE ">=" EQ "==" NE "!="
%token <name> NAME "a name" AS "as" BY "by" OF "of" CHECKPOINT "checkpoint" RULE "vjp"
%token <integer> INTEGER "an integer"
%token <floating> FLOAT "a number"
%token BAD_NUMBER "a bad number"
%token <string> STRING "a string" SYSTEM_PATH "<file.ad>"
%token <word> KIND "a kind"
%token <binary_op> ASSIGN_OP "+="

%type <name> name opt_as
%type <names> opt_kinds opt_sizes opt_names names
%type <binary_op> comparison_op product_op
%type <item> item function_head extern_head
%type <type> opt_type opt_result type base
%type <parameter> parameter
%type <parameters> opt_parameters parameters
%type <element> element
%type <elements> opt_elements elements
%type <exprs> sizes exprs two_exprs
%type <block> block
%type <stmt> stmt
%type <stmts> stmts
%type <pattern> pattern
%type <patterns> patterns
%type <checkpoint> opt_checkpoint
%type <string> opt_message
%type <range> range in_range
%type <ranges> ranges
%type <cover> cover
%type <covers> covers
%type <argument> argument
%type <arguments> opt_arguments arguments
%type <expr> opt_by opt_expr filter condition if comprehension_init
%type <expr> expr or and not comparison sum product unary power postfix primary block_like
%type <expr> or_start and_start not_start comparison_start sum_start product_start unary_start power_start postfix_start
%%
program: items ;
items: %empty
  | items item                { if ($2) PUSH(s->program->items, $2); }
  | items error item          { yyerrok; if ($3) PUSH(s->program->items, $3); }
  | items error block         { yyerrok; }
  | items error '}'           { yyerrok; }
  ;

/* ---- items ---- */
item: "import" STRING semi
      { $$ = item_new(s, ITEM_IMPORT, @$, (Name){0}); $$->import.path = $2; $$->import.path_at = @2; }
  | "import" SYSTEM_PATH semi
      { $$ = item_new(s, ITEM_IMPORT, @$, (Name){0}); $$->import.path = $2; $$->import.path_at = @2;
        $$->import.is_system = true; }
  | "const" name opt_type '=' expr semi
      { $$ = item_new(s, ITEM_CONST, @$, $2); $$->constant.type = $3; $$->constant.value = $5; }
  | "const" name error        { $$ = item_poison_named(s, @$, $2); }
  | "struct" name opt_sizes '{' parameters opt_comma '}'
      { $$ = item_new(s, ITEM_STRUCT, @$, $2); $$->structure.sizes = $3; $$->structure.fields = $5; }
  | "struct" error '}'        { yyerrok; $$ = item_poison(s, @$); }
  | "struct" name error '}'   { yyerrok; $$ = item_poison_named(s, @$, $2); }
  | function_head block       { $$ = $1; $$->at = @$; $$->function.body = $2; }
  | "fn" error block          { yyerrok; $$ = item_poison(s, @$); }
  | "fn" name error block     { yyerrok; $$ = item_poison_named(s, @$, $2); }
  | extern_head "->" type semi { $$ = $1; $$->at = @$; $$->function.result = $3; }
  | "extern" "fn" name error  { $$ = item_poison_named(s, @$, $3); }
  | "export" expr opt_as semi { $$ = item_new(s, ITEM_EXPORT, @$, (Name){0}); $$->export.what = $2; $$->export.as = $3; }
  | RULE name '(' opt_names "->" names ';' names ')' block
      { $$ = item_new(s, ITEM_RULE, @$, $2); $$->rule.is_vjp = $1.text[0] == 'v';
        $$->rule.inputs = $4; $$->rule.results = $6; $$->rule.seeds = $8; $$->rule.body = $10; }
  | RULE error block          { yyerrok; $$ = item_poison(s, @$); }
  | ';'                       { $$ = NULL; }
  ;
function_head: "fn" name opt_kinds opt_sizes '(' opt_parameters ')' opt_result
      { $$ = item_new(s, ITEM_FUNCTION, @$, $2); $$->function.kinds = $3; $$->function.sizes = $4;
        $$->function.parameters = $6; $$->function.result = $8; } ;
extern_head: "extern" "fn" name opt_kinds '(' opt_parameters ')'
      { $$ = item_new(s, ITEM_EXTERN, @$, $3); $$->function.kinds = $4; $$->function.parameters = $6; } ;
semi: ';' | error ;
opt_comma: %empty | ',' ;
opt_as: %empty { $$ = (Name){0}; } | "as" name { $$ = $2; } ;
opt_type: %empty { $$ = NULL; } | ':' type { $$ = $2; } ;
opt_kinds: %empty { $$ = (NameList){0}; } | '<' names '>' { $$ = $2; } ;
opt_sizes: %empty { $$ = (NameList){0}; } | '[' names ']' { $$ = $2; } ;
opt_names: %empty { $$ = (NameList){0}; } | names ;
names: name { $$ = (NameList){0}; PUSH($$, $1); } | names ',' name { $$ = $1; PUSH($$, $3); } ;
opt_parameters: %empty { $$ = (ParameterList){0}; } | parameters opt_comma ;
parameters: parameter { $$ = (ParameterList){0}; PUSH($$, $1); } | parameters ',' parameter { $$ = $1; PUSH($$, $3); } ;
parameter: name ':' type { $$ = (Parameter){$1, $3, @$}; } ;
opt_result: %empty { $$ = NULL; } | "->" type { $$ = $2; } ;

/* ---- types ---- */
type: base
  | base '[' sizes ']'        { $$ = type_expr_tensor(s, @$, $1, $3); }
  | base '[' ']'              { $$ = $1; complain(s, @$, "a scalar has no brackets", "write the kind alone: f64"); }
  | base '[' sizes ']' '[' sizes ']'
      { $$ = type_poison(s, @$); complain(s, @$, "a type has one pair of brackets", "several axes are written [n, m]"); }
  | '(' elements opt_comma ')' { $$ = type_tuple(s, @$, $2); }
  | "fn" '(' opt_elements ')' "->" type { $$ = type_function(s, @$, $3, $6); }
  ;
base: KIND { $$ = type_word(s, @1, $1); } | name { $$ = type_name(s, $1); } ;
opt_elements: %empty { $$ = (TypeElementList){0}; } | elements opt_comma ;
elements: element { $$ = (TypeElementList){0}; PUSH($$, $1); } | elements ',' element { $$ = $1; PUSH($$, $3); } ;
element: type { $$ = (TypeElement){{0}, $1, @$}; } | name ':' type { $$ = (TypeElement){$1, $3, @$}; } ;
sizes: sum { $$ = (ExprList){0}; PUSH($$, $1); } | sizes ',' sum { $$ = $1; PUSH($$, $3); } ;

/* ---- statements ---- */
block: '{' stmts '}'          { $$ = block_new(s, @$, $2, NULL); $$->is_cut = is_empty(@3); }
  | '{' stmts or_start '}'    { $$ = block_new(s, @$, $2, $3); }
  | '{' stmts "return" expr '}' { $$ = block_new(s, @$, $2, returned(s, @3, $4)); }
  | '{' stmts error '}'       { yyerrok; $$ = block_new(s, @$, $2, expr_poison(s, @3)); }
  ;
stmts: %empty { $$ = (StmtList){0}; } | stmts stmt { $$ = $1; if ($2) PUSH($$, $2); } ;
stmt: "let" pattern opt_type '=' expr semi { $$ = stmt_let(s, @$, $2, $3, $5); }
  | "let" pattern opt_type '=' error ';' { yyerrok; $$ = stmt_let(s, @$, $2, $3, expr_poison(s, @5)); }
  | "let" name comprehension_init semi
      { $$ = stmt_let(s, @$, pattern_name(s, $2), NULL, $3); $$->let.is_comprehension = true; }
  | "var" name opt_type '=' expr semi { $$ = stmt_var(s, @$, $2, $3, $5); }
  | "var" name opt_type '=' error ';' { yyerrok; $$ = stmt_var(s, @$, $2, $3, expr_poison(s, @5)); }
  | "var" name comprehension_init semi { $$ = stmt_var(s, @$, $2, NULL, $3); $$->var.is_comprehension = true; }
  | postfix_start '=' expr semi { $$ = stmt_assign(s, @$, $1, @2, $3); }
  | postfix_start ASSIGN_OP expr semi { $$ = stmt_assign_op(s, @$, $1, $2, @2, $3); }
  | "for" name "in" expr ".." expr opt_by opt_checkpoint block { $$ = stmt_for(s, @$, $2, $4, $6, $7, $8, $9); }
  | "for" error block         { yyerrok; $$ = stmt_poison(s, @$); }
  | "while" condition block   { $$ = stmt_while(s, @$, $2, $3); }
  | "while" error block       { yyerrok; $$ = stmt_poison(s, @$); }
  | if                        { $$ = stmt_expr(s, $1); }
  | block                     { $$ = stmt_expr(s, expr_block(s, $1)); }
  | "break" semi              { $$ = stmt_plain(s, @$, STMT_BREAK); }
  | "continue" semi           { $$ = stmt_plain(s, @$, STMT_CONTINUE); }
  | "require" expr opt_message semi { $$ = stmt_require(s, @$, $2, $3); }
  | ';'                       { $$ = NULL; }
  | error ';'                 { yyerrok; $$ = stmt_poison(s, @$); }
  | error block               { yyerrok; $$ = stmt_poison(s, @$); }
  | or_start ';'
      { if (YYRECOVERING()) $$ = stmt_poison(s, @$); else $$ = unused_value(s, @$, $1); }
  | "return" expr ';'         { $$ = stmt_poison(s, @$); returned(s, @1, $2); }
  | "return" ';'              { $$ = stmt_poison(s, @$); returned(s, @1, NULL); }
  ;
comprehension_init: '[' ranges filter ']' '=' expr
      { $$ = expr_comprehension(s, @$, range_join(@2, @3), $2, $3, $6); } ;
pattern: name { $$ = pattern_name(s, $1); } | '(' patterns opt_comma ')' { $$ = pattern_tuple(s, @$, $2); } ;
patterns: pattern { $$ = (PatternList){0}; PUSH($$, $1); } | patterns ',' pattern { $$ = $1; PUSH($$, $3); } ;
opt_by: %empty { $$ = NULL; } | "by" expr { $$ = $2; } ;
opt_checkpoint: %empty        { $$ = (Checkpoint){CHECKPOINT_NONE, NULL}; }
  | "checkpoint"              { $$ = (Checkpoint){CHECKPOINT_SQRT, NULL}; }
  | "checkpoint" '(' expr ')' { $$ = (Checkpoint){CHECKPOINT_COUNT, $3}; }
  ;
opt_message: %empty { $$ = NULL; } | ':' STRING { $$ = $2; } ;
if: "if" condition block      { $$ = expr_if(s, @$, $2, $3, NULL); }
  | "if" condition block "else" block { $$ = expr_if(s, @$, $2, $3, expr_block(s, $5)); }
  | "if" condition block "else" if { $$ = expr_if(s, @$, $2, $3, $5); }
  | "if" error block          { yyerrok; $$ = expr_poison(s, @$); }
  | "if" error block "else" block { yyerrok; $$ = expr_poison(s, @$); }
  | "if" error block "else" if { yyerrok; $$ = expr_poison(s, @$); }
  ;
condition: expr | expr '=' expr { $$ = assigned_condition(s, @2, @$); } ;

/* ---- ranges: after `[for` and in `let c[..]` ---- */
ranges: range { $$ = (IndexRangeList){0}; PUSH($$, *$1); } | ranges ',' range { $$ = $1; PUSH($$, *$3); } ;
range: name                   { $$ = new_range(s, @$, INDEX_BARE, $1, NULL, NULL); }
  | name '<' sum              { $$ = new_range(s, @$, INDEX_BELOW, $1, NULL, $3); }
  | name "<=" sum
      { $$ = new_range(s, @$, INDEX_BELOW, $1, NULL, expr_poison(s, @3));
        complain(s, @2, "an index range has no '<='", "write i < n + 1"); }
  | in_range
  ;
in_range: name "in" expr ".." expr { $$ = new_range(s, @$, INDEX_IN, $1, $3, $5); } ;
filter: %empty { $$ = NULL; } | "if" condition { $$ = $2; } ;

/* ---- after an expression, in [ ]: index, slice, or a reduction's ranges, filter and body ---- */
covers: cover { $$ = (CoverItemList){0}; PUSH($$, *$1); } | covers ',' cover { $$ = $1; PUSH($$, *$3); } ;
cover: expr                   { $$ = new_cover(s, @$, COVER_EXPR, $1, NULL); }
  | expr ".." expr
      { $$ = new_cover(s, @$, COVER_EXPR, expr_poison(s, @$), NULL);
        complain(s, @2, "there is no '..' in an index", "a slice is written a:b"); }
  | opt_expr ':' opt_expr     { $$ = new_cover(s, @$, COVER_SLICE, $1, $3); }
  | opt_expr ':' opt_expr ':' opt_expr
      { $$ = new_cover(s, @$, COVER_SLICE, $1, $3); $$->has_step = true; $$->third = $5; }
  | expr "if" condition ':' expr
      { $$ = new_cover(s, @$, COVER_FILTER, $1, NULL); $$->filter = $3; $$->body = $5; }
  | in_range                  { $$ = new_cover_in(s, @$, $1, NULL, NULL); }
  | in_range ':' expr         { $$ = new_cover_in(s, @$, $1, NULL, $3); }
  | in_range "if" condition ':' expr { $$ = new_cover_in(s, @$, $1, $3, $5); }
  ;
opt_expr: %empty { $$ = NULL; } | expr ;

/* ---- arguments ---- */
opt_arguments: %empty { $$ = (ArgumentList){0}; } | arguments opt_comma ;
arguments: argument { $$ = (ArgumentList){0}; PUSH($$, $1); } | arguments ',' argument { $$ = $1; PUSH($$, $3); } ;
argument: expr { $$ = (Argument){{0}, $1, @$}; } | name '=' expr { $$ = (Argument){$1, $3, @$}; } ;
two_exprs: expr ',' expr { $$ = (ExprList){0}; PUSH($$, $1); PUSH($$, $3); } | two_exprs ',' expr { $$ = $1; PUSH($$, $3); } ;
exprs: expr { $$ = (ExprList){0}; PUSH($$, $1); } | exprs ',' expr { $$ = $1; PUSH($$, $3); } ;

/* ---- expressions in any position ---- */
expr: or ;
or: and | or "or" and         { $$ = expr_binary(s, @$, BINARY_OR, @2, $1, $3); } ;
and: not | and "and" not      { $$ = expr_binary(s, @$, BINARY_AND, @2, $1, $3); } ;
not: comparison | "not" not   { $$ = expr_unary(s, @$, UNARY_NOT, @1, $2); } ;
comparison: sum
  | sum comparison_op sum     { $$ = expr_binary(s, @$, $2, @2, $1, $3); }
  | sum comparison_op sum comparison_op sum { $$ = chained(s, @$); }
  ;
sum: product
  | sum '+' product           { $$ = expr_binary(s, @$, BINARY_ADD, @2, $1, $3); }
  | sum '-' product           { $$ = expr_binary(s, @$, BINARY_SUB, @2, $1, $3); }
  ;
product: unary | product product_op unary { $$ = expr_binary(s, @$, $2, @2, $1, $3); } ;
unary: power
  | '-' unary                 { $$ = expr_unary(s, @$, UNARY_NEG, @1, $2); }
  | '+' unary                 { $$ = $2; complain(s, @1, "there is no unary '+'", "leave it out"); }
  ;
power: postfix | postfix '^' unary { $$ = expr_binary(s, @$, BINARY_POW, @2, $1, $3); } ;
postfix: primary
  | block_like
  | postfix '[' covers ']'    { $$ = expr_bracket(s, @$, $1, &$3); }
  | postfix '(' opt_arguments ')' { $$ = expr_call(s, @$, $1, $3); }
  | postfix '.' name          { $$ = expr_field(s, @$, $1, $3); }
  | postfix "of" base         { $$ = expr_of(s, @$, $1, $3); }
  ;
block_like: if | block { $$ = expr_block(s, $1); } ;

/* ---- the same at the start of a statement ---- */
or_start: and_start | or_start "or" and { $$ = expr_binary(s, @$, BINARY_OR, @2, $1, $3); } ;
and_start: not_start | and_start "and" not { $$ = expr_binary(s, @$, BINARY_AND, @2, $1, $3); } ;
not_start: comparison_start | "not" not { $$ = expr_unary(s, @$, UNARY_NOT, @1, $2); } ;
comparison_start: sum_start
  | sum_start comparison_op sum { $$ = expr_binary(s, @$, $2, @2, $1, $3); }
  | sum_start comparison_op sum comparison_op sum { $$ = chained(s, @$); }
  ;
sum_start: product_start
  | sum_start '+' product     { $$ = expr_binary(s, @$, BINARY_ADD, @2, $1, $3); }
  | sum_start '-' product     { $$ = expr_binary(s, @$, BINARY_SUB, @2, $1, $3); }
  ;
product_start: unary_start | product_start product_op unary { $$ = expr_binary(s, @$, $2, @2, $1, $3); } ;
unary_start: power_start
  | '-' unary                 { $$ = expr_unary(s, @$, UNARY_NEG, @1, $2); }
  | '+' unary
      { $$ = $2; plus_begins(s, @1); }
  ;
power_start: postfix_start | postfix_start '^' unary { $$ = expr_binary(s, @$, BINARY_POW, @2, $1, $3); } ;
postfix_start: primary
  | postfix_start '[' covers ']' { $$ = expr_bracket(s, @$, $1, &$3); }
  | postfix_start '(' opt_arguments ')' { $$ = expr_call(s, @$, $1, $3); }
  | postfix_start '.' name    { $$ = expr_field(s, @$, $1, $3); }
  | postfix_start "of" base   { $$ = expr_of(s, @$, $1, $3); }
  ;

primary: name                 { $$ = expr_name(s, $1); }
  | INTEGER                   { $$ = expr_integer(s, @$, $1.value, $1.text); }
  | FLOAT                     { $$ = expr_floating(s, @$, $1.value, $1.text); }
  | BAD_NUMBER                { $$ = expr_poison(s, @$); }
  | "true"                    { $$ = expr_boolean(s, @$, true); }
  | "false"                   { $$ = expr_boolean(s, @$, false); }
  | '(' expr ')'              { $$ = $2; $$->in_parens = true; }
  | '(' two_exprs opt_comma ')' { $$ = expr_tuple(s, @$, $2); }
  | '[' exprs opt_comma ']'   { $$ = expr_array(s, @$, $2); }
  | '[' "for" ranges filter ':' expr ']' { $$ = expr_comprehension(s, @$, range_join(@3, @6), $3, $4, $6); }
  | KIND '(' opt_arguments ')' { $$ = expr_cast(s, @$, $1, $3); }
  | "var" '(' opt_arguments ')' { $$ = expr_var_call(s, @$, $3); }
  | "fn" '(' opt_parameters ')' opt_result block { $$ = expr_lambda(s, @$, $3, $5, $6); }
  ;
comparison_op: '<' { $$ = BINARY_LT; } | '>' { $$ = BINARY_GT; } | "<=" { $$ = BINARY_LE; } | ">=" { $$ = BINARY_GE; }
  | "==" { $$ = BINARY_EQ; } | "!=" { $$ = BINARY_NE; } ;
product_op: '*' { $$ = BINARY_MUL; } | '/' { $$ = BINARY_DIV; } | '%' { $$ = BINARY_MOD; } | '@' { $$ = BINARY_MATMUL; } ;
name: NAME | AS | BY | OF | CHECKPOINT | RULE ;
%%
/* Symbols that an error message names by what they begin rather than one by one are told by a member of their set. */
static int yyreport_syntax_error(const yypcontext_t *context, ParseState *s) {
  enum { WANTED_MAX = 96 };
  yysymbol_kind_t symbols[WANTED_MAX];
  int n = yypcontext_expected_tokens(context, symbols, WANTED_MAX);
  const char *wanted[WANTED_MAX];
  for (int i = 0; i < n; i++)
    wanted[i] = yysymbol_name(symbols[i]);
  report_syntax_error(s, *yypcontext_location(context), wanted, n);
  return 0;
}
