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
	bool known;          /* that is all that the image stores */
	bool ours;           /* what it does not store is free: no delta */
	/* Of the disk that the image is of, as its table counts; 0: not known. */
	unsigned sector_bytes;
	bool dry; /* it is only told what would be done */
};
/* Type (-D), the free space that waited, old signatures, the table's fit, as the
 * configuration has it, while the mark stands.  May be done once more, after a kill. */
int finish_target(const struct finish *, unsigned *stale_wiped, struct err *);
/* There is another table now. */
void finish_tell_kernel(const struct target *);

#endif /* IMAGEUNZIP_INSTALL_FINISH_H */
