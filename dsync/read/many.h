/* many.h: reads many pieces of a device or file past the page cache, several of them at once.
 *
 * Each thread has a struct many of its own; all of them share one struct past.
 */
#ifndef DSYNC_READ_MANY_H
#define DSYNC_READ_MANY_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "dsync/read/past.h"

struct many;

/* For up to n pieces at a time, of up to `bytes` bytes together.  The past is borrowed.  ERR_NOMEM. */
int many_new(struct many **, struct past *, size_t n, size_t bytes, struct err *);
void many_free(struct many *); /* NULL is fine */
/* Read the pieces; data[i] points to the bytes of the i-th, which may be changed and are valid until
 * the next call.  Errors are those of past_read(). */
int many_read(struct many *, const struct range *pieces, size_t n, uint8_t **data, struct err *);

#endif /* DSYNC_READ_MANY_H */
