/* Where tensors live: the analysis before code is made.

   Each tensor value of a function owns memory, is a view of what others own, or is a fill (one scalar everywhere) that
   is written only where it is copied to.  Values that may share memory are merged into one Place.  Merging is asked for
   by edges: the points where a value becomes another (initial value to carry, yield to carry or result, old tensor to
   updated one).  An edge whose ends are in one place costs nothing; otherwise its code is a copy.

   Invariant: two values of one place are never alive at the same point, so that what is merged is right by itself and
   what is not is copied.  When in doubt, values are taken to be alive.

   Points are numbers in program order; a region and an operation have a first and a last point. */
#ifndef GRADC_CODEGEN_STORAGE_H
#define GRADC_CODEGEN_STORAGE_H
#include "ir/ir.h"
#include "ir/size.h"
#include <llvm-c/Core.h>

typedef struct Place Place;
typedef struct Storage Storage;

typedef enum PlaceKind {
  PLACE_WORK,   /* memory of the call; where, is decided by the plan (codegen/workspace.h) */
  PLACE_INPUT,  /* a parameter: not ours, read only, never merged */
  PLACE_OUTPUT, /* a result of the function: memory of the caller */
  PLACE_SLOT    /* what a stack result keeps of one iteration of its loop */
} PlaceKind;

typedef enum PlaceRoom { ROOM_PLANNED, ROOM_FRAME, ROOM_DYNAMIC } PlaceRoom;

struct Place {
  Place *into; /* merged into that one; NULL: is one of its own */
  PlaceKind kind;
  Type type;         /* of one of the values: all have one kind and one number of elements */
  const Size *count; /* of elements */
  const Op *loop;    /* SLOT: of this loop */
  const Op *call;    /* WORK: not a tensor's but the workspace of that call; or NULL */
  int number;        /* SLOT: which of the loop's results; OUTPUT: of the function's */
  VEC(Storage *) members;
  Place *twin;    /* WORK or OUTPUT: carries of one loop alternate between this place and that one */
  bool is_twin;   /* what is made in the loop, not the carry */
  Place *part_of; /* WORK: lies there, a part of it (codegen/concat.c), from this element on */
  const Size *part_offset;
  bool followed; /* a carry in it is read elsewhere while its loop runs */
  Place *stack;  /* of a stack: while a loop runs, the carry, and what is made for the next, lie in its slots */
  int from, to;  /* holds a value between these points at most */
  /* Set when all is merged: */
  const Region *home;   /* the innermost region around all of it */
  PlaceRoom room;       /* WORK */
  int slot;             /* ROOM_PLANNED: of the plan */
  int frame_bytes;      /* ROOM_FRAME */
  int lanes;            /* WORK: holds so many tensors, element by element: codegen/vector.h; 0: one */
  int most_bytes;       /* WORK: no more room is wanted, however large the tensors are; 0: as much as they are */
  bool of_product;      /* WORK: room for a product of matrices of these rows, columns and steps: find_product.c */
  LLVMValueRef address; /* while code is made */
};

typedef struct Use {
  int at;
  const Region *region;
  const Op *op; /* NULL: a region yields it, or none */
  bool direct;  /* of the value itself, not of a view of it */
} Use;

typedef enum StorageKind { STORAGE_OWN, STORAGE_VIEW, STORAGE_FILL } StorageKind;
struct Storage {
  Value *value; /* NULL: a slot or an output itself */
  StorageKind kind;
  Place *place;          /* OWN */
  VEC(Storage *) owners; /* VIEW: which it may lie in */
  bool whole;            /* VIEW: all of its one owner, in the same order */
  const Region *region;  /* where the value is defined */
  const Region *home;    /* where its memory has to exist: around the loop, for a carry */
  const Op *maker;       /* loop of a stack result */
  int def;
  VEC(Use) uses; /* of it and of its views */
};

typedef struct Edge {
  Value *from;
  Storage *to;
  int at, depth, order;
  const Region *region;
  Place *aside;    /* the value has to be put aside there before the edges beside it are taken */
  bool alternates; /* yield to carry: the two places change roles with each iteration */
  bool follows;    /* yield to carry: the carry is read where the yield was put */
  int kept;     /* yield to carry that alternates: 1 + the stack of the loop that has each value of the carry; or 0 */
  bool in_slot; /* carry to that stack's slot: it is made there */
} Edge;

/* A tensor that a loop joins with others: codegen/concat.c. */
typedef struct ConcatPart {
  struct ConcatPart *next;
  Value *value;
  const Size *offset; /* along the first axis */
  bool in_place;      /* it is made where it is to be */
} ConcatPart;

typedef struct RegionNote {
  int begin, end, depth;
  Edge **edges; /* of the yields: NULL for scalars */
  int nedges;
} RegionNote;

