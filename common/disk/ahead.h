/* ahead.h: a disk that is far away is read ahead.  Who opens an image reads the header of
 * each chunk, one after the other, and each would be a round trip to a server: what is
 * read in that way, small and at equal distances, is read for many places at once, and
 * the following are answered from memory.  Everything else is read as it is asked for. */
#ifndef COMMON_DISK_AHEAD_H
#define COMMON_DISK_AHEAD_H

#include "common/disk/disk.h"

struct ahead_reads {
	uint64_t every_bytes; /* from the beginning of one place to that of the next */
	size_t bytes;         /* what is read of each */
	unsigned places;      /* that are read at once, 64 at most */
};

/* Open `below`, which never changes, with reads ahead; it is taken over, also on failure.
 * ERR_NOMEM. */
int ahead_open(
    struct disk **, struct disk *below, const struct ahead_reads *, struct err *);

#endif /* COMMON_DISK_AHEAD_H */
