// The public interface of the gradc runtime: what a program that calls compiled .ad functions may use. Every function
// that gradc makes returns one of the statuses below. Link with libgradc.a (see `gradc --libs`); C and C++ both.
#ifndef GRADC_H
#define GRADC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(_WIN32)
#define GRADC_PUBLIC __attribute__((visibility("default")))
#else
#define GRADC_PUBLIC
#endif

// The values are part of the binary interface: none is ever renumbered.
enum gradc_status {
  GRADC_OK = 0,
  GRADC_NO_MEMORY = 1,      // no memory, or a caller's workspace that is too short
  GRADC_OUT_OF_RANGE = 2,   // an index outside its axis, or argmax and argmin over nothing
  GRADC_REQUIRE = 3,        // a `require` that does not hold
  GRADC_NOT_FACTORABLE = 4, // a matrix that cannot be factored
  GRADC_BAD_SIZE = 5        // a size that is negative, or a size or workspace that overflows
};

// Where and why the last failing call on this thread failed, as "model.ad:12: reason"; "" when none has failed yet. The
// text is the thread's own and stands until its next failing call.
GRADC_PUBLIC const char *gradc_last_error(void);

// Gives back the workspaces that this thread's calls keep for the next call. They are also given back when the thread
// ends. Workspaces of calls still under way (when a foreign function calls this) stay. Ends the threads that
// gradc_set_threads has led to, unless a call is using them; the next call that needs them begins them anew.
GRADC_PUBLIC void gradc_release(void);

// How many threads a call of code compiled with --threads may use, for the whole process: 0 means one a core, and until
// it is called there is one. Results do not depend on it, name_worksize does. Negative counts are taken as 1, and no
// call uses more than 64.
GRADC_PUBLIC void gradc_set_threads(int count);

#ifdef __cplusplus
}
#endif

#endif
