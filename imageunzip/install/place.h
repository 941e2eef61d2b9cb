/* place.h: where on the target the state of its own installation can lie: in space
 * that the image leaves free.
 *
 * That is sure only of what a chunk of this suite answers for and does not store, in
 * a partition of which the image stores something (areas.h).  The partitions are those
 * of the image's own table, which comes with chunk 0.
 */
#ifndef IMAGEUNZIP_INSTALL_PLACE_H
#define IMAGEUNZIP_INSTALL_PLACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "common/image/read/chunk.h"
#include "imageunzip/install/areas.h"

/* All in sectors, counted from the image's sector 0. */
struct place {
	pthread_mutex_t lock;
	bool known; /* where the partitions are */
	struct areas areas;
	/* Until there is a place: what the chunks so far store, and the space that
	 * they leave free and that was not tried yet. */
	struct rangeset stored, untried;
	struct range at; /* the place; len 0: none yet */
};

void place_init(struct place *);
void place_free(struct place *);
/* Chunk 0: where are the partitions?  A table that cannot be read has none. */
int place_learn(struct place *, const struct chunk *, const void *bytes, struct err *);
/* Without chunk 0: what is installed is one partition, at sector 0. */
int place_learn_one(struct place *, const struct area *partition, struct err *);
/* The state was placed there by an earlier run. */
void place_set(struct place *, struct range at);

/* Are the partitions known, and is there no place yet? */
bool place_is_open(struct place *);

/* What kind of place is looked for. */
struct place_want {
	uint64_t sectors;
	struct range within; /* of the image */
	uint64_t skew;       /* sectors of the disk in front of the image's sector 0 */
};
/* Before a chunk that is proved is written, from any thread.  1: its free space, or
 * that of a chunk before it, has the place, now in *at, a multiple of 4 KiB of the
 * disk; 0: there is one, or none yet; ERR_FORMAT: it stores what is the place. */
int place_claim(struct place *, const struct ndz_header *, const struct place_want *,
    struct range *at, struct err *);

#endif /* IMAGEUNZIP_INSTALL_PLACE_H */
