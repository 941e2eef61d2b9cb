/* target.h: the disk that is installed to: where sector 0 of the image lands,
 * how much room there is, and what happens to free space. */
#ifndef IMAGEUNZIP_INSTALL_TARGET_H
#define IMAGEUNZIP_INSTALL_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/disk/maps.h"
#include "common/disk/ptable.h"
#include "common/target/boot_area.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/ledger.h"
#include "imageunzip/install/recheck.h"

struct free_space;
struct fit;
struct disk_hold;

enum { TARGET_FILL_BYTES = 1 << 20 };

struct target {
	struct disk *disk;                /* borrowed */
	struct disk_hold *hold; /* of the slice; borrowed; NULL: the disk has one of its own */
	const struct install_config *cfg; /* borrowed */
	unsigned number;                  /* of the partition; 0: the whole disk */
	bool holds_file;                  /* the image is of a file, not of a disk */
	bool fresh;                       /* an empty file: holes are zeros already */
	struct range slice;               /* sectors; len 0: the whole disk */
	/* Where the sectors of the image go.  Whoever feeds puts another list there, before
	 * the first chunk for which that list differs. */
	const struct maps *_Atomic maps;
	struct maps as_is, diverted; /* the lists; with a tail that goes elsewhere, `diverted` */
	/* The sectors of the image that are installed, at the beginning of the slice
	 * (--only); len 0: all of them. */
	struct range only;
	uint8_t only_mbr_type;     /* MBR type of the partition `only`; 0: in a GPT */
	_Atomic bool warned_moved; /* the warning was printed about what is not adapted
	                              to its new place */
	uint64_t room;                    /* sectors from sector 0 of the image on;
	                                   * UINT64_MAX: as many as needed */
	_Atomic bool ends_short; /* a file whose last sector is short, as is that of the image */
	struct boot_area boot_area;
	struct flight *flight;      /* direct writes, or NULL */
	struct ledger *ledger;      /* what was written where; NULL: it cannot be read */
	_Atomic bool touched;       /* it was written since target_recheck() */
	uint32_t *fill;             /* TARGET_FILL_BYTES of the pattern, or NULL */
	uint64_t stream_at;         /* for streams: the sectors written so far */
	_Atomic uint64_t end_bytes; /* bytes that a fresh file must have, at least */
	_Atomic uint64_t short_end; /* exact end of a file by its short sector, or 0 */
	_Atomic uint64_t
	    covered_end; /* sectors of the image that chunks answered for */
	_Atomic uint64_t bytes_written, bytes_same, bytes_filled, bytes_covered;
	_Atomic bool begun; /* a write has at least begun, which a guard does not wait for */
	_Atomic bool no_discard; /* the disk does not support discard */
	/* Free sectors of the image that are not to be filled yet; len 0: none. */
	_Atomic uint64_t reserved_off, reserved_len;
	bool stores_last; /* --grow: the image says to store something of that partition */
	const struct fit *fit; /* the plan of --fit; borrowed; NULL: there is none */
	struct free_space *free_space; /* which free space is the image's; borrowed */
	/* Sectors that are never filled: something was moved there; len 0: none. */
	_Atomic uint64_t spared_off, spared_len;
};

/* Refuse options that exclude one another (ERR_USAGE), before anything is opened. */
int target_check_options(const struct install_config *, struct err *);
/* Begin a target on a disk, or on the partition of this number; target_close(). fresh: the
 * disk is an empty file. ERR_ABSENT: there is no such partition; ERR_USAGE: a pipe cannot do what an
 * option asks for. */
int target_init(struct target *, struct disk *, const struct install_config *,
    unsigned number, bool fresh, struct err *);
void target_close(struct target *);

/* Note what chunk 0 says of the image, before target_check_fit(). */
void target_note_image(struct target *, const struct ext *);
/* Install these sectors of the image alone, before the first chunk. */
void target_set_only(struct target *, const struct partition *);
/* Does an image that needs `sectors` sectors fit (ERR_REFUSED)? In all functions, image
 * sectors are counted from the image's sector 0; with `only`, from the first sector that
 * is installed. */
int target_check_fit(const struct target *, uint64_t sectors, struct err *);
/* Write `bytes` bytes (the last sector may be short) at an image sector; data NULL:
 * zeros. With --read-back, digests of them are added to the parts (NULL: nowhere).
 * ERR_UNSUPPORTED: a stream is past this sector. */
int target_write(struct target *, uint64_t sector, const void *data, uint64_t bytes,
    struct ledger_parts *, struct err *);
/* target_write(), or another function with the same arguments. */
typedef int target_put_fn(struct target *, uint64_t sector, const void *data,
    uint64_t bytes, struct ledger_parts *, struct err *);
/* Read what the target holds at an image sector. Returns the bytes read, fewer than
 * `bytes` only at the end of the disk, or -1. */
ssize_t target_read(
    struct target *, uint64_t sector, void *buf, size_t bytes, struct err *);
/* When all data is written: compare the disk with this data.  What differs is written
 * once more; -1 when it still differs. */
int target_compare(struct target *, uint64_t sector, const void *data, uint64_t bytes,
    struct ledger_parts *unused, struct err *);
/* Note that `bytes` were on the target already and were not written. With --read-back
 * they are read from it, to be compared in the end. Errors of reading. */
int target_note_same(struct target *, uint64_t sector, uint64_t bytes,
    struct ledger_parts *, struct err *);
/* Sectors [from, to) of the image are free: leave, zero, discard or fill them. */
int target_free_space(struct target *, uint64_t from, uint64_t to, struct err *);
/* Reserve free sectors, which hold something for now: they are not filled until
 * target_release(), which treats them like other free space, or zeros them where free
 * space is left as it was. */
void target_reserve(struct target *, struct range);
int target_release(struct target *, struct err *);
/* Never fill these sectors as free space: a moved piece of the tail goes there. */
void target_spare(struct target *, struct range);
/* Wait for writes in flight, whose buffers must not change until then: target_land_upto()
 * waits for the writes that were started when target_ticket() returned `ticket`, and
 * target_land() for all. */
uint64_t target_ticket(const struct target *);
int target_land_upto(struct target *, uint64_t ticket, struct err *);
int target_land(struct target *, struct err *);
/* Note that a chunk has answered for sectors [from, to). */
void target_note_covered(struct target *, uint64_t from, uint64_t to);
/* After the last chunk: put the incomplete marker, if it was not put yet, and give a new
 * file its length. */
int target_size(struct target *, struct err *);
/* Write n bytes at byte `at` of the disk, behind the boot area, that are not data of the
 * image; they are compared with --read-back. */
int target_fix(struct target *, uint64_t at, const void *, size_t, struct err *);
/* Flush, and look again at what was written: all of it with --read-back, else a few
 * places; and at the incomplete marker. recheck_free(). Errors of flushing and reading. */
int target_recheck(struct target *, struct recheck *, struct err *);
/* What was written is not there: the marker stands, and knows of no state. */
void target_doubt(struct target *);
/* Called when nothing else is left to do: flush, write the first 4 KiB, flush.  When that
 * fails, the incomplete marker stands there again, if it can be written. */
int target_seal(struct target *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_TARGET_H */
