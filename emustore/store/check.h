/* check.h: checks whether a store is whole.  The result is right also while others write
 * to the store. */
#ifndef EMUSTORE_STORE_CHECK_H
#define EMUSTORE_STORE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "emustore/store/store.h"

struct check {
	bool data;     /* read everything, and compare all SHA-256, those of images included */
	uint64_t jobs; /* threads that put images together; 0: one for each processor */
	/* Called with a sentence for each thing that is wrong. */
	void (*problem)(void *arg, const char *sentence);
	/* Called with a sentence about chunks that can only be served as equivalents (with
	 * `data`). */
	void (*note)(void *arg, const char *sentence);
	void (*progress)(void *arg, uint64_t bytes);
	void *arg;
	/* Results: how many sentences `problem` got, how many images there are, how many
	 * of them are not whole, how many fragments the index has, how many bytes were
	 * read, and how many chunks are equivalents. */
	uint64_t problems, images, bad_images, fragments, bytes, equivalents;
	/* What was found of each pack, ascending by number; owned, freed by check_free(). */
	struct pack_state {
		struct index_pack p;
		bool whole; /* the pack exists, in its full size */
		uint8_t *bad; /* one byte for each block, if any is damaged, else NULL; owned */
	} * packs;
	size_t npacks;
};

/* Free what check_store() allocated. */
void check_free(struct check *);
/* Check a store that was opened with STORE_ANEW; it is looked at again when it changes
 * meanwhile.  Returns -1 only when checking itself failed: when the system or the server
 * refuses something, such as one more open file, nothing is known, and nothing counts as
 * damaged. */
int check_store(struct check *, struct store *, struct err *);
/* After check_store(): is the fragment in undamaged blocks of an undamaged pack? */
bool check_is_good(const struct check *, const struct index_place *);

#endif /* EMUSTORE_STORE_CHECK_H */
