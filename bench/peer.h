/* A peer: a process of peers.py in the virtual environment, which runs a row when told to. */
#ifndef GRADC_BENCH_PEER_H
#define GRADC_BENCH_PEER_H
#include "row.h"
#include <stdio.h>

typedef struct Peer {
  const char *name;
  FILE *to, *from; /* NULL where there is none */
} Peer;

/* Without a peer where the environment, or the library in it, is missing. */
Peer peer_start(const char *python, const char *script, const char *name);
/* Whether it has that row, agrees about the derivative, and is ready to run it. */
bool peer_load(Peer *peer, const char *model, const Row *row, void *const *ours);
/* Nanoseconds of one call. */
double peer_run(Peer *peer);
void peer_stop(Peer *peer);

#endif
