/* Nests of loops that become functions of their own: those that are like others, which are then compiled once, and
   those of functions that would become too large.

   The lowering notes where a nest's code begins and ends; all is done when the module is written, before LLVM's passes.
   A nest's blocks are moved to a function
       [i32 status] nest(what it uses from outside.., where to put what is used after it..)
   and a call stands in their place.  Numbers in which nests of one shape differ are arguments as well. */
#include "codegen/nest.h"
#include <string.h>

enum {                     /* instructions */
       LARGE = 4000,       /* of a function: above, LLVM takes more than its share of the time */
       LEAST_SHARED = 50,  /* of nests that are alike: below, a call is no gain */
       LEAST_IN_LARGE = 12 /* of nests in large functions */
};

/* ---- noting */
void nest_begin(Body *b, const Op *op, NestMark *mark) {
  Unit *u = b->unit;
  *mark = (NestMark){.number = -1, .around = b->inside_nest};
  if (!b->outlines || b->inside_nest || b->vector || b->plain_loops)
    return;
  const Nest nest = {.begin = new_block(b, "nest")};
  LLVMBuildBr(b->at, nest.begin);
  begin_block(b, nest.begin);
  mark->number = u->nests.n;
  vec_push(u->arena, u->nests, nest);
  b->inside_nest = !op->at.loop->ncarries; /* else those inside may be nests too */
}

void nest_end(Body *b, const NestMark *mark) {
  b->inside_nest = mark->around;
  if (mark->number < 0)
    return;
  LLVMBasicBlockRef end = new_block(b, "");
  LLVMBuildBr(b->at, end);
  begin_block(b, end);
  b->unit->nests.at[mark->number].end = end;
  b->unit->nests.at[mark->number].next = b->unit->nests.n;
}

/* ---- which nests */
typedef struct Candidate {
  uint64_t hash[2];
  int size;   /* instructions; 0: not to be moved */
  bool large; /* the function is */
  LLVMValueRef around;
  int next;    /* the next member of its group, or -1 */
  int members; /* of the group; 0: not its first */
} Candidate;

static void hash_words(const NestKey *k, uint64_t hash[2]) {
  uint64_t x = 0x9E3779B97F4A7C15u, y = 0xC2B2AE3D27D4EB4Fu;
  for (int i = 0; i < k->words.n; i++) {
    x = (x ^ k->words.at[i]) * 0xFF51AFD7ED558CCDu;
    x ^= x >> 32;
    y = (y + k->words.at[i]) * 0x9FB21C651E98DF25u;
    y ^= y >> 29;
  }
  hash[0] = x;
  hash[1] = y;
}

static int *buckets_for(Arena *arena, int n, unsigned *mask) {
  unsigned size = 16;
  while (size < 2 * (unsigned)n)
    size *= 2;
  int *buckets = NEW_ARRAY(arena, int, size);
  for (unsigned i = 0; i < size; i++)
    buckets[i] = -1;
  *mask = size - 1;
  return buckets;
}

static int count_instructions(LLVMValueRef function) {
  int n = 0;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst; inst = LLVMGetNextInstruction(inst))
      n++;
  return n;
}

/* Members of a group follow each other in the order in which they were written. */
static Candidate *find_candidates(Unit *u, Arena *arena) {
  const int n = u->nests.n;
  unsigned mask;
  Candidate *all = NEW_ARRAY(arena, Candidate, n);
  int *buckets = buckets_for(arena, n, &mask), *last = NEW_ARRAY(arena, int, n);
  LLVMValueRef function = NULL;
  bool large = false;
  for (int i = 0; i < n; i++) {
    Candidate *c = &all[i];
    LLVMValueRef around = LLVMGetBasicBlockParent(u->nests.at[i].begin);
    if (around != function)
      large = count_instructions(function = around) > LARGE;
    Arena local = {0};
    NestKey k;
    nest_key(&k, &local, &u->nests.at[i]);
    *c = (Candidate){.size = k.odd ? 0 : k.codes.n, .large = large, .around = around, .next = -1, .members = 1};
    hash_words(&k, c->hash);
    arena_free(&local);
    unsigned at = (unsigned)c->hash[0] & mask;
    while (buckets[at] >= 0 && memcmp(all[buckets[at]].hash, c->hash, sizeof c->hash) != 0)
      at = (at + 1) & mask;
    if (buckets[at] < 0)
      buckets[at] = i;
    const int first = buckets[at];
    if (first != i) {
      all[last[first]].next = i;
      c->members = 0;
      all[first].members++;
    }
    last[first] = i;
  }
  return all;
}

/* What is inside of a nest goes with it. */
static void leave_out(Unit *u, Candidate *all, int number) {
  for (int i = number; i < u->nests.at[number].next; i++)
    all[i].size = 0;
}

static bool equal_words(const NestKey *x, const NestKey *y) {
  return !x->odd && !y->odd && x->words.n == y->words.n &&
         !memcmp(x->words.at, y->words.at, sizeof *x->words.at * (size_t)x->words.n);
}

/* The first member has been read; one that turns out to be another than its hash says stays where it is. */
static void share(Unit *u, Candidate *all, int first) {
  Arena arena = {0};
  Group g;
  group_begin(&g, u, &arena, &u->nests.at[first]);
  VEC(NestKey *) members = {0};
  VEC(int) numbers = {0};
  for (int i = all[first].next; i >= 0; i = all[i].next) {
    NestKey *k = NEW(&arena, NestKey);
    if (!all[i].size)
      continue;
    nest_key(k, &arena, &u->nests.at[i]);
    if (!equal_words(&g.first, k))
      continue;
    vec_push(&arena, members, k);
    vec_push(&arena, numbers, i);
    group_join(&g, k);
  }
  if (members.n) {
    group_declare(&g);
    for (int i = 0; i < members.n; i++) {
      group_replace(&g, members.at[i]);
      leave_out(u, all, numbers.at[i]);
    }
    group_move_first(&g);
    leave_out(u, all, first);
  }
  arena_free(&arena);
}

/* ---- large functions */
static int move_apart(Unit *u, Candidate *all, int number) {
  Arena arena = {0};
  Group g;
  group_begin(&g, u, &arena, &u->nests.at[number]);
  const int size = g.first.odd ? 0 : g.first.codes.n;
  if (size >= LEAST_IN_LARGE && size <= LARGE / 2) {
    group_declare(&g);
    group_move_first(&g);
    leave_out(u, all, number);
  }
  arena_free(&arena);
  return size;
}

static void cut_large_functions(Unit *u, Candidate *all) {
  LLVMValueRef function = NULL;
  int size = 0;
  for (int i = 0; i < u->nests.n; i++) {
    if (!all[i].large || !all[i].size)
      continue;
    LLVMValueRef around = LLVMGetBasicBlockParent(u->nests.at[i].begin);
    if (around != function)
      size = count_instructions(function = around);
    if (size > LARGE)
      size -= move_apart(u, all, i);
  }
}

void outline_nests(Unit *u) {
  Arena arena = {0};
  Candidate *all = find_candidates(u, &arena);
  for (int i = 0; i < u->nests.n; i++)
    if (all[i].members > 1 && all[i].size >= (all[i].large ? LEAST_IN_LARGE : LEAST_SHARED))
      share(u, all, i);
  cut_large_functions(u, all);
  LLVMValueRef before = NULL;
  for (int i = 0; i < u->nests.n; i++)
    if (all[i].large && all[i].around != before)
      glue_make_simple(u, before = all[i].around);
  u->nests.n = 0;
  arena_free(&arena);
}
