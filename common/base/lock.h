/* lock.h: locks of files by flock(2), for one program at a time.  A lock belongs to the open
 * file: it ends when that is closed, or when the program ends, whatever ends it.  Disks and
 * what is written as one are held by common/disk/hold.h. */
#ifndef COMMON_BASE_LOCK_H
#define COMMON_BASE_LOCK_H

#include <stdbool.h>

#include "common/base/err.h"

/* Locks an open file or folder without waiting.  1: it is locked; 0: another program has
 * it; -1: there are no locks here, or it cannot be locked, and errno says why. */
int lock_try(int fd);
/* Waits for the lock, which another program may have for hours.  ERR_CANCELLED; ERR_IO: it
 * cannot be locked. */
int lock_wait(int fd, struct err *);
void lock_end(int fd);

/* Opens the file, makes it where it is missing, and locks it until *fd is closed.
 * ERR_REFUSED: another program has it, and the sentence is NAME: WHO.  ERR_IO; *fd is -1
 * on failure. */
int lock_file(int *fd, const char *path, const char *name, const char *who, struct err *);

#endif /* COMMON_BASE_LOCK_H */
