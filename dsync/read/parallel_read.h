/* parallel_read.h: reads many pieces of a device or file past the page cache, several of
 * them at once.
 *
 * Each thread has a struct parallel_read of its own; all of them share one struct uncached.
 */
#ifndef DSYNC_READ_PARALLEL_READ_H
#define DSYNC_READ_PARALLEL_READ_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "dsync/read/uncached.h"

struct parallel_read;

/* For up to n pieces at a time, of up to `bytes` bytes together.  The reader is borrowed.
 * ERR_NOMEM. */
int parallel_read_new(struct parallel_read **, struct uncached *, size_t n, size_t bytes,
    struct err *);
void parallel_read_free(struct parallel_read *); /* NULL is fine */
/* Read the pieces; data[i] points to the bytes of the i-th, which may be changed and are valid until
 * the next call.  Errors are those of uncached_read(). */
int parallel_read_get(struct parallel_read *, const struct range *pieces, size_t n,
    uint8_t **data, struct err *);

#endif /* DSYNC_READ_PARALLEL_READ_H */
