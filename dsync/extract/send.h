/* send.h: makes records of a stream from ranges of a device: several threads read ahead, and
 * the calling thread writes in order. */
#ifndef DSYNC_EXTRACT_SEND_H
#define DSYNC_EXTRACT_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "dsync/stream/stream.h"

struct send_config {
	struct disk *from;              /* borrowed, as all pointers here */
	const struct rangeset *changed; /* bytes; sealed */
	const struct rangeset *unused;  /* bytes; sealed: of these zeros are sent */
	struct disk *to; /* where the stream goes */
	bool zstd;
	uint64_t jobs;             /* 0: chosen by the kind of disk */
	uint64_t bytes_per_second; /* 0: no limit */
	/* Called with what is sent, in order, in the thread that writes; data NULL: zeros.
	 * A NULL function is not called. */
	int (*sent)(void *arg, struct range bytes, const void *data, struct err *);
	void *arg;
};

/* Write the head, and a record for each piece of what has changed.  *totals counts the records;
 * *at becomes the number of bytes written.  The caller writes the end.  ERR_UNSUPPORTED: this
 * build has no zstd; ERR_CANCELLED; errors of disk_read(), disk_write() and of sent(). */
int send_changed(const struct send_config *, const struct stream_head *,
    struct stream_totals *totals, uint64_t *at, struct err *);

#endif /* DSYNC_EXTRACT_SEND_H */
