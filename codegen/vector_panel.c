/* Accumulators to which all lanes of a vectorised loop add at one place: a panel, one vector of the processor's for
   each element, summed when the loop is over.  The halves of a step's lanes are added to it one after the other, so
   that products become fused multiply-adds.

   A panel costs its clearing and summing each time that the loop runs, no more than the accumulator's own, and
   panel_lanes() times the accumulator's room in the cache: it pays for loops that run once a call, and up to the
   cache's size.  Where the accumulator's size is known to the call only, each addition is there in both forms, and a
   flag decides. */
#include "codegen/loop_code.h"
#include "ir/build.h"

enum {
  FRAME_PANEL = 64,      /* alignment */
  PANEL_BYTES = 1 << 20, /* at most: what the second cache holds, about */
};

int panel_lanes(const VectorLoop *v) {
  return v->lanes / 2;
}

Panel *vector_panel(const VectorLoop *v, const Value *handle) {
  for (int i = 0; i < v->panels.n; i++)
    if (v->panels.at[i].handle == handle)
      return &v->panels.at[i];
  return NULL;
}

/* ---- the plan */
bool panel_pays(const FuncStorage *f, const Op *loop, const Value *handle) {
  enum { SMALL = 256 };
  Module *m = f->func->module;
  int64_t count;
  Bound bound;
  if (loop->at.loop->nindices != 1 || loop->parent->owner || !kind_is_float(handle->type.kind))
    return false;
  if (size_is_const(type_count(m, handle->type), &count))
    return count <= SMALL;
  for (int i = 0; i < handle->type.rank; i++)
    if (!need_bound(m, handle->type.dims[i], &bound))
      return false; /* it could not be planned for */
  return true;
}

void panel_add(FuncStorage *f, VectorLoop *v, const Value *handle) {
  Arena *arena = f->func->module->arena;
  const Op *loop = v->loop;
  if (vector_panel(v, handle))
    return;
  Panel panel = {.handle = handle};
  if (handle->type.rank) {
    panel.place = NEW(arena, Place);
    *panel.place =
        (Place){.kind = PLACE_WORK, .type = handle->type, .lanes = panel_lanes(v), .most_bytes = PANEL_BYTES};
    panel.place->count = type_count(f->func->module, handle->type);
    panel.place->from = op_note(loop)->begin;
    panel.place->to = op_note(loop)->end;
    panel.place->home = loop->parent;
  }
  vec_push(arena, v->panels, panel);
}

/* ---- its code */
static LLVMTypeRef part_type(Body *b, Kind k) {
  return LLVMVectorType(memory_type(b->unit, k), (unsigned)panel_lanes(b->vector));
}

static LLVMValueRef part_at(Body *b, const Panel *p, LLVMValueRef offset) {
  return LLVMBuildInBoundsGEP2(b->at, part_type(b, p->handle->type.kind), p->address, &offset, 1, "");
}

static LLVMValueRef load_part(Body *b, const Panel *p, LLVMValueRef offset) {
  const Kind k = p->handle->type.kind;
  LLVMValueRef x = LLVMBuildLoad2(b->at, part_type(b, k), part_at(b, p, offset), "");
  LLVMSetAlignment(x, (unsigned)(kind_bytes(k) * panel_lanes(b->vector)));
  return x;
}

LLVMValueRef panels_fit(Body *b, const VectorLoop *v) {
  LLVMValueRef fit = NULL;
  for (int i = 0; i < v->panels.n; i++) {
    const Type t = v->panels.at[i].handle->type;
    if (size_is_const(type_count(b->unit->module, t), NULL))
      continue;
    LLVMValueRef most = const_i64(b->unit, PANEL_BYTES / (kind_bytes(t.kind) * panel_lanes(v)));
    LLVMValueRef fits = LLVMBuildICmp(b->at, LLVMIntSLE, count_code(b, t), most, "");
    fit = fit ? LLVMBuildAnd(b->at, fit, fits, "") : fits;
  }
  return fit;
}

void panels_clear(Body *b) {
  Unit *u = b->unit;
  for (int i = 0; !b->vector->no_panels && i < b->vector->panels.n; i++) {
    Panel *p = &b->vector->panels.at[i];
    const Type t = p->handle->type;
    const int bytes = kind_bytes(t.kind) * panel_lanes(b->vector);
    p->address = p->place ? address_of(b, p->place)
                          : entry_alloca(b, memory_type(u, t.kind), panel_lanes(b->vector), FRAME_PANEL, "");
    LLVMValueRef size = LLVMBuildNSWMul(b->at, count_code(b, t), const_i64(u, bytes), "");
    LLVMBuildMemSet(b->at, p->address, LLVMConstInt(u->i8, 0, false), size, FRAME_PANEL);
  }
}

void panels_sum(Body *b) {
  for (int i = 0; !b->vector->no_panels && i < b->vector->panels.n; i++) {
    const Panel *p = &b->vector->panels.at[i];
    CountedLoop l;
    counted_begin(b, &l, count_code(b, p->handle->type), "panel");
    vector_add_sum(b, p->handle, l.index, load_part(b, p, l.index));
    counted_end(b, &l);
  }
}

void panel_acc_add(Body *b, const Panel *p, LLVMValueRef offset, LLVMValueRef x) {
  const Kind k = p->handle->type.kind;
  const int n = panel_lanes(b->vector);
  LLVMValueRef sum = load_part(b, p, offset);
  b->unit->lanes = n;
  for (int first = 0; first < 2 * n; first += n)
    sum = arithmetic(b, OP_ADD, k, sum, vector_part_of(b, x, first, n), b->unit->fast_reduce);
  b->unit->lanes = 0;
  LLVMSetAlignment(LLVMBuildStore(b->at, sum, part_at(b, p, offset)), (unsigned)(kind_bytes(k) * n));
}
