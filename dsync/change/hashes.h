/* hashes.h: a file with the SHA-256 of each block of a state of a device.  It lies beside the file
 * of bases, PATH, as PATH.ID or under another name, and is made as PATH.new:
 *
 *	0 magic "DSHASHES", 8 u32 version 1, 12 u32 bytes of a block, 16 u64 bytes of the
 *	device, 24 id of the state, 40 another id or zeros, 56 zeros[8], 64 one SHA-256 for each
 *	block; little-endian
 *
 * 32 zeros, a hole of the file, stand for a block whose digest is not known.  What the other id
 * means is said by whoever writes it (fine.h).
 */
#ifndef DSYNC_CHANGE_HASHES_H
#define DSYNC_CHANGE_HASHES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/sha256.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "dsync/stream/stream.h"

enum {
	HASHES_BLOCK_MIN = 4096, /* a page, the least that filesystems write */
	HASHES_PIECE_BYTES = 1 << 20, /* of the device, at most, that one call takes */
	HASHES_PIECE_BLOCKS = HASHES_PIECE_BYTES / HASHES_BLOCK_MIN,
	HASHES_HEAD_BYTES = 64,
};

struct hashes {
	struct disk *file;   /* NULL: not open */
	char *path;          /* of a file that is being made, and removed unless it is kept; owned */
	uint32_t block_bytes;
	uint64_t device_bytes;
	struct stream_id id, other;
	uint8_t zeros[SHA256_BYTES]; /* the digest of a block of zeros */
	uint8_t *part;       /* a block of which only the beginning was sent so far; owned */
	uint64_t part_end;   /* byte of the device behind that beginning */
};

/* Make a file in which no digest is known.  ERR_IO, ERR_NOMEM. */
int hashes_make(struct hashes *, const char *state_path, uint32_t block_bytes,
    uint64_t device_bytes, struct err *);
/* Open the file PATH.SUFFIX, also for writing if that is asked for.  ERR_FORMAT: it is of blocks or of a device of
 * another size, or damaged; ERR_IO, also if there is no such file; ERR_NOMEM. */
int hashes_open(struct hashes *, const char *state_path, const char *suffix, bool write,
    uint32_t block_bytes, uint64_t device_bytes, struct err *);
/* Close the file; one that was made and not kept is removed.  A struct of zeros is allowed. */
void hashes_close(struct hashes *);

/* Make the digests of the blocks of data[bytes], at most HASHES_PIECE_BYTES, of which the last may
 * be short.  Returns their number. */
size_t hashes_of(const struct hashes *, const uint8_t *data, size_t bytes,
    uint8_t digests[HASHES_PIECE_BLOCKS * SHA256_BYTES]);
/* Read or write the digests of n blocks from the one at byte `off` of the device on.  ERR_IO. */
int hashes_get(struct hashes *, uint64_t off, size_t n, uint8_t *digests, struct err *);
int hashes_put(struct hashes *, uint64_t off, size_t n, const uint8_t *digests, struct err *);
/* Write the digests of bytes that are being sent, in ascending order; data NULL: they are zeros.  A
 * range may begin and end within a block, if others have the rest of it.  ERR_IO, ERR_NOMEM. */
int hashes_sent(struct hashes *, struct range bytes, const void *data, struct err *);
/* Write the head with these ids, so that it and all before it survive a crash.  ERR_IO. */
int hashes_say(struct hashes *, const struct stream_id *id, const struct stream_id *other,
    struct err *);
/* Give a file that was made its name, PATH.ID.  ERR_IO, ERR_NOMEM. */
int hashes_keep(struct hashes *, const char *state_path, const struct stream_id *id,
    const struct stream_id *other, struct err *);
/* Remove PATH.ID.  It may stay, which does no harm. */
void hashes_drop(const char *state_path, const struct stream_id *id);

#endif /* DSYNC_CHANGE_HASHES_H */
