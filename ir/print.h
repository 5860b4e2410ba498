/* The textual form of the IR.  What is printed is read back by ir/parse_ir.h as the same module: printed again it is
   the same text, byte for byte.  Only `origin` links and scratch fields are left out.

     module "model.ad" strict
     func @loss(%n: size, %x: f64[%n]) -> (loss: f64) !3:4-8 {
       %s = loop (%i < %n) out(sum) -> f64 !4:3-20 {
         %y = index %x[%i] : f64
         yield %y
       }
       return %s
     }
     func @loss_grad(%n: size, %x: f64[%n]) -> (d_x: f64[%n]) = grad @loss wrt(%x)
     export @loss_grad as loss_grad

   A value is called by its name, made unique by a suffix .1, .2, .., or by a number.  `!line:column-column` is its
   place in the source, with the file's name where it is not the module's.  docs/ir.md has the grammar. */
#ifndef GRADC_IR_PRINT_H
#define GRADC_IR_PRINT_H
#include "ir/ir.h"
#include <stdio.h>

void print_module(FILE *out, Module *m);
void print_func(FILE *out, Func *f);
/* One operation as one line, what is in its regions left out; for messages. */
const char *op_brief(Arena *a, const Op *op);
void print_op_brief(FILE *out, const Op *op);
#endif
