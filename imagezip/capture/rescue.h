/* rescue.h: reading from a disk that has bad sectors: again, in smaller pieces,
 * past the cache, and at last without them. */
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
	int direct_fd;         /* past the cache; -1: there is no such */
	bool direct_tried;
	uint8_t *sector; /* aligned as direct_fd wants it */
};

void rescue_init(struct rescue *, struct disk *, uint64_t retries, bool as_zeros,
    struct rangeset *lost);
void rescue_done(struct rescue *);
/* What disk_read(buf, bytes, sector * 512) would have read, had it not failed with
 * *e.  0: all of it is there, or zeros and noted as lost; -1: not to be had. */
int rescue_read(
    struct rescue *, uint64_t sector, void *buf, size_t bytes, struct err *);

#endif /* IMAGEZIP_CAPTURE_RESCUE_H */
