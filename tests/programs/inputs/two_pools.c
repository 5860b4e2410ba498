/* Shared objects made by gradc, loaded side by side and unloaded: their names stand on the command line. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Roots(int64_t n, const double *x, double *value, double *d_x);
typedef void SetThreads(int n);

int main(int argc, char **argv) {
  enum { N = 20000 };
  double *x = malloc(N * sizeof *x), *d_x = malloc(N * sizeof *d_x), *other = malloc(N * sizeof *x), value[2];
  for (int i = 0; i < N && x; i++)
    x[i] = 0.5 + i;
  for (int round = 0; round < 3 && argc == 3 && x && d_x && other; round++) {
    void *objects[2];
    for (int i = 0; i < 2; i++) {
      objects[i] = dlopen(argv[1 + i], RTLD_NOW);
      if (!objects[i]) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
      }
      Roots *roots;
      SetThreads *set_threads;
      *(void **)&roots = dlsym(objects[i], "roots_grad");
      *(void **)&set_threads = dlsym(objects[i], "gradc_set_threads");
      if (!roots || !set_threads)
        return 1;
      set_threads(1 + 2 * i);
      for (int k = 0; k < 5; k++)
        if (roots(N, x, &value[i], i ? other : d_x))
          return 1;
    }
    if (value[0] != value[1] || memcmp(d_x, other, N * sizeof *x))
      return 1;
    dlclose(objects[round % 2]);
    dlclose(objects[1 - round % 2]);
  }
  free(x);
  free(d_x);
  free(other);
  return argc != 3;
}
