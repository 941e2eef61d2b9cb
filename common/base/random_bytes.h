/* random_bytes.h: random bytes that nobody can guess, for keys, names and seeds. */
#ifndef COMMON_BASE_RANDOM_BYTES_H
#define COMMON_BASE_RANDOM_BYTES_H

#include <stddef.h>

/* Fill n bytes with random ones of the kernel.  This never fails: soon after the
 * machine was switched on it waits until the kernel has random numbers.  A process that
 * may not call getrandom(2) is aborted; those that confined.h and rights.h restrict may
 * call it. */
void random_bytes(void *to, size_t n);

#endif /* COMMON_BASE_RANDOM_BYTES_H */
