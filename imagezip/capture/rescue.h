/* rescue.h: reads from a disk that has bad sectors: it repeats, reads smaller pieces, reads
 * past the page cache, and at last leaves sectors out. */
#ifndef IMAGEZIP_CAPTURE_RESCUE_H
#define IMAGEZIP_CAPTURE_RESCUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/disk/disk.h"
#include "common/disk/rangeset.h"

struct rescue {
	struct disk *disk;
	uint64_t retries;      /* how often a sector that failed is read again */
	bool as_zeros;         /* give up a sector rather than all */
	struct rangeset *lost; /* source sectors given up; borrowed */
	int direct_fd;         /* reads past the cache; -1: not open, or not possible */
	bool direct_tried;
	uint8_t *sector; /* buffer, aligned for direct_fd; owned */
};

/* retries: how often a sector that failed is read again; as_zeros: make it zeros then,
 * and add it to *lost (sectors of the source). */
void rescue_init(struct rescue *, struct disk *, uint64_t retries, bool as_zeros,
    struct rangeset *lost);
void rescue_done(struct rescue *);
/* Read again what disk_read(buf, bytes, sector * 512) could not read because of *e.  0: all
 * of it was read, or some of it is zeros and noted as lost; -1: it cannot be read. */
int rescue_read(
    struct rescue *, uint64_t sector, void *buf, size_t bytes, struct err *);

#endif /* IMAGEZIP_CAPTURE_RESCUE_H */
