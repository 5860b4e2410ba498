/* The table of measurements: for each row the objective and its derivative as gradc makes them, the derivative written
   by hand in C, and peers where they are; all in turns, in the same run, medians; beside the least that a derivative
   costs.

   usage: table [PYTHON SCRIPT TAPED] [WORD..]: rows whose names contain a word; without, all. PYTHON SCRIPT NAME and
   TAPED-NAME are the peers. */
#include "bench.h"
#include "compare.h"
#include "gradc.h"
#include "peak.h"
#include "peer.h"
#include <stdio.h>
#include <string.h>

enum {
  OBJECTIVE,
  OURS,
  BY_HAND,
  FIRST_PEER,
  PEERS = 6,
  FIRST_TAPED = 4,
  COLUMNS = FIRST_PEER + PEERS,
  MOST_RUNS = 41,
  LEAST_RUNS = 3
};
static const double BUDGET = 2000, SHORTEST = 0.2; /* milliseconds of a row, and of one timing */

typedef struct Table {
  Peak peak;
  Peer peers[PEERS];
  int words;
  char **word;
  int failed;
} Table;

typedef struct Column {
  bool there;
  int calls; /* in one timing */
  double times[MOST_RUNS];
} Column;

static int call(const Row *row, int column, void *const *to) {
  return column == OBJECTIVE ? row->objective(row) : (column == OURS ? row->derivative : row->by_hand)(row, to);
}

/* Milliseconds of one call. */
static double time_once(Table *table, const Row *row, int column, int calls, void *const *to) {
  if (column >= FIRST_PEER)
    return 1e-6 * peer_run(&table->peers[column - FIRST_PEER]);
  const double start = bench_now();
  for (int i = 0; i < calls; i++)
    call(row, column, to);
  return (bench_now() - start) / calls / row->repeats;
}

static void *const *make_outputs(Row *row) {
  void **to = row_room(row, MOST_ARRAYS, sizeof *to);
  for (int i = 0; i < row->output_count; i++)
    to[i] = row_room(row, array_count(&row->outputs[i]), sizeof(double));
  return to;
}

static bool hand_agrees(const char *name, const Row *row, void *const *ours, void *const *hand) {
  bool same = true;
  for (int i = 0; i < row->output_count; i++) {
    const Array *like = &row->outputs[i];
    const double off = array_difference(like->kind, ours[i], like->kind, hand[i], array_count(like));
    if (off <= row->tolerance)
      continue;
    fprintf(stderr, "bench: %s: output %d is off by %g from the one by hand\n", name, i, off);
    same = false;
  }
  return same;
}

/* Which columns there are, whether they agree, and how often each is called in one timing; the number of timings. */
static int prepare(Table *table, const Case *of, const Row *row, Column *columns, void *const *ours,
                   void *const *hand) {
  double total = 0;
  for (int c = 0; c < COLUMNS; c++) {
    columns[c] = (Column){.there = c < BY_HAND || (c == BY_HAND && row->by_hand), .calls = 1};
    if (c < FIRST_PEER && columns[c].there && call(row, c, c == BY_HAND ? hand : ours)) {
      fprintf(stderr, "bench: %s: %s\n", of->name, gradc_last_error());
      return 0;
    }
    if (c >= FIRST_PEER)
      columns[c].there = peer_load(&table->peers[c - FIRST_PEER], of->model, row, ours);
    if (!columns[c].there)
      continue;
    const double once = time_once(table, row, c, 1, c == BY_HAND ? hand : ours);
    columns[c].calls = once * row->repeats < SHORTEST ? (int)(SHORTEST / (once * row->repeats + 1e-5)) + 1 : 1;
    total += once * row->repeats * columns[c].calls;
  }
  if (row->by_hand && !hand_agrees(of->name, row, ours, hand))
    table->failed = 1;
  const double runs = BUDGET / total;
  return runs > MOST_RUNS ? MOST_RUNS : runs < LEAST_RUNS ? LEAST_RUNS : (int)runs;
}

/* -- Printing */

static void print_time(double ms) {
  if (ms < 1e-3)
    printf("  %7.1f ns", 1e6 * ms);
  else if (ms < 1)
    printf("  %7.2f us", 1e3 * ms);
  else
    printf("  %7.2f ms", ms);
}

static void print_factor(bool there, double factor) {
  if (there)
    printf("  %6.2f", factor);
  else
    printf("  %6s", "-");
}

/* Peers by their factor alone, to three digits. */
static void print_peer(bool there, double factor) {
  if (!there)
    printf("  %8s", "-");
  else if (factor < 10)
    printf("  %8.2f", factor);
  else
    printf("  %8.*f", factor < 100, factor);
}

