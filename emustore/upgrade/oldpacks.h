/* oldpacks.h: the packs of a store of format 1 or 2: numbered files of records, in which
 * fragments and images have numbers.
 *
 * The index of such a store is not needed: a record of type 4 says that an image was
 * removed, and a record of type 5 that packs no longer count.
 */
#ifndef EMUSTORE_UPGRADE_OLDPACKS_H
#define EMUSTORE_UPGRADE_OLDPACKS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum { OLD_PLACE_BYTES = 100 };

struct old_record {
	uint64_t number;     /* number of the fragment or image */
	size_t order;        /* byte offset in the list as it was found; orders copies */
	const uint8_t *body; /* valid as long as the packs are open */
	uint32_t bytes;
};

struct old_packs {
	int dirfd; /* the folder "packs" */
	struct old_file {
		uint32_t number;
		const uint8_t *bytes;
		size_t len;
	} * files; /* ascending by number; mapped into memory */
	size_t nfiles;
	/* Sorted by number; records with the same number are copies.  Images that were
	 * removed are left out. */
	struct old_record *fragments, *images;
	size_t nfragments, nimages;
	/* Damaged stretches of the packs in which the record of an image may have been, and where
	 * the first one is. */
	uint64_t damaged;
	char first_damaged[OLD_PLACE_BYTES];
};

/* Open the packs of the store in folder `dir`, and list their records.  The caller closes
 * them with old_packs_close(); after a failure they are closed already.  An error of the
 * system, or ERR_NOMEM. */
int old_packs_open(struct old_packs *, const char *dir, struct err *);
/* Unmap and close all packs, and free the records. */
void old_packs_close(struct old_packs *);
/* The first copy of a fragment; the other copies follow it in the array.  NULL: there is
 * none. */
const struct old_record *old_packs_find(const struct old_packs *, uint64_t number);
/* Remove the files of the packs. */
int old_packs_remove(struct old_packs *, const char *dir, struct err *);

#endif /* EMUSTORE_UPGRADE_OLDPACKS_H */
