/* From a module of the IR to an LLVM module: what the exports reach, callees before callers. */
#include "codegen/body.h"
#include <llvm-c/Target.h>
#include <string.h>

typedef VEC(Func *) Funcs;

static void visit_func(Unit *u, Func *f, Funcs *order);

typedef struct Visit {
  Unit *unit;
  Funcs *order;
} Visit;

static void visit_call(Op *op, void *arg) {
  Visit *v = arg;
  if (op->code == OP_CALL && !op->at.callee->is_extern)
    visit_func(v->unit, op->at.callee, v->order);
}

static void visit_func(Unit *u, Func *f, Funcs *order) {
  FuncNote *note = func_note(f);
  if (note) {
    if (note->planning)
      internal_error("'%s' calls itself", f->name);
    return;
  }
  if (f->derive.op != DERIVE_NONE && !f->body->nyields)
    internal_error("'%s' has not been derived", f->name);
  f->note = note = NEW(u->arena, FuncNote);
  note->planning = true;
  Visit v = {.unit = u, .order = order};
  region_walk(f->body, visit_call, &v);
  note->planning = false;
  vec_push(u->arena, *order, f);
}

static Funcs reached(Unit *u) {
  Funcs order = {0};
  for (Func *f = u->module->funcs; f; f = f->next)
    f->note = NULL;
  for (const Export *e = u->module->exports; e; e = e->next) {
    visit_func(u, e->func, &order);
    func_note(e->func)->is_exported = true;
    func_note(e->func)->is_part |= e->part != PART_WHOLE;
    if (e->cut.sizes)
      visit_func(u, e->cut.sizes, &order);
  }
  return order;
}

/* Whether the list has "+name" or, for the other sign, "-name". */
static bool has_feature(const char *features, char sign, const char *name) {
  const size_t n = strlen(name);
  for (const char *p = features; (p = strstr(p, name)); p += n)
    if (p > features && p[-1] == sign && (p[n] == ',' || !p[n]))
      return true;
  return false;
}

/* The processor's name tells less than a list of its features does, but names that say the level, and those of common
   processors, are known: the bits of its vectors, where it has AVX2 (and then fused multiply-add) or AVX-512. */
static int named_bits(const char *cpu) {
  static const char *const with_512[] = {"x86-64-v4",     "skylake-avx512", "cascadelake", "icelake", "sapphirerapids",
                                         "emeraldrapids", "graniterapids",  "znver4",      "znver5"};
  static const char *const with_256[] = {"x86-64-v3",  "haswell", "broadwell", "skylake", "alderlake",
                                         "raptorlake", "znver1",  "znver2",    "znver3"};
  for (size_t i = 0; i < sizeof with_512 / sizeof *with_512; i++)
    if (!strncmp(cpu, with_512[i], strlen(with_512[i])))
      return 512;
  for (size_t i = 0; i < sizeof with_256 / sizeof *with_256; i++)
    if (!strncmp(cpu, with_256[i], strlen(with_256[i])))
      return 256;
  return 0;
}

/* The bits of the widest vectors. */
static int vector_bits(const char *cpu, const char *features) {
  int bits = has_feature(features, '+', "avx512f") ? 512 : has_feature(features, '+', "avx2") ? 256 : 128;
  if (bits < named_bits(cpu))
    bits = named_bits(cpu);
  return has_feature(features, '-', "avx512f") && bits > 256 ? 256 : bits;
}

/* Whether x * y + z with one rounding is an instruction; where that is not known, it is not. */
static bool has_fma(const char *triple, const char *cpu, const char *features) {
  static const char *const always[] = {"aarch64", "arm64", "riscv64", "powerpc64", "s390x"};
  for (size_t i = 0; i < sizeof always / sizeof *always; i++)
    if (!strncmp(triple, always[i], strlen(always[i])))
      return true;
  const bool x86 = !strncmp(triple, "x86_64", 6) || !strncmp(triple, "i686", 4);
  return x86 && !has_feature(features, '-', "fma") &&
         (named_bits(cpu) || has_feature(features, '+', "fma") || has_feature(features, '+', "avx512f"));
}

void unit_begin(Unit *u, Module *m, const CodegenOptions *o, LLVMContextRef context, LLVMTargetMachineRef tm) {
  *u = (Unit){.module = m, .options = o, .arena = m->arena, .context = context};
  u->llvm = LLVMModuleCreateWithNameInContext(m->file ? m->file : "gradc", context);
  char *triple = LLVMGetTargetMachineTriple(tm);
  u->triple = arena_name(m->arena, triple);
  LLVMDisposeMessage(triple);
  LLVMSetTarget(u->llvm, u->triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
  LLVMSetModuleDataLayout(u->llvm, layout);
  LLVMDisposeTargetData(layout);
  u->i1 = LLVMInt1TypeInContext(context);
  u->i8 = LLVMInt8TypeInContext(context);
  u->i32 = LLVMInt32TypeInContext(context);
  u->i64 = LLVMInt64TypeInContext(context);
  u->f32 = LLVMFloatTypeInContext(context);
  u->f64 = LLVMDoubleTypeInContext(context);
  u->ptr = LLVMPointerTypeInContext(context, 0);
  u->nothing = LLVMVoidTypeInContext(context);
  u->fast = m->fast_math ? LLVMFastMathAll : m->strict ? LLVMFastMathNone : LLVMFastMathAllowContract;
  u->fast_reduce = m->strict ? LLVMFastMathNone : u->fast | LLVMFastMathAllowReassoc;
  char *cpu = LLVMGetTargetMachineCPU(tm), *features = LLVMGetTargetMachineFeatureString(tm);
  u->vector_bits = vector_bits(cpu, features);
  u->has_fma = has_fma(u->triple, cpu, features);
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
  u->sign_extends = !strncmp(u->triple, "riscv64", 7);
  if (o->debug_lines)
    debug_begin(u);
}

enum { MANY_NESTS = 500 };

LLVMModuleRef codegen_llvm(Module *m, const CodegenOptions *o, LLVMContextRef context, LLVMTargetMachineRef tm) {
  Unit u;
  unit_begin(&u, m, o, context, tm);
  const Funcs order = reached(&u);
  for (int i = 0; i < order.n; i++) {
    Func *f = order.at[i];
    if (o->opt_level >= 1)
      settle_checks(f);
    func_note(f)->storage = storage_analyse(f);
    if (o->warn_copy)
      copies_report(func_note(f)->storage);
    wanted_analyse(func_note(f)->storage);
    if (o->opt_level)
      concat_plan(func_note(f)->storage);
    if (o->opt_level >= 2 && !m->strict && !o->scalar)
      vector_plan(func_note(f)->storage, u.vector_bits);
    func_note(f)->plan = workspace_plan(func_note(f)->storage, o->threads);
    declare_func(&u, f);
    work_function(&u, f);
    if (func_note(f)->plan->part)
      part_functions(&u, f);
  }
  for (int i = 0; i < order.n; i++) {
    lower_func(&u, order.at[i]);
    if (u.nests.n >= MANY_NESTS) /* not to have the code of all in memory */
      outline_nests(&u);
  }
  outline_nests(&u);
  for (const Export *e = m->exports; e; e = e->next)
    lower_export(&u, e);
  debug_end(&u);
  return u.llvm;
}
