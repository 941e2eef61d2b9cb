/* install_sink.h: installations, and rehearsals of them, as sinks of chunks (sink.h). */
#ifndef IMAGEUNZIP_INSTALL_INSTALL_SINK_H
#define IMAGEUNZIP_INSTALL_INSTALL_SINK_H

#include "common/image/read/sink.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/rehearsal.h"

struct install_sink_config {
	/* Strings in it, and the name, are the caller's and must outlive the sink; opener
	 * says how chunks were proved, and failed is set by the sink. */
	struct install_config install;
	const char *target;
	/* install onto this disk instead of `target`; taken over, also on failure; or
	 * NULL */
	struct disk *disk;
	/* Filled by sink_end(), and by sink_close() when the installation has failed
	 * before; after a success the caller calls lost_free(). NULL: not wanted. */
	struct install_stats *stats;
};

/* Make a sink that installs onto a disk, a partition, a file or a pipe. Chunks come in
 * any order, except to a pipe; chunks that come before chunk 0 are kept until chunk 0 has
 * shown that they may be written. When only some partitions are installed (only), chunks
 * other than 0 need not be put until the giver is told that they are wanted; a giver
 * without a wants() puts all chunks, or has chosen them (install_from()). The giver is also
 * told of the chunks that a state on the target names, when the first chunk shows that this
 * state is of another image. Errors as install_open(). */
int sink_to_install(struct sink *, const struct install_sink_config *, struct err *);
/* The installation behind a sink of sink_to_install(), until the sink is ended or closed.
 * It belongs to the sink. */
struct install *sink_install(const struct sink *);
/* sink_to_install() whose installation writes nothing. sink_end() fills *found, which the
 * caller frees with rehearsal_found_free(). source NULL: only chunk 0 is put, which fills
 * *found at once. Errors as rehearsal_open(). */
int sink_to_rehearsal(struct sink *, const struct install_config *, const char *target,
    const struct rehearsal_source *, struct rehearsal_found *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_INSTALL_SINK_H */
