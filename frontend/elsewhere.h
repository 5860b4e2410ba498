/* Names and signs of other languages, for messages. */
#ifndef GRADC_FRONTEND_ELSEWHERE_H
#define GRADC_FRONTEND_ELSEWHERE_H
#include <stdbool.h>

/* Whether a name that is not known here is one of elsewhere; *here: what to write, or NULL where there is nothing. */
bool elsewhere_name(const char *name, const char **here);
/* The option of a built-in function that is called `name` elsewhere, or NULL. */
const char *elsewhere_option(const char *name);
/* What to write for a sign that is none here, or NULL. */
const char *elsewhere_stray(const char *text);
#endif
