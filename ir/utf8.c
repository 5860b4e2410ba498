/* UTF-8: where one character of a text ends; see utf8.h. */
#include "ir/utf8.h"
#include <stdbool.h>

size_t utf8_length(const char *text, size_t n) {
  const unsigned char *u = (const unsigned char *)text;
  if (u[0] < 0x80)
    return 1;
  size_t length = u[0] >= 0xc2 && u[0] <= 0xdf ? 2 : (u[0] & 0xf0) == 0xe0 ? 3 : u[0] >= 0xf0 && u[0] <= 0xf4 ? 4 : 0;
  if (length == 0 || length > n)
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((u[i] & 0xc0) != 0x80)
      return 0;
  bool is_overlong = (u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xf0 && u[1] < 0x90);
  bool is_surrogate = u[0] == 0xed && u[1] >= 0xa0;
  bool is_too_large = u[0] == 0xf4 && u[1] >= 0x90;
  return is_overlong || is_surrogate || is_too_large ? 0 : length;
}
