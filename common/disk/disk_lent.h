/* disk_lent.h: a disk that only the process that opened it can read, lent to a child of
 * fork(2).
 *
 * Such a disk reads its data over a network connection, which only one process can use.  The
 * child asks through a socket, and a thread of the parent reads for it.  The parent believes
 * nothing of what the child asks: no more is read than the disk has, a piece at a time.
 */
#ifndef COMMON_DISK_DISK_LENT_H
#define COMMON_DISK_DISK_LENT_H

#include "common/base/err.h"
#include "common/disk/disk.h"

struct disk_lent;

/* To be called before the fork.  *borrowed is the disk as the child reads it, in one thread; the
 * parent does not read it, and the loan owns it.  d stays
 * the caller's, and nobody else reads it until the end of the loan.  ERR_IO: no socket or no
 * thread; ERR_NOMEM. */
int disk_lend(struct disk_lent **, struct disk *d, struct disk **borrowed, struct err *);
/* The descriptor that the child reads and writes. */
int disk_lent_fd(const struct disk_lent *);
/* To be called when the child has ended: free the loan and the borrowed disk.  NULL is fine. */
void disk_lent_end(struct disk_lent *);

#endif /* COMMON_DISK_DISK_LENT_H */
