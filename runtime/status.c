// Failures of generated code: the status, and the text behind gradc_last_error. One buffer a thread, nothing allocated,
// so that running out of memory can be reported too.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "arena.h"

static _Thread_local char last_error[1024];

const char *gradc_last_error(void) {
  return last_error;
}

// "file:line: " and the formatted reason, cut short where the buffer ends.
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static int32_t
fail(int32_t status, const char *file, int32_t line, const char *format, ...) {
  size_t used = 0;
  if (file) {
    // A path longer than half the buffer keeps its end, which tells files apart; the reason has the other half.
    int kept = (int)(sizeof last_error / 2 - 32);
    size_t length = 0;
    while (file[length])
      length++;
    if (length > (size_t)kept)
      file += length - (size_t)kept;
    used = (size_t)snprintf(last_error, sizeof last_error, "%s:%" PRId32 ": ", file, line);
  }
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error + used, sizeof last_error - used, format, arguments);
  va_end(arguments);
  return status;
}

int32_t gradc_repeat_failure(int32_t status, const char *text) {
  return fail(status, NULL, 0, "%s", text);
}

int32_t gradc_rt_fail(int32_t status, const char *file, int32_t line, const char *message) {
  return fail(status, file, line, "%s", message);
}

int32_t gradc_rt_fail_index(const char *file, int32_t line, int64_t index, int64_t size) {
  return fail(GRADC_OUT_OF_RANGE, file, line, "index %" PRId64 " is out of range for an axis of %" PRId64, index, size);
}

int32_t gradc_rt_fail_range(const char *file, int32_t line, int64_t begin, int64_t end, int64_t size) {
  return fail(GRADC_OUT_OF_RANGE, file, line, "range %" PRId64 "..%" PRId64 " is out of range for an axis of %" PRId64,
              begin, end, size);
}

int32_t gradc_rt_fail_size(const char *file, int32_t line, int64_t size) {
  if (size < 0)
    return fail(GRADC_BAD_SIZE, file, line, "size %" PRId64 " is negative", size);
  return fail(GRADC_BAD_SIZE, file, line, "a size overflows");
}

static int overflows(int64_t bytes) {
  return bytes < 0 || bytes == INT64_MAX;
}

int32_t gradc_rt_fail_memory(const char *file, int32_t line, int64_t bytes) {
  if (overflows(bytes))
    return fail(GRADC_BAD_SIZE, file, line, "the size of the workspace overflows");
  return fail(GRADC_NO_MEMORY, file, line, "no memory for a workspace of %" PRId64 " bytes", bytes);
}

int32_t gradc_rt_fail_workspace(const char *file, int32_t line, int64_t given, int64_t needed) {
  if (overflows(needed))
    return gradc_rt_fail_memory(file, line, needed);
  return fail(GRADC_NO_MEMORY, file, line,
              "the workspace of %" PRId64 " bytes is shorter than the %" PRId64 " that are needed", given, needed);
}
