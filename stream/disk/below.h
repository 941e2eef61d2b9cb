/* below.h: the disk below a streaming disk, read and written at any byte past the page cache.
 *
 * The first BELOW_BOOT_BYTES of what is read and written here are not those of the disk, where
 * the installer's marker stands: they are kept in the sector table until below_put_boot() puts
 * them into their place.  Whoever writes holds the pages that it writes to (holds.h), since a
 * part of a page is read, changed and written.
 */
#ifndef STREAM_DISK_BELOW_H
#define STREAM_DISK_BELOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "stream/table/table.h"

enum { BELOW_BOOT_BYTES = TABLE_BOOT_BYTES };

struct below {
	struct disk *disk;    /* borrowed */
	struct table *table;  /* borrowed; keeps the first bytes */
	size_t grain;         /* transfers begin and end at multiples of this */
	size_t align;         /* and so does the memory that is transferred */
	bool direct;          /* past the page cache */
	pthread_mutex_t lock; /* guards the next two */
	uint8_t boot[BELOW_BOOT_BYTES];
	bool boot_written; /* since it was flushed */
	atomic_bool boot_placed; /* the first bytes are in their place */
};

/* From now on the disk is read and written here alone, and the boot area is what the table has.
 * Errors of reading. */
int below_init(struct below *, struct disk *, struct table *, struct err *);
/* Free the members.  The disk goes through the page cache again. */
void below_free(struct below *);

/* Read or write bytes [at, at + n) of the disk.  ERR_IO; ERR_NOMEM. */
int below_read(struct below *, void *buf, size_t n, uint64_t at, struct err *);
int below_write(struct below *, const void *buf, size_t n, uint64_t at, struct err *);
/* Make bytes [at, at + n) zeros, where the disk can do that without being sent zeros, and where
 * it cannot, by writing. */
int below_zero(struct below *, uint64_t at, uint64_t n, struct err *);
/* Tell the disk that nobody needs what is in [at, at + n). */
void below_discard(struct below *, uint64_t at, uint64_t n);
/* Flush what was written to the medium. */
int below_sync(struct below *, struct err *);
/* The identity of the disk (identity.h), with the boot area as it is now. */
void below_identity(struct below *, uint8_t out[TABLE_DISK_BYTES]);
/* Write the first bytes into their place, over the marker, and flush them.  After a power cut
 * meanwhile, the marker is there, or all of them are. */
int below_put_boot(struct below *, struct err *);

#endif /* STREAM_DISK_BELOW_H */
