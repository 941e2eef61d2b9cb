/* cost.c: calculates what a tracker of a device takes, and compares it with the room that its metadata
 * has.  track.c calls this, in one thread.
 *
 * For each block dm-era keeps the era of its last write, of 4 bytes, in an array that is complete from
 * the beginning.  It is never changed in place: while the blocks of an era are put into it, there are
 * the array of the last commit, the new one, and that of a metadata snapshot, which an extract reads.
 * Eras that were not put into it yet take a bit for each block.
 */
#include "dsync/track/cost.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "dsync/stream/stream.h"

enum {
	MIB = 1 << 20,
	/* Of the metadata, for a block of the device: three arrays of eras with the trees above them are less
	 * than 12.3 bytes, and the rest is room for 29 sets of a bit for each block. */
	NOTES_BYTES = 16,
	OTHER_BYTES = MIB, /* trees of small devices, and what the metadata says of its own blocks */
	BITMAPS = 2, /* in memory: of the era that is noted, and of the one before until it is written */
};

/* The kernel's space map of metadata has 255 blocks of 16,320 entries; what is behind is not used. */
static const uint64_t ROOM_MAX_BYTES = UINT64_C(255) * 16320 * SUPERBLOCK_BYTES;

struct track_cost
cost_of(uint64_t bytes, uint64_t block_bytes)
{
	struct track_cost c = { .block_bytes = block_bytes };

	c.blocks = bytes / block_bytes + (bytes % block_bytes != 0);
	c.memory_bytes = BITMAPS * ((c.blocks + 63) / 64 * 8);
	c.metadata_bytes = (c.blocks * NOTES_BYTES + OTHER_BYTES + MIB - 1) / MIB * MIB;
	return c;
}

/* Say what would have room: metadata of that size, if dm-era can use so much, or larger blocks. */
static void
say_way_out(uint64_t room, const struct track_cost *c, uint64_t bytes, char out[80])
{
	bool usable = c->metadata_bytes <= ROOM_MAX_BYTES;
	uint64_t b = c->block_bytes * 2;

	while (b < STREAM_BLOCK_MAX && cost_of(bytes, b).metadata_bytes > room)
		b *= 2;
	bool larger = cost_of(bytes, b).metadata_bytes <= room;
	snprintf(out, 80, "%s", usable ? "with so much" : "with larger blocks");
	if (larger)
		snprintf(out, 80, "%swith --block=%" PRIu64 "k", usable ? "with so much, or " : "", b >> 10);
}

int
cost_check(const struct superblock *s, const char *metadata, uint64_t bytes,
    uint64_t block_bytes, struct err *e)
{
	struct track_cost c = cost_of(bytes, block_bytes);
	uint64_t room = s->room_bytes < ROOM_MAX_BYTES ? s->room_bytes : ROOM_MAX_BYTES;
	char way[80];

	if (c.metadata_bytes <= room)
		return 0;
	say_way_out(room, &c, bytes, way);
	return err_set(e, ERR_REFUSED,
	    "%.200s: dm-era can use %" PRIu64 " MiB of it, and may need %" PRIu64 " MiB to note %" PRIu64
	    " blocks of %" PRIu64 " KiB; begin anew %s",
	    metadata, room / MIB, c.metadata_bytes / MIB, c.blocks, block_bytes >> 10, way);
}
