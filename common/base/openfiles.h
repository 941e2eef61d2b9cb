/* openfiles.h: how many files and sockets a process may have open at once. */
#ifndef COMMON_BASE_OPENFILES_H
#define COMMON_BASE_OPENFILES_H

#include <stdint.h>

/* Raises this process's limit of open files and sockets (RLIMIT_NOFILE, getrlimit(2)) to `most`,
 * or as far as the system allows without privileges; UINT64_MAX: as far as it allows.  A limit
 * that is higher, or that cannot be raised, stays as it was.  Programs begin with a limit of 1024
 * on most systems, for the sake of programs that call select(2). */
void openfiles_allow(uint64_t most);
/* Half of the files and sockets that this process may have open now, so that the other
 * half is for other things; at most `most`. */
unsigned openfiles_half(unsigned most);

#endif /* COMMON_BASE_OPENFILES_H */
