/* far.h: the copy of a device, here or on another host.  dmmerge is run there by ssh,
 * or by what the user has named in its place.
 */
#ifndef DSYNC_PAIR_FAR_H
#define DSYNC_PAIR_FAR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "dsync/stream/stream.h"

struct far {
	const char *host;    /* NULL: this host */
	const char *target;  /* the device or file on that host */
	const char *rsh;     /* words such as "ssh"; host and command follow */
	const char *dmmerge; /* the program on that host */
	const char *options; /* more options of dmmerge, as words; or "" */
};

/* Parse "HOST:TARGET" or "TARGET" into f->host and f->target, which point into `text`:
 * `text` is changed, and must live as long as *f.  The other members are set before.
 * ERR_USAGE. */
int far_parse(struct far *f, char *text, struct err *);

/* What `dmmerge --status` says of the copy. */
struct far_status {
	char condition[32];   /* one word, such as "interrupted" */
	struct stream_id id;   /* the copy's state; all zeros: none */
	uint64_t bytes, made_at, merged_at; /* times in seconds since 1970 */
};
/* Ask for the status.  ERR_IO: the host cannot be reached, or dmmerge fails and the sentence is
 * its own; ERR_FORMAT: the answer is not understood; ERR_ABSENT: a program is not installed. */
int far_status(const struct far *, struct far_status *, struct err *);
/* Finish a merge of the copy that was interrupted.  ERR_IO, ERR_ABSENT. */
int far_recover(const struct far *, struct err *);

struct far_merge;
/* Begin a merge into the copy.  What is written to *to, which far_merge_end() closes, goes to
 * dmmerge.  ERR_IO, ERR_ABSENT, ERR_NOMEM. */
int far_merge_begin(struct far_merge **, const struct far *, struct disk **to, struct err *);
/* End the merge, after the stream is complete or given up: wait for dmmerge, close the disk, and
 * free *m.  0: the stream was merged; -1: ERR_IO with dmmerge's sentence. */
int far_merge_end(struct far_merge *, struct err *);

/* Call take() with the digest of each piece of `piece_bytes` bytes of the copy, in order.
 * ERR_IO, ERR_ABSENT, ERR_FORMAT, ERR_CANCELLED, and errors of take(). */
int far_digests(const struct far *, uint64_t piece_bytes,
    int (*take)(void *arg, const uint8_t digest[SHA256_BYTES], struct err *), void *arg,
    struct err *);

#endif /* DSYNC_PAIR_FAR_H */
