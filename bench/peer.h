/* A peer: a process, of peers.py or bench/taped, which runs a row when told to. */
#ifndef GRADC_BENCH_PEER_H
#define GRADC_BENCH_PEER_H
#include "row.h"
#include <stdio.h>

typedef struct Peer {
  const char *name;
  FILE *to, *from; /* NULL where there is none */
} Peer;

/* Runs a command, NULL behind its words; without a peer where the program, or the library that it is about, is missing.
 */
Peer peer_start(const char *name, const char *const *command);
/* Whether it has that row, agrees about the derivative, and is ready to run it. */
bool peer_load(Peer *peer, const char *model, const Row *row, void *const *ours);
/* Nanoseconds of one call. */
double peer_run(Peer *peer);
void peer_stop(Peer *peer);

#endif