static void print_head(const Table *table) {
  printf("One core: %.1f Gflop/s in f64, %.1f in f32, %.1f GB/s. x, and the peers: by how much more than our "
         "derivative.\n\n",
         1e-9 * table->peak.flops64, 1e-9 * table->peak.flops32, 1e-9 * table->peak.bytes);
  printf("%-26s  %10s  %10s  %6s  %10s  %6s", "", "objective", "derivative", "ratio", "C by hand", "x");
  for (int p = 0; p < PEERS; p++)
    printf("  %8s", table->peers[p].name);
  printf("  %8s  %8s  %10s  %6s\n", "Mflop", "MB", "floor", "x");
}

static void print_row(const Table *table, const char *name, const Row *row, const double *median, const bool *there) {
  printf("%-26s", name);
  print_time(median[OBJECTIVE]);
  print_time(median[OURS]);
  print_factor(true, median[OURS] / median[OBJECTIVE]);
  if (there[BY_HAND])
    print_time(median[BY_HAND]);
  else
    printf("  %10s", "-");
  print_factor(there[BY_HAND], median[BY_HAND] / median[OURS]);
  for (int c = FIRST_PEER; c < COLUMNS; c++)
    print_peer(there[c], median[c] / median[OURS]);
  const bool single = row->outputs[0].kind == 'f';
  if (row->flops == 0) {
    printf("  %8s  %8.3g  %10s  %6s\n", "-", 1e-6 * row->bytes, "-", "-");
    fflush(stdout);
    return;
  }
  const double by_flops = 1e3 * row->flops / (single ? table->peak.flops32 : table->peak.flops64);
  const double by_bytes = 1e3 * row->bytes / table->peak.bytes, floor = by_flops > by_bytes ? by_flops : by_bytes;
  printf("  %8.3g  %8.3g", 1e-6 * row->flops, 1e-6 * row->bytes);
  print_time(floor);
  printf("  %6.2f\n", median[OURS] / floor);
  fflush(stdout);
}

/* -- Rows */

static void measure(Table *table, const Case *of) {
  Memory memory = {0};
  Row row = {.memory = &memory, .sizes = of->sizes, .repeats = 1, .tolerance = 1e-9};
  of->build(&row);
  void *const *ours = make_outputs(&row), *const *hand = make_outputs(&row);
  Column *columns = row_room(&row, COLUMNS, sizeof *columns);
  const int runs = prepare(table, of, &row, columns, ours, hand);
  double median[COLUMNS] = {0};
  bool there[COLUMNS];
  for (int run = 0; run < runs; run++)
    for (int c = 0; c < COLUMNS; c++)
      if (columns[c].there)
        columns[c].times[run] = time_once(table, &row, c, columns[c].calls, c == BY_HAND ? hand : ours);
  for (int c = 0; c < COLUMNS; c++) {
    there[c] = columns[c].there;
    if (runs && there[c])
      median[c] = bench_median(columns[c].times, runs);
  }
  if (runs)
    print_row(table, of->name, &row, median, there);
  else
    table->failed = 1;
  memory_free(&memory);
}

static bool is_wanted(const Table *table, const char *name) {
  for (int i = 0; i < table->words; i++)
    if (strstr(name, table->word[i]))
      return true;
  return table->words == 0;
}

static void start_peers(Table *table, char **where) {
  static const char *const names[PEERS] = {"PyTorch", "compiled", "JAX", "CasADi", "ADOL-C", "Sacado"};
  for (int p = 0; p < PEERS; p++) {
    char taped[4096];
    if (!where) {
      table->peers[p] = (Peer){.name = names[p]};
      continue;
    }
    snprintf(taped, sizeof taped, "%s-%s", where[2], names[p]);
    const bool python = p < FIRST_TAPED;
    table->peers[p] = peer_start(
        names[p], (const char *const[]){python ? where[0] : taped, python ? where[1] : NULL, names[p], NULL});
  }
}

int main(int argc, char **argv) {
  static const Case *const tables[] = {fit_cases,        gradbench_cases, network_cases,
                                       simulation_cases, sparse_cases,    small_cases};
  Table table = {.peak = peak_measure(), .words = argc > 4 ? argc - 4 : 0, .word = argv + 4};
  start_peers(&table, argc > 3 ? argv + 1 : NULL);
  print_head(&table);
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (const Case *of = tables[t]; of->name; of++)
      if (is_wanted(&table, of->name))
        measure(&table, of);
  for (int p = 0; p < PEERS; p++)
    peer_stop(&table.peers[p]);
  gradc_release();
  return table.failed;
}
