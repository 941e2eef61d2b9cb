/* target.h: the disk that is installed to: where sector 0 of the image lands,
 * how much room there is, and what happens to free space. */
#ifndef IMAGEUNZIP_INSTALL_TARGET_H
#define IMAGEUNZIP_INSTALL_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "imageunzip/install/head.h"
#include "imageunzip/install/install.h"

struct cover;

enum { TARGET_FILL_BYTES = 1 << 20 };

struct target {
	struct disk *disk;
	const struct install_config *cfg; /* borrowed */
	bool holds_file;                  /* the image is of a file, not of a disk */
	bool fresh;                       /* an empty file: holes are zeros already */
	struct range slice;               /* sectors; len 0: the whole disk */
	/* The sectors of the image that are installed, at the beginning of the slice
	 * (--only); len 0: all of them, each at its own place. */
	struct range only;
	uint8_t only_mbr_type;     /* of these, by the image's table; 0: of a GPT */
	_Atomic bool warned_moved; /* the warning was printed about what is not adapted
	                              to its new place */
	uint64_t room;                    /* sectors from sector 0 of the image on;
	                                   * UINT64_MAX: as many as needed */
	struct head head;
	struct flight *flight;      /* direct writes, or NULL */
	uint32_t *fill;             /* TARGET_FILL_BYTES of the pattern, or NULL */
	uint64_t stream_at;         /* for streams: the sectors written so far */
	_Atomic uint64_t end_bytes; /* what a fresh file must be long, at least */
	_Atomic uint64_t short_end; /* exact end of a file by its short sector, or 0 */
	_Atomic uint64_t
	    covered_end; /* sectors of the image that chunks answered for */
	_Atomic uint64_t bytes_written, bytes_same, bytes_filled, bytes_covered;
	_Atomic bool no_discard; /* the disk does not take it */
	/* Free sectors of the image that are not to be filled yet; len 0: none. */
	_Atomic uint64_t reserved_off, reserved_len;
	struct cover *cover; /* which free space is the image's; borrowed */
	/* Sectors that are never filled: something was moved there; len 0: none. */
	_Atomic uint64_t spared_off, spared_len;
};

/* Takes the disk over, also on failure. */
int target_init(struct target *, struct disk *, const struct install_config *,
    bool fresh, struct err *);
/* Close, checking that nothing was lost. */
int target_close(struct target *, struct err *);

/* Image sectors are counted from the image's sector 0; with `only`, from the first of
 * those that are installed. */
int target_check_fit(const struct target *, uint64_t sectors, struct err *);
/* `bytes` (the last sector may be short) at an image sector; data NULL: zeros. */
int target_write(
    struct target *, uint64_t sector, const void *data, uint64_t bytes, struct err *);
/* target_write(), or another that does something with the same data. */
typedef int target_put_fn(
    struct target *, uint64_t sector, const void *data, uint64_t bytes, struct err *);
/* What is there now: up to `bytes`, fewer only at the end of the disk, or -1. */
ssize_t target_read(
    struct target *, uint64_t sector, void *buf, size_t bytes, struct err *);
/* Compare the disk with this data.  What differs is written once more; -1 when it still
 * differs. */
int target_compare(
    struct target *, uint64_t sector, const void *data, uint64_t bytes, struct err *);
/* Note that `bytes` were on the target already and were not written. */
void target_note_same(struct target *, uint64_t sector, uint64_t bytes);
/* Sectors [from, to) of the image are free: leave, zero, discard or fill them. */
int target_free_space(struct target *, uint64_t from, uint64_t to, struct err *);
/* These free sectors hold something for now: they are not filled until
 * target_release(), which makes them what the free space around them is; where that
 * is left as it was, zeros. */
void target_reserve(struct target *, struct range);
int target_release(struct target *, struct err *);
/* These sectors are never filled: something that is not at its place in the image goes
 * there. */
void target_spare(struct target *, struct range);
/* Wait for writes in flight: until then buffers must not change.  Those that were
 * started when target_ticket() was that, or all. */
uint64_t target_ticket(const struct target *);
int target_land_upto(struct target *, uint64_t ticket, struct err *);
int target_land(struct target *, struct err *);
/* A chunk has answered for sectors [from, to). */
void target_note_covered(struct target *, uint64_t from, uint64_t to);
/* After the last chunk: put the incomplete marker, if it was not put yet, and give a new
 * file its length. */
int target_size(struct target *, struct err *);
/* Bytes of the disk, behind the head, that are not the image's; read back if that is
 * wanted. */
int target_fix(struct target *, uint64_t at, const void *, size_t, struct err *);
/* Called when nothing else is left to do: flush, write the first 4 KiB, flush.  When that
 * fails, the incomplete marker stands there again, if it can be written. */
int target_seal(struct target *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_TARGET_H */
