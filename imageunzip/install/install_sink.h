/* install_sink.h: installations, and rehearsals of them, as sinks of chunks (sink.h). */
#ifndef IMAGEUNZIP_INSTALL_INSTALL_SINK_H
#define IMAGEUNZIP_INSTALL_INSTALL_SINK_H

#include "common/image/read/sink.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/rehearsal.h"

struct install_sink_config {
	/* Strings in it, and the name, stay the caller's for as long as the sink; proof
	 * says how chunks have been proved, and failed is the sink's own. */
	struct install_config install;
	const char *target;
	/* install onto this disk instead; taken over, also on failure; or NULL */
	struct disk *disk;
	/* Given by sink_end(), and by sink_close() when the installation has failed before;
	 * lost_free() after a success.  NULL: not wanted. */
	struct install_stats *stats;
};

/* Onto a disk, a partition, a file or a pipe.  Chunks come in any order, but to a pipe; those
 * that come before chunk 0 are kept until that has said that they may be written.  Of an
 * installation of some partitions (only), all chunks but 0 need not be put until the giver
 * is told that they are wanted; a giver that wants to hear nothing puts them all, or has
 * chosen (install_from()).  Errors as install_open(). */
int sink_to_install(struct sink *, const struct install_sink_config *, struct err *);
/* The installation behind a sink of sink_to_install(), until it is ended or closed; the
 * sink's. */
struct install *sink_install(const struct sink *);
/* Nothing is written: chunk 0 is all that need be put, and tells *found, which is the
 * caller's.  Errors as rehearsal_open(). */
int sink_to_rehearsal(struct sink *, const struct install_config *, const char *target,
    struct rehearsal_found *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_INSTALL_SINK_H */
