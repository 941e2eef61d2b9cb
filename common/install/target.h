/* target.h: the disk that is installed to: where sector 0 of the image lands,
 * how much room there is, and what happens to free space. */
#ifndef COMMON_INSTALL_TARGET_H
#define COMMON_INSTALL_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/install/install.h"

struct target {
	struct disk *disk;
	const struct install_config *cfg;	/* borrowed */
	bool holds_file;		/* the image is of a file, not of a disk */
	bool fresh;			/* an empty file: holes are zeros already */
	struct range slice;		/* sectors; len 0: the whole disk */
	uint64_t room;			/* sectors from sector 0 of the image on;
					 * UINT64_MAX: as many as needed */
	uint32_t *fill;			/* a buffer of the pattern, or NULL */
	uint64_t stream_at;		/* streams: sectors written so far */
	_Atomic uint64_t end_bytes;	/* what a fresh file must be long, at least */
	_Atomic uint64_t short_end;	/* exact end of a file by its short sector, or 0 */
	_Atomic uint64_t covered_end;	/* sectors of the image that chunks answered for */
	_Atomic uint64_t bytes_written, bytes_filled, bytes_covered;
};

/* Takes the disk over, also on failure. */
int target_init(struct target *, struct disk *, const struct install_config *, bool fresh,
    struct err *);
/* Close, checking that nothing was lost. */
int target_close(struct target *, struct err *);

/* Image sectors are counted from the image's sector 0. */
int target_check_fit(const struct target *, uint64_t sectors, struct err *);
/* Write `bytes` of data (the last sector may be short) at an image sector. */
int target_write(struct target *, uint64_t sector, const void *data, uint64_t bytes,
    struct err *);
/* The same for data that is all zeros, which need not be written one by one. */
int target_write_zeros(struct target *, uint64_t sector, uint64_t bytes, struct err *);
/* Sectors [from, to) of the image are free: leave, zero or fill them. */
int target_free_space(struct target *, uint64_t from, uint64_t to, struct err *);
/* Behind the last chunk: fill to the end of the disk, size a new file. */
int target_complete(struct target *, struct err *);

#endif /* COMMON_INSTALL_TARGET_H */
