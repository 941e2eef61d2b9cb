/* load_target.h: where a load usually goes: onto a disk, into a file, or nowhere. */
#ifndef FRISBEE_LOAD_LOAD_TARGET_H
#define FRISBEE_LOAD_LOAD_TARGET_H

#include "frisbee/load/load.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/rehearsal.h"

struct load_target {
	const char *name; /* the name of a disk, a partition or a file */
	bool any_file;    /* the target gets the bytes as they are, which are no image */
	struct install_config install;
	/* Not NULL: nothing is written, only chunk 0 is asked for, and this says what was
	 * found. */
	struct rehearsal_found *dry;
	/* Filled in by load_end(); the caller releases its list with lost_free().  All zeros
	 * where nothing is installed. */
	struct install_stats stats;
};

/* Makes this target the sink of a load's configuration.  The target stays the caller's, and
 * must exist until load_end().  ERR_USAGE: any_file is set and a key was chosen. */
int load_into(struct load_config *, struct load_target *, struct err *);

#endif /* FRISBEE_LOAD_LOAD_TARGET_H */
