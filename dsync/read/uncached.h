/* uncached.h: reads a device or file past the page cache, which is afterwards as it was before.
 *
 * Where the system refuses direct reads, or the disk is no file, plain reads are used; pages
 * that were not in the cache before such a read are dropped from it again.  A reader may be
 * used by several threads, each with a buffer of its own.
 */
#ifndef DSYNC_READ_UNCACHED_H
#define DSYNC_READ_UNCACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"

/* No device that Linux knows needs more for direct reads. */
enum { UNCACHED_UNIT_BYTES = 4096 };

struct uncached;
struct uncached_buf;

/* Make a reader.  The disk is borrowed.  ERR_NOMEM. */
int uncached_new(struct uncached **, struct disk *, struct err *);
void uncached_free(struct uncached *); /* NULL is fine */
/* Whether reads are direct, and so come from the medium, as far as is known by now. */
bool uncached_is_direct(const struct uncached *);
/* A buffer for reads of up to `bytes` bytes.  NULL: no memory. */
struct uncached_buf *uncached_buf_new(size_t bytes);
/* The memory of the buffer, for a caller that reads into it by other means: room for the bytes
 * of uncached_buf_new(). */
uint8_t *uncached_buf_room(struct uncached_buf *);
void uncached_buf_free(struct uncached_buf *); /* NULL is fine */
/* Read bytes [off, off + len) of the disk into the buffer; *data points to them.  The data may
 * be changed, and is valid until the buffer is used again.  Errors are those of disk_read(). */
int uncached_read(struct uncached *, struct uncached_buf *, uint64_t off, size_t len,
    uint8_t **data, struct err *);
/* uncached_read() into memory of the caller's: `base` is a multiple of
 * UNCACHED_UNIT_BYTES and has room for all units of UNCACHED_UNIT_BYTES of the disk that
 * hold any of these bytes. */
int uncached_read_into(struct uncached *, uint8_t *base, uint64_t off, size_t len, uint8_t **data,
    struct err *);
/* The descriptor for direct reads by other means, which is borrowed; -1: there are none, as far as is
 * known by now. */
int uncached_direct_fd(const struct uncached *);
/* Find the first data from `off` on: *data is where bytes begin that are no hole, *hole is where
 * they end, in bytes of the disk.  Behind the last data both are the size.  Only regular files
 * have holes. */
void uncached_holes(struct uncached *, uint64_t off, uint64_t *data, uint64_t *hole);

#endif /* DSYNC_READ_UNCACHED_H */
