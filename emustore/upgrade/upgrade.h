/* upgrade.h: upgrades stores of older formats, which this program no longer writes. */
#ifndef EMUSTORE_UPGRADE_UPGRADE_H
#define EMUSTORE_UPGRADE_UPGRADE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct upgrade {
	bool wait;  /* wait while another program writes to the store */
	bool force; /* leave out images that cannot be read */
	/* Called after each image, with the number of images until now, those left out
	 * included.  NULL: not called. */
	void (*progress)(void *arg, uint64_t images);
	/* Called with a sentence for each image that was left out, and with one for all damaged
	 * places.  NULL: not called. */
	void (*left_out)(void *arg, const char *sentence);
	void *arg;
	/* Results: images that are in the new store, images that were left out, and damaged places
	 * in which the record of another image may have been. */
	uint64_t images, lost, damaged_places;
	bool done_before; /* the store had today's format already */
};

/* Make the store in folder `dir`, which has format 1 or 2, one of today's format:
 * everything is written anew beside the old packs, after that `format` is replaced, and at
 * the end the old packs are removed.  This needs as much room again.  If it is cut short,
 * the store still has the old format; the upgrade can be started again, and goes on.
 * ERR_FORMAT: an image cannot be read, and `force` is not set.  ERR_UNSUPPORTED: the
 * format is not known.  ERR_REFUSED: another program writes, and `wait` is not set. */
int upgrade_store(struct upgrade *, const char *dir, struct err *);

#endif /* EMUSTORE_UPGRADE_UPGRADE_H */
