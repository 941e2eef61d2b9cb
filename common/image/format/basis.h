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
/* Put at most `most` samples, for which out->v has room, into *out.  They are for the chunk
 * that answers for the sectors `own`: with `first` the samples of the whole disk, and then
 * the chunk's own ones, evenly spread when there are too many. */
void basis_take(struct basis *, bool first, struct range own, size_t most,
    struct samples *out);

#endif /* COMMON_IMAGE_FORMAT_BASIS_H */
