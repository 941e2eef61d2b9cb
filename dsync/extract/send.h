/* send.h: ranges of a device become records of a stream: read ahead by several threads,
 * written in order by one. */
#ifndef DSYNC_EXTRACT_SEND_H
#define DSYNC_EXTRACT_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "dsync/stream/stream.h"

struct send_config {
	struct disk *from;              /* borrowed, as all here */
	const struct rangeset *changed; /* bytes; sealed */
	struct disk *to;
	bool zstd;
	uint64_t jobs;             /* 0: chosen */
	uint64_t bytes_per_second; /* 0: any */
	/* Told what is sent, in order, in the thread that writes; NULL: nobody. */
	int (*sent)(void *arg, struct range bytes, const void *data, struct err *);
	void *arg;
};

/* Write the head, and a record for each piece of what has changed; *totals counts them, and
 * *at is how many bytes were written. */
int send_changed(const struct send_config *, const struct stream_head *,
    struct stream_totals *totals, uint64_t *at, struct err *);

#endif /* DSYNC_EXTRACT_SEND_H */
