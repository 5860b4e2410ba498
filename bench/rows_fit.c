/* ADBench's four. */
#include "row.h"
#include <stddef.h>

void build_gmm(Row *row);
void build_gmm_vectors(Row *row);
void build_lstm(Row *row);
void build_ba(Row *row);
void build_hand(Row *row);

/* Of the two largest mixtures the peers would hold arrays of 512 and of 1,024 megabytes, several of them. */
const Case fit_cases[] = {
    {"gmm d=2 K=5 n=1k", "gmm", build_gmm, {2, 5, 1000}},
    {"gmm d=2 K=5 n=10k", "gmm", build_gmm, {2, 5, 10000}},
    {"gmm d=2 K=25 n=1k", "gmm", build_gmm, {2, 25, 1000}},
    {"gmm d=2 K=25 n=10k", "gmm", build_gmm, {2, 25, 10000}},
    {"gmm d=2 K=200 n=1k", "gmm", build_gmm, {2, 200, 1000}},
    {"gmm d=2 K=200 n=10k", "gmm", build_gmm, {2, 200, 10000}},
    {"gmm d=10 K=5 n=1k", "gmm", build_gmm, {10, 5, 1000}},
    {"gmm d=10 K=5 n=10k", "gmm", build_gmm, {10, 5, 10000}},
    {"gmm d=10 K=25 n=1k", "gmm", build_gmm, {10, 25, 1000}},
    {"gmm d=10 K=25 n=10k", "gmm", build_gmm, {10, 25, 10000}},
    {"gmm of 10, by vectors", NULL, build_gmm_vectors, {10, 25, 10000}},
    {"gmm d=10 K=200 n=1k", "gmm", build_gmm, {10, 200, 1000}},
    {"gmm d=10 K=200 n=10k", "gmm", build_gmm, {10, 200, 10000}},
    {"gmm d=32 K=5 n=1k", "gmm", build_gmm, {32, 5, 1000}},
    {"gmm d=32 K=5 n=10k", "gmm", build_gmm, {32, 5, 10000}},
    {"gmm d=32 K=25 n=1k", "gmm", build_gmm, {32, 25, 1000}},
    {"gmm d=32 K=25 n=10k", "gmm", build_gmm, {32, 25, 10000}},
    {"gmm d=32 K=200 n=1k", "gmm", build_gmm, {32, 200, 1000}},
    {"gmm d=32 K=200 n=10k", NULL, build_gmm, {32, 200, 10000}},
    {"gmm d=64 K=5 n=1k", "gmm", build_gmm, {64, 5, 1000}},
    {"gmm d=64 K=5 n=10k", "gmm", build_gmm, {64, 5, 10000}},
    {"gmm d=64 K=25 n=1k", "gmm", build_gmm, {64, 25, 1000}},
    {"gmm d=64 K=25 n=10k", "gmm", build_gmm, {64, 25, 10000}},
    {"gmm d=64 K=200 n=1k", "gmm", build_gmm, {64, 200, 1000}},
    {"gmm d=64 K=200 n=10k", NULL, build_gmm, {64, 200, 10000}},
    {"lstm l=2 c=1024", "lstm", build_lstm, {2, 14, 1024}},
    {"lstm l=4 c=1024", "lstm", build_lstm, {4, 14, 1024}},
    {"ba 31,843 Jacobian", "ba", build_ba, {49, 7776, 31843}},
    {"hand 100 Jacobian", NULL, build_hand, {0, 100}},
    {"hand 800 Jacobian", NULL, build_hand, {0, 800}},
    {"hand u 100 Jacobian", NULL, build_hand, {1, 100}},
    {0},
};
