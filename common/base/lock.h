/* lock.h: locks of files, by flock(2).  A lock belongs to the open file: it ends when that is
 * closed, or when the program ends, whatever ends it.  Disks, and what is written as one, are
 * held by common/disk/hold.h. */
#ifndef COMMON_BASE_LOCK_H
#define COMMON_BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

/* Locks an open file or folder without waiting, `shared` with others who want to share it.
 * 1: it is locked; 0: another program has it; -1: there are no locks here, or it cannot be
 * locked, and errno says why. */
int lock_try(int fd, bool shared);
/* lock_try() for some bytes of what is open for writing (fcntl(2), F_OFD_SETLK).  Locks of all
 * of it are of another kind, and do not meet these. */
int lock_try_bytes(int fd, uint64_t from, uint64_t bytes);
/* Has somebody else locked any of these bytes? */
bool lock_is_taken(int fd, uint64_t from, uint64_t bytes);
/* Waits for the lock, which another program may have for hours.  ERR_CANCELLED; ERR_IO: it
 * cannot be locked. */
int lock_wait(int fd, struct err *);
void lock_end(int fd);

/* Opens the file, makes it where it is missing, and locks it until *fd is closed.
 * ERR_REFUSED: another program has it, and the sentence is NAME: WHO.  ERR_IO; *fd is -1
 * on failure. */
int lock_file(int *fd, const char *path, const char *name, const char *who, struct err *);

#endif /* COMMON_BASE_LOCK_H */
