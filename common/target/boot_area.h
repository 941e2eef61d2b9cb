/* boot_area.h: the deferred boot area: the first 4 KiB of the target area are written
 * last.
 *
 * They hold the partition table, or what lies in front of a filesystem's superblock;
 * without them no system takes a half-installed disk for a complete one. Until they are
 * written, an incomplete marker stands in their place (marker.h).
 */
#ifndef COMMON_TARGET_BOOT_AREA_H
#define COMMON_TARGET_BOOT_AREA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/image/format/format.h"
#include "common/image/format/marker.h"

enum {
	BOOT_AREA_BYTES = MARKER_AREA_BYTES,
	BOOT_AREA_SECTORS = MARKER_AREA_SECTORS,
	BOOT_AREA_ID_BYTES = MARKER_ID_BYTES,
};

struct boot_area {
	_Atomic bool on; /* false: the area is too small, or cannot be read back */
	struct disk *disk;
	uint64_t at;                    /* byte of the disk where the area begins */
	uint8_t bytes[BOOT_AREA_BYTES]; /* what will be written there at the end */
	struct marker marker;           /* of this installation */
	/* an earlier installation was not completed: its marker was there, and is in
	 * `old` */
	bool was_marked;
	struct marker old;
	pthread_mutex_t lock;
	_Atomic bool marked;
	_Atomic bool touched; /* its write has at least begun */
};

/* Read the present boot area at byte `at` of the disk, which is kept where the image
 * stores nothing; a marker there counts as zeros. area_bytes: the length of the target
 * area; if it is less than BOOT_AREA_BYTES, the boot area is not held back. Errors of
 * reading. */
int boot_area_init(
    struct boot_area *, struct disk *, uint64_t at, uint64_t area_bytes, struct err *);
/* Free the members of a boot area that was initialised. */
void boot_area_free(struct boot_area *);
/* Write and flush the marker, if that was not done; called before any byte behind it is
 * written. */
int boot_area_put_marker(struct boot_area *, struct err *);
/* Write the marker, or write it again, with the bytes of the disk where the state is. */
int boot_area_place_state(struct boot_area *, uint64_t at, uint64_t bytes, struct err *);
/* Take what belongs to the boot area from `bytes` bytes at byte `at` of the target area
 * (data NULL: zeros). Returns how many bytes, from the front, were taken. */
size_t boot_area_take(struct boot_area *, uint64_t at, const void *data, uint64_t bytes);
/* Does the marker still stand there, past the cache? *stands: true, too, if it was never
 * written. Errors of reading. */
int boot_area_is_marked(struct boot_area *, bool *stands, struct err *);
/* Write the boot area over the marker; called when everything else is on the disk. */
int boot_area_commit(struct boot_area *, struct err *);
/* Write the marker over the boot area again, and flush it. */
int boot_area_mark_again(struct boot_area *, struct err *);

#endif /* COMMON_TARGET_BOOT_AREA_H */
