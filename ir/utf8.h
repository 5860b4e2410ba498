/* UTF-8: where one character of a text ends. */
#ifndef GRADC_IR_UTF8_H
#define GRADC_IR_UTF8_H
#include <stddef.h>

/* Bytes of the well-formed sequence at `text`, of which n > 0 are there; 0 if it is not well-formed. */
size_t utf8_length(const char *text, size_t n);
#endif
