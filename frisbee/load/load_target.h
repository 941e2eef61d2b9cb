/* load_target.h: where a load usually goes: onto a disk, into a file, or nowhere. */
#ifndef FRISBEE_LOAD_LOAD_TARGET_H
#define FRISBEE_LOAD_LOAD_TARGET_H

#include "frisbee/load/load.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/rehearsal.h"

struct load_target {
	const char *name; /* of a disk, a partition or a file */
	bool any_file;    /* it gets the bytes as they are, which are no image */
	struct install_config install;
	/* Nothing is written, chunk 0 is all that is asked for, and this says what was
	 * found; or NULL. */
	struct rehearsal_found *dry;
	/* Given by load_end(): lost_free().  All zeros where nothing is installed. */
	struct install_stats stats;
};

/* Fills in what a load's configuration says of its sink: this target, which stays the caller's
 * until load_end().  ERR_USAGE: a key was chosen for any file. */
int load_into(struct load_config *, struct load_target *, struct err *);

#endif /* FRISBEE_LOAD_LOAD_TARGET_H */
