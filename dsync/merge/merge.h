/* merge.h: merges a stream into a target.
 *
 * With a journal, the stream is received and checked as a whole before the target's first byte
 * changes.  Only afterwards it is applied, and after a crash it is applied again from its
 * beginning.  In place, the target is marked incomplete before its first byte changes, and
 * complete when the end of the stream was right.
 */
#ifndef DSYNC_MERGE_MERGE_H
#define DSYNC_MERGE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "dsync/merge/journal.h"
#include "dsync/stream/stream.h"

struct merge_config {
	const char *target;  /* path of a device or file */
	const char *journal; /* its path; NULL: journal_path() decides */
	const char *folder;  /* for the journals of devices */
	bool in_place;   /* apply the stream as it arrives, without a journal of it */
	bool force;      /* merge whatever the target holds, also when it is in use */
	bool no_verify;  /* do not read back what was written */
	bool discard;    /* also discard ranges of zeros, so that the device may free them */
	/* How many bytes of the device were received, or of so many (0: unknown) written; NULL:
	 * nobody is told. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

struct merge_report {
	struct stream_head head;
	struct stream_end end;
	struct target_state state; /* of the target now */
	bool same;                 /* the target had this state already */
	bool rolled_forward;       /* an earlier stream was applied first */
	bool unseen;  /* another user's process may write the target, too (disk_unseen()) */
	bool changed; /* merge_look(): the target does not hold its state any more */
};

/* Merge the stream that `from`, which is borrowed, has.  ERR_REFUSED: the stream does not
 * belong to this target, and nothing was changed.  ERR_FORMAT: the stream is damaged or
 * ends early; with a journal nothing was changed.  ERR_ABSENT: there is no target.  ERR_IO. */
int merge_into_target(const struct merge_config *, struct disk *from,
    struct merge_report *, struct err *);
/* Finish a merge that a crash has interrupted, if there is one.  Errors as merge_into_target(). */
int merge_recover(const struct merge_config *, struct merge_report *, struct err *);
/* Read what is known of the target into r->state, all zeros if nothing was merged.  If no merge is
 * under way, a sample of the target says whether it still holds that (r->changed); where it is gone
 * or too short it does not, either.  Nothing is changed.  Errors of reading. */
int merge_look(const struct merge_config *, struct merge_report *, struct err *);

/* Call take() with the digest of each piece of `piece_bytes` bytes of the target, in order; the
 * last piece may be short.  Errors: of reading, and of take(). */
int merge_digests(const struct merge_config *, uint64_t piece_bytes,
    int (*take)(void *arg, const uint8_t digest[SHA256_BYTES], struct err *), void *arg,
    struct err *);

#endif /* DSYNC_MERGE_MERGE_H */
