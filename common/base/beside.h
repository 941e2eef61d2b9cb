/* beside.h: finds the files that were built or installed with the program that runs. */
#ifndef COMMON_BASE_BESIDE_H
#define COMMON_BASE_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* Write the path of `name`, seen from the folder that this program lies in, into path[cap].
 * Returns whether there is such a file. */
bool beside_find(char *path, size_t cap, const char *name);

#endif /* COMMON_BASE_BESIDE_H */