typedef enum Layout { LAYOUT_UNIFORM, LAYOUT_LANES, LAYOUT_STRIDED } Layout;
typedef struct VectorLoop VectorLoop;
typedef struct WrittenOut WrittenOut;

typedef struct Group Group;

typedef struct OpNote {
  int begin, start, end; /* start: after the initial values were read */
  RegionNote regions[2];
  Edge **edges; /* into it: of the operands that are initial values, by operand; update: one */
  int nedges;
  Edge **exits;            /* loop, while: from each carry to its result */
  uint64_t wants;          /* results of the function that it is for: codegen/wanted.c */
  VectorLoop *vector;      /* loop: runs in vectors; NULL: does not */
  WrittenOut *written_out; /* update: in a loop that runs in vectors, part of a tensor that is */
  ConcatPart *concat;      /* loop: it joins tensors; NULL: it does something else */
  Place *area;             /* call: memory for the callee's own workspace, or NULL */
  bool blocks;             /* call: runs in blocks, codegen/parallel.h */
  bool in_data;            /* update: codegen/lower_literal.c has done it */
  bool along;              /* loop: runs in no vectors, but a sum in it may: codegen/lower_dots.c */
  bool along_again;        /* and an iteration can be done twice */
  bool is_ahead;           /* has been written ahead of its turn: codegen/group.c */
  /* While its region is written: codegen/group.c */
  int order, ready, run, looked;
  unsigned char *levels; /* by function */
  Group *group;          /* a function's call, which is to be written with others */
} OpNote;

typedef enum EntryKnown { ENTRY_NOT_ASKED, ENTRY_KNOWN, ENTRY_UNKNOWN } EntryKnown;

typedef struct ValueNote {
  LLVMValueRef code;                 /* scalars: the value; tensors and accumulators: the address */
  LLVMValueRef at_entry, entry_code; /* the value as computed when that LLVM function begins */
  EntryKnown entry;                  /* whether it can be: codegen/workspace.h */
  LLVMValueRef lo, hi, ends_code;    /* its ends in that LLVM function: codegen/work_range.h */
  Storage *storage;                  /* tensors */
  /* Inside a loop that runs in vectors: codegen/vector.h */
  bool varying;            /* scalars: differs between lanes */
  int step;                /* i64: its growth from lane to lane, or STEP_UNKNOWN */
  Layout layout;           /* tensors and accumulators */
  const Size *lane_stride; /* LAYOUT_STRIDED */
  uint64_t wants;          /* results of the function that it is for */
  bool guarded;            /* made only where one of them is wanted */
  bool never;              /* a comparison: false in the part of a loop that is being written */
  /* In a loop that only reduces: codegen/loose.c */
  bool used, spoilt; /* by something; by something that does not hand NaN on to a sum */
  bool loose;        /* a mulz that may be a plain product */
  int divides;       /* how many quotients that may be plain it divides */
  /* In a function of few numbers: codegen/bare.c */
  bool bare;     /* a mulz or divz that may be a plain one */
  bool tainted;  /* depends on one */
  bool signless; /* nothing tells the signs of its zeros apart */
  /* In a loop that runs in tiles: codegen/lower_tiles.c */
  bool by_row;         /* differs between rows */
  LLVMValueRef *cells; /* in each cell of a tile */
} ValueNote;

/* The analysis of one function.  Notes hang on its values and operations. */
typedef struct FuncStorage {
  Module *module;
  Func *func;
  RegionNote body;
  int npoints;
  uint64_t all_wanted; /* the set of all results */
  VEC(Storage *) storages;
  VEC(Edge *) edges;
  VEC(Place *) places; /* those that are not merged into others, when done */
} FuncStorage;

static inline ValueNote *note_of(const Value *v) {
  return v->note;
}
static inline OpNote *op_note(const Op *op) {
  return op->note;
}
RegionNote *region_note(FuncStorage *f, const Region *r);
Place *place_of(const Storage *s); /* of what owns memory, after merging */

FuncStorage *storage_analyse(Func *f);

/* ---- wanted.c */
uint64_t wanted_bit(int result);
void wanted_analyse(FuncStorage *f);

/* ---- concat.c: which loops join tensors; after wanted_analyse */
void concat_plan(FuncStorage *f);

/* ---- copies.c: warns of what is copied again and again */
void copies_report(FuncStorage *f);

/* ---- between liveness.c and storage.c */
/* Numbers points, makes notes and storages with their uses, and the edges. */
FuncStorage *storage_begin(Func *f);
bool storages_interfere(FuncStorage *f, const Storage *a, const Storage *b);
/* The last point at which s holds what is still wanted. */
int storage_last_use(FuncStorage *f, const Storage *s);
bool region_within(const Region *inner, const Region *outer);
#endif
