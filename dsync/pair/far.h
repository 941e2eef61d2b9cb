/* far.h: the copy of a device, perhaps on another host: dmmerge is run there, by ssh or what
 * the user has in its place, or here.
 */
#ifndef DSYNC_PAIR_FAR_H
#define DSYNC_PAIR_FAR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "dsync/stream/stream.h"

struct far {
	const char *host;    /* NULL: this one */
	const char *target;  /* the device or file there */
	const char *rsh;     /* "ssh": words, to which the host and a command are added */
	const char *dmmerge; /* the program there */
	const char *options; /* of its, words; "" */
};

/* Where "HOST:TARGET" or "TARGET" leads; `text` is changed, and kept as long as *f.  ERR_USAGE. */
int far_parse(struct far *f, char *text, struct err *);

/* What `dmmerge --status` says there. */
struct far_status {
	char condition[32];
	struct stream_id id;
	uint64_t bytes, made_at, merged_at;
};
/* ERR_IO: nobody there answers, or dmmerge fails; the sentence is its own. */
int far_status(const struct far *, struct far_status *, struct err *);
/* Finish what was interrupted there. */
int far_recover(const struct far *, struct err *);

struct far_merge;
/* Begin a merge there.  What is written to the disk goes to it. */
int far_merge_begin(struct far_merge **, const struct far *, struct disk **to, struct err *);
/* The stream is complete, or given up: wait for the answer.  0: it was merged.  Closes the
 * disk. */
int far_merge_end(struct far_merge *, struct err *);

/* The digests of all pieces of `piece_bytes` there: called for each, in order. */
int far_digests(const struct far *, uint64_t piece_bytes,
    int (*take)(void *arg, const uint8_t digest[SHA256_BYTES], struct err *), void *arg,
    struct err *);

#endif /* DSYNC_PAIR_FAR_H */
