/* finish.h: when all data is on the target: its partition table and what was there
 * before. */
#ifndef IMAGEUNZIP_INSTALL_FINISH_H
#define IMAGEUNZIP_INSTALL_FINISH_H

#include "common/image/read/chunk.h"
#include "imageunzip/install/cover.h"
#include "imageunzip/install/target.h"

/* Before anything of the chunk that begins with sector 0 is written: can its table be
 * made to fit, if that is wanted?  ERR_UNSUPPORTED, as of ptable_fit(). */
int finish_check(const struct target *, const struct chunk *, const void *bytes,
    unsigned table_sector_bytes, struct err *);
/* What is to be finished. */
struct finish {
	struct target *target;
	struct cover *cover; /* what the chunks stored */
	bool known;          /* `cover` has all that the image stores */
	/* the image is one of this suite and no delta: what it does not store is free */
	bool ours;
	/* Of the disk that the image is of, as its table counts; 0: not known. */
	unsigned sector_bytes;
	bool dry; /* it is only told what would be done */
};
/* Set the type (-D), fill the free space that waited, wipe stale signatures and make the
 * table fit, as the configuration says, while the incomplete marker stands.  It may be
 * repeated after the program was killed. */
int finish_target(const struct finish *, unsigned *stale_wiped, struct err *);
/* Tell the kernel that there is another table now. */
void finish_tell_kernel(const struct target *);

#endif /* IMAGEUNZIP_INSTALL_FINISH_H */
