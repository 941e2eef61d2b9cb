/* late.h: libraries that are loaded when somebody first needs them, since they bring
 * along many others. */
#ifndef COMMON_BASE_LATE_H
#define COMMON_BASE_LATE_H

#include <stddef.h>

/* Loads a library, which stays loaded, and finds its functions of the n names, in
 * their order.  Returns NULL, or what is missing: the library's name, or that of a
 * function. */
const char *late_load(
    const char *library, const char *const names[], void *functions[], size_t n);

#endif /* COMMON_BASE_LATE_H */
