/* oldpacks.h: the packs of a store of format 1 or 2: numbered files of records, in which
 * fragments and images have numbers.
 *
 * What its index said is not needed: a record of type 4 says that an image is no more, one of
 * type 5 that packs count no longer. */
#ifndef EMUSTORE_UPGRADE_OLDPACKS_H
#define EMUSTORE_UPGRADE_OLDPACKS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

struct old_record {
	uint64_t number;     /* of the fragment, or image */
	size_t order;        /* in which it was found */
	const uint8_t *body; /* as long as the packs are open */
	uint32_t bytes;
};

struct old_packs {
	int dirfd; /* of the folder "packs" */
	struct old_file {
		uint32_t number;
		const uint8_t *bytes;
		size_t len;
	} * files; /* ascending */
	size_t nfiles;
	/* By number; a number more than once: copies.  Images that were removed are left
	 * out. */
	struct old_record *fragments, *images;
	size_t nfragments, nimages;
};

int old_packs_open(struct old_packs *, const char *dir, struct err *);
void old_packs_close(struct old_packs *);
/* The first copy of a fragment; the others follow.  NULL: there is none. */
const struct old_record *old_packs_find(const struct old_packs *, uint64_t number);
/* The files are removed. */
int old_packs_remove(struct old_packs *, const char *dir, struct err *);

#endif /* EMUSTORE_UPGRADE_OLDPACKS_H */
