// RUN: %cc %s -o %t %libs -lpthread
// RUN: %t
// Statuses and the text of the last error, a buffer a thread.
#include <pthread.h>

#include "expect.h"
#include "internal.h"

static void *other_thread(void *unused) {
  (void)unused;
  EXPECT_TEXT(gradc_last_error(), "");
  EXPECT(gradc_rt_fail(GRADC_REQUIRE, "other.ad", 1, "other") == GRADC_REQUIRE);
  EXPECT_TEXT(gradc_last_error(), "other.ad:1: other");
  return NULL;
}

static void long_texts(void) {
  char path[5000], message[5000];
  memset(path, 'p', sizeof path - 1);
  memcpy(path + sizeof path - 10, "/model.ad", 10);
  memset(message, 'm', sizeof message - 1);
  message[sizeof message - 1] = 0;
  gradc_rt_fail(GRADC_REQUIRE, path, 2147483647, message);
  const char *text = gradc_last_error();
  EXPECT(strlen(text) < 1024);
  EXPECT(strstr(text, "/model.ad:2147483647: mmmm") != NULL);
  EXPECT(strstr(text, "mmmm") - text < 700);
}

int main(void) {
  EXPECT(GRADC_OK == 0 && GRADC_NO_MEMORY == 1 && GRADC_OUT_OF_RANGE == 2);
  EXPECT(GRADC_REQUIRE == 3 && GRADC_NOT_FACTORABLE == 4 && GRADC_BAD_SIZE == 5);
  EXPECT_TEXT(gradc_last_error(), "");

  EXPECT(gradc_rt_fail(GRADC_REQUIRE, "model.ad", 12, "need 100% of %s") == GRADC_REQUIRE);
  EXPECT_TEXT(gradc_last_error(), "model.ad:12: need 100% of %s");
  EXPECT(gradc_rt_fail(GRADC_NOT_FACTORABLE, NULL, 0, "no file") == GRADC_NOT_FACTORABLE);
  EXPECT_TEXT(gradc_last_error(), "no file");

  EXPECT(gradc_rt_fail_index("m.ad", 3, 7, 5) == GRADC_OUT_OF_RANGE);
  EXPECT_TEXT(gradc_last_error(), "m.ad:3: index 7 is out of range for an axis of 5");
  EXPECT(gradc_rt_fail_index("m.ad", 3, INT64_MIN, INT64_MAX) == GRADC_OUT_OF_RANGE);
  EXPECT_TEXT(gradc_last_error(),
              "m.ad:3: index -9223372036854775808 is out of range for an axis of 9223372036854775807");
  EXPECT(gradc_rt_fail_range("m.ad", 4, 2, 9, 5) == GRADC_OUT_OF_RANGE);
  EXPECT_TEXT(gradc_last_error(), "m.ad:4: range 2..9 is out of range for an axis of 5");

  EXPECT(gradc_rt_fail_size("m.ad", 5, -3) == GRADC_BAD_SIZE);
  EXPECT_TEXT(gradc_last_error(), "m.ad:5: size -3 is negative");
  EXPECT(gradc_rt_fail_size("m.ad", 5, INT64_MAX) == GRADC_BAD_SIZE);
  EXPECT_TEXT(gradc_last_error(), "m.ad:5: a size overflows");

  EXPECT(gradc_rt_fail_memory("m.ad", 6, 800) == GRADC_NO_MEMORY);
  EXPECT_TEXT(gradc_last_error(), "m.ad:6: no memory for a workspace of 800 bytes");
  EXPECT(gradc_rt_fail_memory("m.ad", 6, INT64_MAX) == GRADC_BAD_SIZE);
  EXPECT_TEXT(gradc_last_error(), "m.ad:6: the size of the workspace overflows");
  EXPECT(gradc_rt_fail_workspace("m.ad", 7, 64, 800) == GRADC_NO_MEMORY);
  EXPECT_TEXT(gradc_last_error(), "m.ad:7: the workspace of 64 bytes is shorter than the 800 that are needed");
  EXPECT(gradc_rt_fail_workspace("m.ad", 7, 64, -1) == GRADC_BAD_SIZE);

  gradc_rt_fail(GRADC_REQUIRE, "main.ad", 1, "main");
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, other_thread, NULL) == 0);
  pthread_join(thread, NULL);
  EXPECT_TEXT(gradc_last_error(), "main.ad:1: main");
  long_texts();
  return 0;
}
