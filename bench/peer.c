#define _XOPEN_SOURCE 700 /* fork, pipe, fdopen */
#include "peer.h"
#include "compare.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The other ends of the pipes become the child's input and output. */
static void become_peer(const int *in, const int *out, const char *const *command) {
  dup2(in[0], STDIN_FILENO);
  dup2(out[1], STDOUT_FILENO);
  close(in[0]), close(in[1]), close(out[0]), close(out[1]);
  char *words[4] = {0};
  for (int i = 0; i < 3 && command[i]; i++)
    words[i] = strdup(command[i]);
  execv(words[0], words);
  _exit(127);
}

static bool read_line(Peer *peer, char *line, int size) {
  return peer->from && fgets(line, size, peer->from);
}

Peer peer_start(const char *name, const char *const *command) {
  Peer peer = {.name = name};
  int in[2], out[2];
  char line[64];
  if (access(command[0], X_OK) || pipe(in) || pipe(out))
    return peer;
  const pid_t child = fork();
  if (child == 0)
    become_peer(in, out, command);
  close(in[0]), close(out[1]);
  peer.to = fdopen(in[1], "w");
  peer.from = fdopen(out[0], "r");
  if (child < 0 || !peer.to || !read_line(&peer, line, sizeof line) || strcmp(line, "ready\n") != 0)
    peer_stop(&peer);
  return peer;
}

void peer_stop(Peer *peer) {
  if (peer->to)
    fclose(peer->to);
  if (peer->from)
    fclose(peer->from);
  peer->to = peer->from = NULL;
}

static void send_inputs(Peer *peer, const char *model, const Row *row) {
  fprintf(peer->to, "load %s %d\n", model, row->input_count);
  for (int i = 0; i < row->input_count; i++) {
    const Array *array = &row->inputs[i];
    fprintf(peer->to, "%s %c", array->name, array->kind);
    for (int axis = 0; axis < array->rank; axis++)
      fprintf(peer->to, " %lld", (long long)array->sizes[axis]);
    putc('\n', peer->to);
    fwrite(array->data, 1, array_bytes(array), peer->to);
  }
  fflush(peer->to);
}

/* It gives its derivative as doubles, one array after another. */
static bool agrees(Peer *peer, const char *model, const Row *row, void *const *ours) {
  bool same = true;
  for (int i = 0; i < row->output_count; i++) {
    const Array *like = &row->outputs[i];
    const int64_t n = array_count(like);
    double *theirs = malloc(sizeof *theirs * (size_t)(n ? n : 1));
    if (!theirs || fread(theirs, sizeof *theirs, (size_t)n, peer->from) != (size_t)n) {
      free(theirs);
      return false;
    }
    const double off = array_difference(like->kind, ours[i], 'd', theirs, n);
    if (!(off <= row->tolerance)) {
      fprintf(stderr, "bench: %s: %s's output %d is off by %g\n", model, peer->name, i, off);
      same = false;
    }
    free(theirs);
  }
  return same;
}

bool peer_load(Peer *peer, const char *model, const Row *row, void *const *ours) {
  char line[256];
  if (!peer->to || !model)
    return false;
  send_inputs(peer, model, row);
  if (!read_line(peer, line, sizeof line)) {
    fprintf(stderr, "bench: %s ended\n", peer->name);
    peer_stop(peer);
    return false;
  }
  return !strcmp(line, "loaded\n") && agrees(peer, model, row, ours);
}

double peer_run(Peer *peer) {
  char line[64];
  fputs("run\n", peer->to);
  fflush(peer->to);
  return read_line(peer, line, sizeof line) ? strtod(line, NULL) : 0;
}
