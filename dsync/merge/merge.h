/* merge.h: a stream becomes a part of a target.
 *
 * With a journal, the stream is received and proved whole before the target's first byte
 * changes; then it is applied, and what a crash interrupts is applied again from its
 * beginning.  In place, the target is marked incomplete before its first byte changes, and
 * whole when the end of the stream was right.
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
	const char *target;  /* a device or file */
	const char *journal; /* NULL: journal_path() */
	const char *folder;  /* of journals of devices */
	bool in_place;
	bool force;      /* whatever the target holds; also when it is in use */
	bool no_verify;  /* what was written is not read back */
	bool discard;    /* zeros: the device may forget them, if it reads zeros then */
};

struct merge_report {
	struct stream_head head;
	struct stream_end end;
	struct target_state state; /* of the target now */
	bool same;                 /* the target had this state already */
	bool rolled_forward;       /* an earlier stream was applied first */
};

/* Merge the stream that `from` has, which is borrowed.  ERR_REFUSED: the stream does not
 * belong to this target, and nothing was changed.  ERR_FORMAT: the stream is damaged or
 * ends early; with a journal nothing was changed. */
int merge(const struct merge_config *, struct disk *from, struct merge_report *, struct err *);
/* Only finish what a crash has interrupted, if anything. */
int merge_recover(const struct merge_config *, struct merge_report *, struct err *);
/* What is known of the target, without changing anything: all zeros when nothing was merged. */
int merge_look(const struct merge_config *, struct target_state *, struct err *);

/* The digests of all pieces of `piece_bytes` of the target, in order; the last may be short. */
int merge_digests(const struct merge_config *, uint64_t piece_bytes,
    int (*take)(void *arg, const uint8_t digest[SHA256_BYTES], struct err *), void *arg,
    struct err *);

#endif /* DSYNC_MERGE_MERGE_H */
