/* destination.h: where an image goes that comes over a network, as a sink: onto a disk,
 * into a file, or nowhere. */
#ifndef IMAGEUNZIP_INSTALL_DESTINATION_H
#define IMAGEUNZIP_INSTALL_DESTINATION_H

#include "common/image/read/sink.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/rehearsal.h"

struct destination {
	const char *name; /* the name of a disk, a partition or a file */
	bool any_file;    /* it gets the bytes as they are, which are no image */
	/* With any_file: how many these are.  A disk must have room for them, and a file
	 * that holds something is replaced only with install.force.  0: not known. */
	uint64_t bytes;
	struct install_config install; /* its threads give way to the network */
	/* Not NULL: nothing is written, only chunk 0 is asked for, and this says what was
	 * found. */
	struct rehearsal_found *dry;
	/* Filled in when the sink is ended or closed; the caller releases its list with
	 * lost_free().  All zeros where nothing is installed. */
	struct install_stats stats;
};

/* Opens the sink.  The destination stays the caller's, and must exist until the sink is
 * closed. ERR_REFUSED: see `bytes`; errors of the sink. */
int destination_open(void *destination, struct sink *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_DESTINATION_H */
