/* superblock.h: the first block of the metadata of dm-era, and the generation that is kept in
 * it while the tracker is not active.
 *
 * The block has room for a UUID that dm-era does not use.  Each activation writes the block
 * anew and clears this room, so a generation that is still there proves that the metadata
 * was not activated since the generation was written.  (The kernel's dm-era target: block 0 of
 * 4096 bytes; its check sum is the CRC-32C of bytes 4 to 4095, as the device mapper's
 * persistent data computes it.)
 */
#ifndef DSYNC_TRACK_SUPERBLOCK_H
#define DSYNC_TRACK_SUPERBLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dsync/stream/stream.h"

enum { SUPERBLOCK_BYTES = 4096 };

struct superblock {
	bool empty;                  /* all zeros: dm-era will make new metadata */
	struct stream_id generation; /* zeros: the tracker is active, or was not ended cleanly */
	uint32_t block_sectors;      /* of the blocks whose changes are noted */
	uint32_t blocks;             /* of the device */
	uint32_t era;                /* the newest one */
	uint64_t room_bytes; /* that dm-era can use: of the device when the metadata was made, and now */
};

/* Read the fields out of a block; room_bytes is that of the time when the metadata was made, without a
 * limit if it is empty.  ERR_FORMAT: it is damaged, or not dm-era's; ERR_UNSUPPORTED:
 * its version is not known. */
int superblock_get(struct superblock *, const uint8_t block[SUPERBLOCK_BYTES], struct err *);
/* Put a generation into a block that superblock_get() has accepted, and make its check sum
 * right. */
void superblock_put(uint8_t block[SUPERBLOCK_BYTES], const struct stream_id *generation);

/* Read the block of the metadata on this device or file from the medium.  Errors as
 * superblock_get(); ERR_IO. */
int superblock_read(struct superblock *, const char *metadata, struct err *);
/* Write a generation into the metadata on this device or file, and read it back.  The tracker
 * must not be active: ERR_REFUSED when the device is in use, or the block is empty.  Errors as
 * superblock_read(). */
int superblock_write(const char *metadata, const struct stream_id *generation, struct err *);
/* Make the block empty, so that dm-era makes new metadata.  ERR_REFUSED when the device is in
 * use; ERR_IO. */
int superblock_clear(const char *metadata, struct err *);

#endif /* DSYNC_TRACK_SUPERBLOCK_H */
