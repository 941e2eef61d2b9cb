/* followed.h: filesystems follow the partitions that an installation has made longer
 * (--grow, --fit), while the incomplete marker stands. */
#ifndef IMAGEUNZIP_INSTALL_FOLLOWED_H
#define IMAGEUNZIP_INSTALL_FOLLOWED_H

#include "imageunzip/install/target.h"

/* Partitions that are longer now. */
struct followed {
	unsigned n;
	struct longer {
		unsigned number;
		struct range sectors; /* where it is on the disk */
		uint64_t was_sectors; /* its length in the image */
	} part[PTABLE_PARTS_MAX];
};

/* Called before anything is written: warn the user when what the image has in this
 * partition, which will be longer, cannot follow it.  fs: as the image calls it; "": it
 * does not say. */
void followed_foresee(const struct target *, unsigned number, const char *fs);
/* Called when all else is done and nothing can be resumed any more: let what is in the
 * partitions reach to their ends, unless the user does not want that.  ERR_IO: a tool
 * failed, and the filesystem may be damaged; ERR_CANCELLED; ERR_NOMEM. */
int followed_grow(struct target *, const struct followed *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_FOLLOWED_H */
