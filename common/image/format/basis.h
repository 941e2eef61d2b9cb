/* basis.h: the samples of a delta's base while the delta is made: those of the whole
 * disk, which go into chunk 0, and those of what the chunks replace.
 *
 * Whoever makes the delta fills it; the packer takes from it what each chunk says.
 * Both may do so at once, from two threads.
 */
#ifndef COMMON_IMAGE_FORMAT_BASIS_H
#define COMMON_IMAGE_FORMAT_BASIS_H

#include <pthread.h>

#include "common/image/format/samples.h"

struct basis {
	struct samples spread; /* filled before the packer begins */
	pthread_mutex_t lock;
	struct samples replaced; /* ascending; with the lock */
};

void basis_init(struct basis *, enum sample_hash);
void basis_free(struct basis *);
/* Add one more, which lies behind those that were added before.  ERR_NOMEM. */
int basis_add_replaced(struct basis *, const struct sample *, struct err *);
/* Put the samples for the chunk that answers for the sectors `own` into *out, `most` at
 * most: with `first` those of the whole disk, then the chunk's own, evenly spread when
 * there are too many. */
void basis_take(struct basis *, bool first, struct range own, size_t most,
    struct samples *out);

#endif /* COMMON_IMAGE_FORMAT_BASIS_H */
