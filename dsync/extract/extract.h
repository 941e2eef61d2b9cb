/* extract.h: what has changed of a device becomes a stream.
 *
 * The order counts: the source of change fixes the new state, a snapshot is taken if there is
 * to be one, changes are asked for, data is read and written, and only then the new state is
 * kept as pending.  The base stays as it is until extract_done().
 */
#ifndef DSYNC_EXTRACT_EXTRACT_H
#define DSYNC_EXTRACT_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "dsync/stream/stream.h"

struct extract_config {
	const char *since;    /* KIND:ARGS */
	const char *device;   /* a device, a file, or what the kind takes for one */
	const char *from;     /* data is read from this snapshot of it; NULL: from itself */
	const char *snapshot; /* a program that takes one and drops it; NULL: none */
	const char *folder;   /* of states that have no other place */
	const char *target;   /* one of several; NULL */
	const char *state;    /* the file of bases; NULL: where the kind or the folder says */
	bool zstd;
	bool require_consistent; /* refuse what is not one moment */
	bool full;               /* everything counts as changed */
	uint64_t jobs;           /* threads that read; 0: chosen */
	uint64_t bytes_per_second; /* at most; 0: any */
};

struct extract_report {
	struct stream_head head;
	struct stream_end end;
	uint64_t changed_bytes, written_bytes;
	char why_fuzzy[512]; /* "": it is one moment */
	char warning[512];   /* "", or why everything is taken as changed */
};

/* Write the stream to `to`, a pipe or a new file, which is borrowed.  On failure nothing is
 * remembered, and the stream has no end.  ERR_REFUSED: it would not be one moment. */
int extract(const struct extract_config *, struct disk *to, struct extract_report *,
    struct err *);
/* Only find what has changed, and remember nothing: bytes, sealed. */
int extract_list(const struct extract_config *, struct rangeset *changed,
    struct extract_report *, struct err *);
/* The target has this state (NULL: the one that was sent last): from now on it is the base. */
int extract_done(
    const struct extract_config *, const struct stream_id *, struct err *);
/* What is remembered: the states, oldest first; whether the first is confirmed. */
struct bases;
int extract_bases(const struct extract_config *, struct bases *, struct err *);

#endif /* DSYNC_EXTRACT_EXTRACT_H */
