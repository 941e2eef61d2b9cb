/* usage.h: how much room in the packs each version of an image takes for itself, and how
 * much it shares with others. */
#ifndef EMUSTORE_STORE_USAGE_H
#define EMUSTORE_STORE_USAGE_H

#include "emustore/store/store.h"

struct usage {
	/* Of each version, in the order of index_each_image(): the room of the fragments
	 * that no other version needs, and its recipe, so what is free after rm and gc;
	 * and the room of the fragments that other versions need, too. */
	struct usage_of {
		struct store_name name;
		uint64_t only_bytes, shared_bytes;
	} * v;
	size_t n, cap;
	/* Of all packs: what one version needs, what several need, and what none does. */
	uint64_t only_bytes, shared_bytes, unneeded_bytes;
};

/* Measure the usage of a store.  All recipes are read for this.  ERR_FORMAT: an image is
 * damaged, so that nobody knows what it needs.  The caller frees *u in any case. */
int usage_measure(struct usage *u, struct store *, struct err *);
/* What usage_measure() costs: the bytes of all recipes, and for each recipe as many more as
 * could be read while it is opened. */
int usage_cost(struct store *, uint64_t *bytes, struct err *);
/* What this version uses; NULL: it was not there. */
const struct usage_of *usage_find(const struct usage *, const struct store_name *);
void usage_free(struct usage *);

#endif /* EMUSTORE_STORE_USAGE_H */
