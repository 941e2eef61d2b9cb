/* target_view.h: a view of the target as it will be when it is complete: its first 4 KiB are read
 * from and written to memory (boot_area.h), everything else is the disk's.  What makes
 * the installation complete works on this view, so that the incomplete marker stands
 * until nothing is left to do. */
#ifndef IMAGEUNZIP_INSTALL_TARGET_VIEW_H
#define IMAGEUNZIP_INSTALL_TARGET_VIEW_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "imageunzip/install/target.h"

struct target_view {
	struct target *target; /* borrowed */
	struct disk *disk;     /* the view */
	bool failed;           /* an access has failed, as `why` says */
	struct err why;
};

/* Open the view of an open target. With --read-back everything that is written through
 * the view is compared. */
int target_view_open(struct target_view *, struct target *, struct err *);
/* Close the view and return rc, the result of what was done with it. If rc is not 0 and
 * an access to the disk has failed, *e becomes the disk's error. */
int target_view_close(struct target_view *, int rc, struct err *);

#endif /* IMAGEUNZIP_INSTALL_TARGET_VIEW_H */
