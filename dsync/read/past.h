/* past.h: reads a device or file past the page cache, so that the cache is afterwards as it
 * was before.
 *
 * Where the system refuses direct reads, or the disk is no file, it is read as usual; pages
 * that were not in the cache before are let go again.  A reader may be used by several
 * threads, each with a buffer of its own.
 */
#ifndef DSYNC_READ_PAST_H
#define DSYNC_READ_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"

struct past;
struct past_buf;

/* The disk is borrowed.  ERR_NOMEM. */
int past_new(struct past **, struct disk *, struct err *);
void past_free(struct past *); /* NULL is fine */
/* Do reads come from the medium, as far as is known by now? */
bool past_is_direct(const struct past *);
/* A buffer for reads of up to `bytes` bytes.  NULL: no memory. */
struct past_buf *past_buf_new(size_t bytes);
/* For who reads by himself: room for that many bytes. */
uint8_t *past_buf_room(struct past_buf *);
void past_buf_free(struct past_buf *); /* NULL is fine */
/* Bytes [off, off + len) of the disk into the buffer; *data points there.  The data may be
 * changed, and is good until the buffer is used again.  Errors are those of disk_read(). */
int past_read(struct past *, struct past_buf *, uint64_t off, size_t len,
    uint8_t **data, struct err *);
/* Where the next bytes that are not a hole begin, from off on: *data; and where they end:
 * *hole.  Behind the last both are the size.  Only regular files have holes. */
void past_holes(struct past *, uint64_t off, uint64_t *data, uint64_t *hole);

#endif /* DSYNC_READ_PAST_H */
