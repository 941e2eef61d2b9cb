/* upgrade.h: stores of older formats, which this program does not write any more. */
#ifndef EMUSTORE_UPGRADE_UPGRADE_H
#define EMUSTORE_UPGRADE_UPGRADE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct upgrade {
	bool wait;  /* while another program writes to it */
	bool force; /* images that cannot be read are left out */
	/* For each image that was taken over. */
	void (*progress)(void *arg, uint64_t images);
	/* For each that was left out, a sentence. */
	void (*left_out)(void *arg, const char *sentence);
	void *arg;
	/* Results. */
	uint64_t images, lost;
	bool done_before; /* it was of today's format */
};

/* A folder of format 1 or 2 becomes one of today's: all of it is written anew beside what is
 * there, then `format` is replaced, then what was there goes.  Needs as much room again.
 * When it is cut short, it is still a store of the old format; it can be begun again, and
 * goes on.  ERR_FORMAT: an image cannot be read, and force is not set. */
int upgrade_store(struct upgrade *, const char *dir, struct err *);

#endif /* EMUSTORE_UPGRADE_UPGRADE_H */
