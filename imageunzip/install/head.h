/* head.h: the deferred boot area: the first 4 KiB of the target area are written last.
 *
 * They hold the partition table, or what lies in front of the superblock: without them
 * nothing takes a half-installed disk for a whole one.  Until then an incomplete marker
 * stands there, which head_read_mark() recognises.
 */
#ifndef IMAGEUNZIP_INSTALL_HEAD_H
#define IMAGEUNZIP_INSTALL_HEAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/image/format/format.h"

enum {
	HEAD_BYTES = 4096,
	HEAD_SECTORS = HEAD_BYTES / SECTOR_BYTES,
	HEAD_ID_BYTES = 16,
};

/* What the incomplete marker says of the installation that is not complete. */
struct mark {
	uint8_t uuid[NDZ_UUID_BYTES]; /* of the image; zeros when it has none */
	uint64_t started;             /* seconds since 1970 */
	uint8_t id[HEAD_ID_BYTES];    /* of this installation, drawn at random */
	/* Bytes of the disk that hold its state (--state=target); 0, 0: there is none.
	 */
	uint64_t state_at, state_bytes;
};

struct head {
	_Atomic bool on; /* false: the area is too small, or cannot be read back */
	struct disk *disk;
	uint64_t at;               /* byte of the disk where the area begins */
	uint8_t bytes[HEAD_BYTES]; /* what will stand there */
	struct mark mark;          /* of this installation */
	/* an earlier installation did not end: its marker was there */
	bool was_marked;
	struct mark old;
	pthread_mutex_t lock;
	bool marked;
};

/* Read what stands there now, to be kept where the image has nothing; a mark
 * that was left there counts as zeros.  area_bytes: how long the area is; less than
 * HEAD_BYTES turns it off. */
int head_init(
    struct head *, struct disk *, uint64_t at, uint64_t area_bytes, struct err *);
void head_free(struct head *);
/* Put the marker, before the first byte behind it is written. */
int head_put_mark(struct head *, struct err *);
/* The state is placed at these bytes: put the marker, or put it again, so that it says
 * where. */
int head_place_state(struct head *, uint64_t at, uint64_t bytes, struct err *);
/* Remember those of the `bytes` at the area's byte `at` (data, or NULL: zeros) that belong
 * to the boot area.  Returns how many these are, from the front. */
size_t head_take(struct head *, uint64_t at, const void *data, uint64_t bytes);
/* Everything else is on the disk: write the boot area over the marker. */
int head_commit(struct head *, struct err *);
/* Write the marker over the boot area again. */
int head_mark_again(struct head *, struct err *);

/* 1: there is a marker at byte `at` of the disk; 0: there is none; -1. */
int head_read_mark(struct disk *, uint64_t at, struct mark *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_HEAD_H */
