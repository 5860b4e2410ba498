/* Random numbers of the fuzzer: splitmix64, the same on every machine. */
#include "tools/fuzz/fuzz.h"

uint64_t rng_next(Rng *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

int rng_below(Rng *r, int n) {
  return (int)(rng_next(r) % (uint64_t)n);
}

double rng_real(Rng *r) {
  return (double)(rng_next(r) >> 11) * 0x1p-52 - 1;
}

uint64_t rng_hash(const char *s, uint64_t seed) {
  Rng r = {seed};
  for (; *s; s++)
    r.state = rng_next(&r) ^ (unsigned char)*s;
  return rng_next(&r);
}
