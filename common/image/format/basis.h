/* basis.h: the samples of a delta's base while the delta is made: samples of the whole
 * disk, which go into chunk 0, and samples of the sectors that the chunks replace.
 *
 * Whoever makes the delta fills a basis, and the packer takes the samples of each chunk out
 * of it.  Both may happen at once, in two threads.
 */
#ifndef COMMON_IMAGE_FORMAT_BASIS_H
#define COMMON_IMAGE_FORMAT_BASIS_H

#include <pthread.h>

#include "common/image/format/samples.h"

struct basis {
	struct samples spread; /* of the whole disk; filled before the packer begins */
	pthread_mutex_t lock;
	struct samples replaced; /* of replaced sectors, ascending; guarded by the lock */
};

/* Make an empty basis whose samples have this hash; basis_free() frees what it holds. */
void basis_init(struct basis *, enum sample_hash);
void basis_free(struct basis *);
/* Add a sample of replaced sectors, which begins behind all that were added before.
 * ERR_NOMEM. */
int basis_add_replaced(struct basis *, const struct sample *, struct err *);
/* How many samples of replaced sectors begin in [from, to). */
size_t basis_count(struct basis *, uint64_t from, uint64_t to);
/* The sector with which the first sample of replaced sectors in [from, to) begins; `to` when
 * there is none. */
uint64_t basis_next(struct basis *, uint64_t from, uint64_t to);
/* Put the samples of the chunk that answers for the sectors `own` into *out, at most `most`,
 * for which out->v has room: with `first` those of the whole disk, then those of replaced
 * sectors that are all its own.  Those that have sectors of other chunks, too, go into
 * *shared, which has room for SAMPLES_SHARED_MAX. */
void basis_take(struct basis *, bool first, struct range own, size_t most,
    struct samples *out, struct samples *shared);

#endif /* COMMON_IMAGE_FORMAT_BASIS_H */
