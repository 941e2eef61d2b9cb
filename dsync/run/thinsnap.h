/* thinsnap.h: a snapshot of a volume of dm-thin: taken while the volume is suspended, and shown as a
 * read-only device of the device mapper.
 */
#ifndef DSYNC_RUN_THINSNAP_H
#define DSYNC_RUN_THINSNAP_H

#include <stdbool.h>
#include <stdint.h>

#include "dsync/run/mapper.h"

enum { THINSNAP_ID_MAX = (1 << 24) - 1 }; /* numbers of volumes in a pool have 24 bits */

struct thinsnap {
	const char *device, *pool;      /* the volume and its pool; borrowed */
	char metadata[MAPPED_WORD_BYTES]; /* path of the pool's metadata device */
	char shown_as[MAPPED_WORD_BYTES]; /* the mapped device that shows the snapshot */
	uint64_t volume, id;              /* their numbers in the pool */
	uint64_t sectors, block_bytes;    /* of the volume; of a block of the pool */
	uint64_t frozen_us;               /* how long the volume was suspended */
	bool taken, shown;                /* a snapshot was made; a device shows it */
};

/* Take a snapshot of the volume, and show it as /dev/mapper/NAME-dsync, with the volume's NAME in the
 * device mapper.  One that a run which was killed has shown is removed before.  `top` is suspended,
 * too: the device that is in use, or the volume itself.  ERR_ABSENT: it is no thin volume of this
 * pool; ERR_UNSUPPORTED: its name is too long; ERR_IO.  thinsnap_end() must
 * follow in any case. */
int thinsnap_take(struct thinsnap *, const char *device, const char *pool, const char *top,
    struct err *);
/* Remove what shows the snapshot, and, unless it is to stay, the snapshot.  A failure is logged. */
void thinsnap_end(struct thinsnap *, bool stays);
/* Delete a snapshot from the pool.  A failure is logged, with the name of its device. */
void thinsnap_delete(const char *pool, uint64_t id, const char *device);
/* Tell the pool one of these: "reserve_metadata_snap", "release_metadata_snap".  ERR_IO. */
int thinsnap_tell(const char *pool, const char *message, struct err *);

#endif /* DSYNC_RUN_THINSNAP_H */
