// A peer in C++, spoken to by bench/peer.c as bench/peers.py is: 'load MODEL N', then N arrays, is answered by 'loaded'
// and the derivative as doubles, or by 'none'; 'run' by the nanoseconds of a call, in the processor's time.
//
// A Library has
//   template <class Model> static Call gradient(const Inputs &, const std::vector<double> &at);
//   static Call bundle(const Inputs &);    the Jacobians of all residuals, two rows of 15 each
// whose calls write the derivative to where they are told.
#ifndef GRADC_BENCH_TAPED_PEER_HPP
#define GRADC_BENCH_TAPED_PEER_HPP
#include "models.hpp"
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>

using Call = std::function<void(double *)>;

static inline bool read_inputs(int count, Inputs &in) {
  bool doubles = true;
  in.resize(count);
  for (Input &input : in) {
    std::string line, name, kind;
    std::getline(std::cin, line);
    std::istringstream words(line);
    words >> name >> kind;
    int64_t n = 1;
    for (int64_t size; words >> size; n *= size)
      input.sizes.push_back(size);
    doubles = doubles && kind == "d";
    std::vector<char> bytes(size_t(n) * (kind == "d" ? sizeof(double) : 4)); // ignore() would wait for what follows
    std::cin.read(bytes.data(), std::streamsize(bytes.size()));
    if (kind == "d") {
      input.values.resize(n);
      memcpy(input.values.data(), bytes.data(), bytes.size());
    }
  }
  return doubles;
}

// Where most is recorded in one run: what does not fit has no row.
static const double MOST_OPERATIONS = 4e7;

template <class Library, class Model> Call of_model(const Inputs &in, std::vector<double> &derivative) {
  if (Model::operations(in) > MOST_OPERATIONS)
    return {};
  std::vector<double> at;
  for (int i = 0; i < Model::active; i++)
    at.insert(at.end(), in[i].values.begin(), in[i].values.end());
  if (std::is_base_of<Few, Model>::value) {
    const int64_t n = in[0].sizes[1];
    at.assign(in[0].values.begin() + LAST_PLACE * n, in[0].values.begin() + (LAST_PLACE + 1) * n);
  }
  derivative.assign(at.size(), 0);
  return Library::template gradient<Model>(in, at);
}

template <class Library> Call of_name(const std::string &name, const Inputs &in, std::vector<double> &derivative) {
#define MODEL(text, Model) \
  if (name == text) \
    return of_model<Library, Model>(in, derivative);
  MODEL("gmm", Gmm)
  MODEL("lstm", Lstm)
  MODEL("llsq", Llsq)
  MODEL("lse", Lse)
  MODEL("ode", Ode)
  MODEL("bodies", Bodies)
  MODEL("heat", Heat)
  MODEL("valley", Valley)
  MODEL("circuit", Circuit)
  MODEL("piston", Piston)
  MODEL("borehole", Borehole)
  MODEL("wing", Wing)
  MODEL("arm", Arm)
#undef MODEL
  if (name != "ba")
    return {};
  const int64_t count = in[2].sizes[0];
  derivative.assign((2 * RESIDUAL_INPUTS + 1) * count, 0);
  const Call blocks = Library::bundle(in);
  return [&in, blocks, count](double *to) {
    blocks(to);
    for (int64_t i = 0; i < count; i++)
      to[2 * RESIDUAL_INPUTS * count + i] = -2 * in[2].values[i];
  };
}

// The inputs of one observation, one after another.
static inline void gather(const Inputs &in, int64_t i, double *to) {
  const int64_t n = in[0].sizes[0], m = in[1].sizes[0];
  for (int k = 0; k < 11; k++)
    to[k] = in[0].values[11 * (i % n) + k];
  for (int k = 0; k < 3; k++)
    to[11 + k] = in[1].values[3 * (i % m) + k];
  to[14] = in[2].values[i];
}

static inline double timed(const Call &call, double *to, int64_t calls) {
  timespec start, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
  for (int64_t i = 0; i < calls; i++)
    call(to);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  return (double(end.tv_sec - start.tv_sec) * 1e9 + double(end.tv_nsec - start.tv_nsec)) / double(calls);
}

template <class Library> int serve() {
  static const double shortest = 2e6; // nanoseconds of one timing
  Inputs in;
  std::vector<double> derivative;
  Call call;
  int64_t calls = 1;
  std::ios::sync_with_stdio(false);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word, model;
    int count = 0;
    words >> word >> model >> count;
    if (word == "run") {
      std::cout << timed(call, derivative.data(), calls) << std::endl;
      continue;
    }
    in.clear();
    call = {};
    if (read_inputs(count, in))
      call = of_name<Library>(model, in, derivative);
    if (!call) {
      std::cout << "none" << std::endl;
      continue;
    }
    calls = int64_t(shortest / (timed(call, derivative.data(), 1) + 1)) + 1;
    std::cout << "loaded\n";
    std::cout.write(reinterpret_cast<const char *>(derivative.data()),
                    std::streamsize(derivative.size() * sizeof(double)));
    std::cout.flush();
  }
  return 0;
}
#endif
