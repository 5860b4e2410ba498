// RUN: %cc -Wpedantic -Wconversion %s -o %t %libs && %t
// RUN: %if cxx %{ %cxx -x c++ %s -o %t.cxx -x none %libs && %t.cxx %}
// gradc.h alone, from C and from C++.
#include "gradc.h"

int main(void) {
  gradc_set_threads(1);
  gradc_release();
  return gradc_last_error()[0] == 0 ? GRADC_OK : GRADC_BAD_SIZE;
}
