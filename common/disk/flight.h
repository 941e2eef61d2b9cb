/* flight.h: several writes to one disk at once, past the page cache.
 *
 * For one thread.  Whole pages (4 KiB) of a write go to the disk directly, by io_uring
 * where the kernel has it, by threads where not; the odd ends, which share their page
 * with others, go through the cache at once.  Buffers must stay as they are until
 * flight_land().
 */
#ifndef COMMON_DISK_FLIGHT_H
#define COMMON_DISK_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"

struct flight;

/* *out is NULL, and 0 returned, when the disk does not take direct writes; with
 * `must`, that is ERR_UNSUPPORTED. */
int flight_new(struct flight **out, struct disk *, bool must, struct err *);
/* All must have landed. */
void flight_free(struct flight *);
/* Start a write; may wait for others.  An error can be that of one started before. */
int flight_write(
    struct flight *, const void *buf, size_t len, uint64_t off, struct err *);
/* Wait for all.  A write that fails is repeated once, through the cache: the
 * error is that of a second failure, which is told once. */
int flight_land(struct flight *, struct err *);
/* What was started so far; and wait for that, while what was started behind it may
 * go on.  The error can be that of a later write. */
uint64_t flight_ticket(const struct flight *);
int flight_land_upto(struct flight *, uint64_t ticket, struct err *);
/* "io_uring" or "threads" */
const char *flight_means(const struct flight *);

#endif /* COMMON_DISK_FLIGHT_H */
