/* flight.h: several writes to one disk at once, past the page cache.
 *
 * A flight belongs to one thread.  Whole pages (4 KiB) of a write go to the disk
 * directly, by io_uring where the kernel has it, by threads where not; the odd ends,
 * which share a page with other data, go through the page cache at once.  Buffers
 * must stay as they are until flight_land().
 */
#ifndef COMMON_DISK_FLIGHT_H
#define COMMON_DISK_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"

struct flight;

/* Make a flight for a disk, which stays the caller's.  If the disk does not take direct writes,
 * *out is NULL and 0 is returned, or with `must` ERR_UNSUPPORTED.  ERR_NOMEM; ERR_IO: no thread
 * can be started. */
int flight_new(struct flight **out, struct disk *, bool must, struct err *);
/* Free a flight.  All its writes must have landed.  NULL is fine. */
void flight_free(struct flight *);
/* Start a write; this may wait for earlier ones.  An error can be that of an earlier write. */
int flight_write(
    struct flight *, const void *buf, size_t len, uint64_t off, struct err *);
/* Wait for all writes.  A write that fails is repeated once, through the page cache; the
 * error is that of the second failure, and it is returned once. */
int flight_land(struct flight *, struct err *);
/* flight_ticket() names all writes that were started so far.  flight_land_upto() waits for
 * these, while later writes may go on.  The error can be that of a later write. */
uint64_t flight_ticket(const struct flight *);
int flight_land_upto(struct flight *, uint64_t ticket, struct err *);
/* By which means the flight writes: "io_uring" or "threads". */
const char *flight_means(const struct flight *);

#endif /* COMMON_DISK_FLIGHT_H */
