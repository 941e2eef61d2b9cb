/* state_slot.h: finds space on the target, which the image leaves free, for the two slots
 * of the installation's state (--state=target).
 *
 * Space is surely free only if a chunk of this suite answers for it and does not store
 * it, in a partition of which the image stores something (areas.h). The partitions are
 * those of the image's own table, which comes with chunk 0.
 */
#ifndef IMAGEUNZIP_INSTALL_STATE_SLOT_H
#define IMAGEUNZIP_INSTALL_STATE_SLOT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/maps.h"
#include "common/disk/rangeset.h"
#include "common/image/read/chunk.h"
#include "common/target/areas.h"

/* All ranges are in sectors, counted from the beginning of the target. */
struct state_slot {
	pthread_mutex_t lock;
	bool known; /* the partitions are known */
	struct areas areas;
	/* What the chunks so far store, and the space that they leave free and that was
	 * not tried yet; both are collected until there is a place. */
	struct rangeset stored, untried;
	struct range at; /* the place of both slots; len 0: none yet */
};

/* Make a struct without a place, and free its members. */
void state_slot_init(struct state_slot *);
void state_slot_free(struct state_slot *);
/* Learn from chunk 0 where the partitions are; a table that cannot be read counts as one
 * without partitions. Other chunks are ignored. ERR_FORMAT, ERR_NOMEM. */
int state_slot_learn(
    struct state_slot *, const struct chunk *, const void *bytes, struct err *);
/* Instead of state_slot_learn(): a partition, with its place on the target.  ERR_NOMEM. */
int state_slot_learn_one(
    struct state_slot *, const struct area *partition, struct err *);
/* An earlier run has placed the state at these sectors. */
void state_slot_set(struct state_slot *, struct range at);

/* Are the partitions known, and is there no place yet? */
bool state_slot_is_open(struct state_slot *);

/* What kind of place is looked for. */
struct state_slot_want {
	uint64_t sectors;
	struct range within; /* of the target */
	uint64_t skew;       /* sectors of the disk in front of the target's first one */
	const struct maps *maps; /* where the sectors of the image go */
};
/* Called before a chunk, which was proved, is written; from any thread. 1: its free
 * space, or that of a chunk before it, has the place, which is now in *at and begins at a
 * multiple of 4 KiB of the disk; 0: there was a place before, or there is none yet;
 * ERR_FORMAT: the chunk stores sectors of the place. */
int state_slot_claim(struct state_slot *, const struct ndz_header *,
    const struct state_slot_want *, struct range *at, struct err *);

#endif /* IMAGEUNZIP_INSTALL_STATE_SLOT_H */
