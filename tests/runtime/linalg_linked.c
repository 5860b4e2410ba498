// REQUIRES: lapack
// RUN: %cc %S/linalg.c -o %t %libs -Wl,--no-as-needed -llapack -lblas
// RUN: %t
// RUN: nm -D %t | FileCheck %s
// The same checks where the program is linked with LAPACK: the large matrices are its work. No kernel needs it, the
// symbols are weak.
// CHECK-DAG: w dgesdd_
// CHECK-DAG: w dsyevd_
// CHECK-DAG: w sgemm_
