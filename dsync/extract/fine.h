/* fine.h: finds what has changed inside of the blocks that a tracker names, by digests of 4 KiB of what
 * the copy holds.
 *
 * Beside the file of states, PATH, the file PATH.digests (change/hashes.h) has the digests of one
 * state, the one that the target is known to have.  What is sent for a new state is noted in a
 * file of its own, PATH.ID, which has holes where nothing is sent; the other id in its head is the
 * state whose digests it completes, or none if it stands alone.  That file is the journal: once
 * its state is the base, and before the digests are used again, it is carried over into PATH.digests,
 * whose head names both states meanwhile.  So no crash leaves digests that are taken for those of a
 * state which they are not of: digests of any state but the base count for nothing.
 */
#ifndef DSYNC_EXTRACT_FINE_H
#define DSYNC_EXTRACT_FINE_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "dsync/change/hashes.h"

struct fine {
	const char *state_path; /* borrowed */
	struct hashes of_base;  /* digests of the base; not open: there are none */
	struct hashes next;     /* of what is sent for the new state, until it is kept */
};

/* Begin the digests of a new state, and bring those of the base, NULL: none is confirmed, up to date.
 * If there are none, each block counts as changed.  ERR_IO, ERR_NOMEM. */
int fine_begin(struct fine *, const char *state_path, uint64_t device_bytes,
    const struct stream_id *base, struct err *);
/* A struct of zeros is allowed. */
void fine_end(struct fine *);
/* Of the ranges in *changed, which is sealed, keep the blocks of 4 KiB that differ from the base, as
 * they are on the disk now.  Returns 1, or 0 if there are no digests of the base, or it is cheaper to
 * send all of *changed, which is never so with `always`: *changed is as it was; -1: errors of reading,
 * ERR_NOMEM, ERR_CANCELLED. */
int fine_narrow(struct fine *, struct disk *from, bool always, struct rangeset *changed,
    struct err *);
/* Keep the digests of what was sent (hashes_sent(&f->next)) for this state.  full: everything was
 * sent.  ERR_IO, ERR_NOMEM. */
int fine_keep(struct fine *, const struct stream_id *id, bool full, struct err *);
/* How many bytes the digests of all pages of a device have. */
uint64_t fine_bytes(uint64_t device_bytes);

#endif /* DSYNC_EXTRACT_FINE_H */
