/* ADBench's four. */
#include "row.h"
#include <stddef.h>

void build_gmm(Row *row);
void build_lstm(Row *row);
void build_ba(Row *row);
void build_hand(Row *row);

const Case fit_cases[] = {
    {"gmm d=2 K=5 n=1k", "gmm", build_gmm, {2, 5, 1000}},
    {"gmm d=2 K=200 n=10k", "gmm", build_gmm, {2, 200, 10000}},
    {"gmm d=10 K=25 n=1k", "gmm", build_gmm, {10, 25, 1000}},
    {"gmm d=10 K=25 n=10k", "gmm", build_gmm, {10, 25, 10000}},
    {"gmm d=32 K=25 n=1k", "gmm", build_gmm, {32, 25, 1000}},
    {"gmm d=64 K=25 n=1k", "gmm", build_gmm, {64, 25, 1000}},
    {"lstm l=2 c=1024", "lstm", build_lstm, {2, 14, 1024}},
    {"lstm l=4 c=1024", "lstm", build_lstm, {4, 14, 1024}},
    {"ba 31,843 Jacobian", "ba", build_ba, {49, 7776, 31843}},
    {"hand 100 Jacobian", NULL, build_hand, {0, 100}},
    {"hand 800 Jacobian", NULL, build_hand, {0, 800}},
    {"hand u 100 Jacobian", NULL, build_hand, {1, 100}},
    {0},
};
