/* check.h: is a store whole?  Right also while others write to it. */
#ifndef EMUSTORE_STORE_CHECK_H
#define EMUSTORE_STORE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "emustore/store/store.h"

struct check {
	bool data;     /* read everything, and compare all SHA-256, also of the images */
	uint64_t jobs; /* threads that put images together; 0: one a processor */
	/* For each thing that is wrong, a sentence. */
	void (*problem)(void *arg, const char *sentence);
	/* Chunks that can only be served as equivalents (with data), a sentence. */
	void (*note)(void *arg, const char *sentence);
	void (*progress)(void *arg, uint64_t bytes);
	void *arg;
	/* Results. */
	uint64_t problems, images, bad_images, fragments, bytes, equivalents;
	/* What was found of each pack, ascending by number; owned, check_free(). */
	struct pack_state {
		struct index_pack p;
		bool whole; /* it is there, in its full size */
		uint8_t *bad; /* one byte for each block, when any is; owned */
	} * packs;
	size_t npacks;
};

void check_free(struct check *);
/* Of a store that was opened with STORE_ANEW, which is looked at again when it changes
 * meanwhile.  -1 only when checking itself failed: when the system or the server refuses
 * something, as a file more, nothing is known, and nothing counts as damaged. */
int check_store(struct check *, struct store *, struct err *);
/* Is the fragment in undamaged blocks of an undamaged pack? */
bool check_is_good(const struct check *, const struct index_place *);

#endif /* EMUSTORE_STORE_CHECK_H */
