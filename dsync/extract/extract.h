/* extract.h: writes what has changed of a device as a stream.
 *
 * The order matters: the source of change fixes the new state; a snapshot is taken if one is
 * asked for; changes are asked for; data is read and written; and only then the new state is
 * kept as pending.  The base stays as it is until extract_done().
 */
#ifndef DSYNC_EXTRACT_EXTRACT_H
#define DSYNC_EXTRACT_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "dsync/extract/noted.h"
#include "dsync/stream/stream.h"

/* Whether the pages of 4 KiB of what the source of change names are compared with what the target
 * holds, by digests that are kept beside the states, so that only those are sent that differ. */
enum fine_how {
	FINE_NEVER,
	FINE_ALWAYS,
	FINE_BY_ITSELF, /* where the source can be refined, and it is cheaper by a sample (fine.h);
	                 * digests that cannot be kept are a warning */
};

struct extract_config {
	/* All strings are borrowed. */
	const char *since;    /* the source of change, as KIND:ARGS */
	const char *device;   /* a device, a file, or a name that the kind understands */
	const char *from;     /* snapshot of the device to read data from; NULL: the device */
	const char *snapshot; /* how a snapshot is taken (snapshot.h); NULL: none is */
	const char *folder;   /* for files of bases that have no other place */
	const char *target;   /* name of one of several targets; NULL: there is one */
	const char *state;    /* the file of bases; NULL: the kind or the folder decides */
	bool zstd;
	bool require_consistent; /* fail when the data is not consistent */
	bool full;               /* everything counts as changed */
	bool any_source; /* send everything also of a disk whose installation is not complete */
	bool incomplete; /* the target holds a part of a stream: everything counts as changed, unless
	                  * the source of change notes each write */
	enum fine_how fine;
	bool used; /* of everything, send as zeros what no filesystem uses, if that is known */
	uint64_t jobs;           /* threads that read; 0: chosen by the kind of disk */
	uint64_t bytes_per_second; /* of the stream, at most; 0: no limit */
	/* Called with the bytes of the device that were sent, or by pair_verify() compared, and how many
	 * there are, in the thread that called.  NULL: nobody wants to know. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

struct extract_report {
	struct stream_head head;
	struct stream_end end;
	uint64_t named_bytes; /* by the source of change, before `fine` has narrowed it */
	uint64_t digests_bytes; /* of all pages of the device, which are kept beside the states; 0: none
	                         * are */
	uint64_t changed_bytes, written_bytes;
	uint64_t unused_bytes; /* of the changed ones: sent as zeros, since nobody uses them */
	uint64_t differed_bytes; /* of the changed ones: in these a comparison had found a difference */
	uint64_t frozen_us;    /* how long the device was frozen for a snapshot */
	char why_fuzzy[512]; /* why the data is not consistent; "": it is */
	char warning[512];   /* why everything counts as changed, or no digests are kept; or "" */
};

/* Write the stream to `to`, a pipe or a new file, which is borrowed.  On failure nothing is
 * remembered, and the stream has no end.  ERR_REFUSED: the data would not be consistent, a snapshot
 * has another size than the device, or everything is to be sent of a disk that is not whole
 * (marker.h); ERR_USAGE; errors of the source of change. */
int extract_stream(const struct extract_config *, struct disk *to, struct extract_report *,
    struct err *);
/* Find what has changed, without what extract_differs() has noted, and remember nothing.  *changed is in bytes, sealed, and the caller's
 * on success.  Errors as extract_stream(). */
int extract_list(const struct extract_config *, struct rangeset *changed,
    struct extract_report *, struct err *);
/* Record that the target has this state (NULL: the state that was sent last): from now on it is
 * the base, and what extract_differs() has noted before the state was sent is forgotten.  ERR_ABSENT: it is not remembered; ERR_USAGE: the kind remembers nothing. */
int extract_done(
    const struct extract_config *, const struct stream_id *, struct err *);
/* Will there be states to remember, as far as the names say?  Nothing is opened.  ERR_USAGE: there
 * is no such source of change, it remembers nothing, or it needs the name of a file; ERR_NOMEM. */
int extract_check_states(const struct extract_config *, struct err *);
/* Open what is remembered: the states, oldest first, and whether the first is confirmed.  The
 * caller ends with bases_close().  ERR_USAGE: the kind remembers nothing; errors of bases_open(). */
struct bases;
int extract_bases(const struct extract_config *, struct bases *, struct err *);
/* Note that the copy, which has the base, differs in these bytes: they are part of each stream from
 * now on until one has arrived.  The ranges begin and end as those of noted_write().  What was sent
 * and is not confirmed is forgotten, since it lacks them.  Errors of extract_bases(). */
int extract_differs(const struct extract_config *, uint64_t device_bytes,
    const struct rangeset *differs, struct err *);
/* Read a list that lies beside the states.  *noted is in bytes, sealed, and the caller's.  ERR_IO,
 * ERR_FORMAT, ERR_NOMEM. */
int extract_noted(const struct extract_config *, enum noted, uint64_t device_bytes,
    struct rangeset *noted, struct err *);

#endif /* DSYNC_EXTRACT_EXTRACT_H */
