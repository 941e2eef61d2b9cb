/* counted.h: the packs of a store that a writer counts on, because they have fragments of the
 * image that is put.
 *
 * Each of them is there, and as long as its table says; one list of all packs tells.  Where
 * that is not so, the writer puts the fragments again, in packs of its own, and condemns every
 * damaged pack of the store before it makes the image: then all programs look for these
 * fragments in the new packs first.
 */
#ifndef EMUSTORE_STORE_COUNTED_H
#define EMUSTORE_STORE_COUNTED_H

#include "emustore/store/store.h"

struct counted {
	bool listed;
	unsigned turn; /* of the index whose tables were there when the packs were listed */
	struct listing packs;
	uint32_t last; /* the pack that was counted on last, by its number in the index; 0: none */
	/* Ids of damaged packs, each with its '\0', and how many bytes of this are those
	 * of packs that were condemned. */
	struct buf bad;
	size_t done;
};

enum { COUNTED_DOUBT = 2 };

/* May the writer count on this pack of the index?  1; 0: it is damaged; COUNTED_DOUBT: it
 * is damaged, or the index that this machine keeps is wrong (store_doubt()); -1. */
int counted_on(struct counted *, struct store *, const struct index_pack *, struct err *);
/* If counted_on() has met a damaged pack, condemn all damaged packs of the store. */
int counted_condemn(struct counted *, struct store *, struct err *);
/* How many damaged packs there were. */
uint64_t counted_damaged(const struct counted *);
void counted_free(struct counted *);

#endif /* EMUSTORE_STORE_COUNTED_H */
