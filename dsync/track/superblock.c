/* superblock.c: reads the first block of the metadata of dm-era, and puts a generation into it.
 * track.c calls this, in one thread. */
#include "dsync/track/superblock.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/base/zero.h"

enum {
	CSUM_XOR = 146538381, /* added to the check sum of this kind of metadata */
	MAGIC = 2126579579,
	VERSION = 1,
	SPACE_MAP_BYTES = 128, /* the root of the space map: the number of its blocks, and more */
	AT_FLAGS = 4, AT_UUID = 16,
};

static uint32_t
check_sum(const uint8_t *block)
{
	return ~crc32c(block + AT_FLAGS, SUPERBLOCK_BYTES - AT_FLAGS) ^ CSUM_XOR;
}

int
superblock_get(struct superblock *s, const uint8_t block[SUPERBLOCK_BYTES], struct err *e)
{
	struct rd r = rd_from(block, SUPERBLOCK_BYTES);

	memset(s, 0, sizeof *s);
	s->empty = is_zero(block, SUPERBLOCK_BYTES);
	s->room_bytes = UINT64_MAX;
	if (s->empty)
		return 0;
	uint32_t sum = rd_le32(&r);
	rd_skip(&r, 4); /* flags, which dm-era does not use */
	uint64_t number = rd_le64(&r);
	rd_copy(&r, s->generation.bytes, sizeof s->generation.bytes);
	uint64_t magic = rd_le64(&r);
	uint32_t version = rd_le32(&r);
	uint64_t space_blocks = rd_le64(&r);
	rd_skip(&r, SPACE_MAP_BYTES - 8);
	s->block_sectors = rd_le32(&r);
	rd_skip(&r, 4); /* size of the metadata's own blocks */
	s->blocks = rd_le32(&r);
	s->era = rd_le32(&r);
	if (space_blocks < UINT64_MAX / SUPERBLOCK_BYTES)
		s->room_bytes = space_blocks * SUPERBLOCK_BYTES;
	if (number != 0 || magic != MAGIC)
		return err_set(e, ERR_FORMAT, "it does not hold metadata of dm-era");
	if (sum != check_sum(block))
		return err_set(e, ERR_FORMAT, "the metadata of dm-era is damaged: its first block "
			"has a wrong check sum");
	if (version != VERSION)
		return err_set(e, ERR_UNSUPPORTED,
		    "version %" PRIu32 " of the metadata of dm-era is not known", version);
	return 0;
}

void
superblock_put(uint8_t block[SUPERBLOCK_BYTES], const struct stream_id *generation)
{
	memcpy(block + AT_UUID, generation->bytes, sizeof generation->bytes);
	struct wr sum = wr_to(block, AT_FLAGS);
	wr_le32(&sum, check_sum(block));
}

static int
read_block(struct disk *d, uint8_t block[SUPERBLOCK_BYTES], struct superblock *s, struct err *e)
{
	if (disk_read_back(d, block, SUPERBLOCK_BYTES, 0, e) != 0)
		return -1;
	if (superblock_get(s, block, e) != 0)
		return err_ctx(e, "%s", disk_name(d));
	if (s->room_bytes > disk_size_bytes(d))
		s->room_bytes = disk_size_bytes(d);
	return 0;
}

int
superblock_read(struct superblock *s, const char *metadata, struct err *e)
{
	uint8_t block[SUPERBLOCK_BYTES];
	struct disk *d;
	struct err ignored;

	if (disk_open(&d, metadata, DISK_READ, e) != 0)
		return -1;
	int rc = read_block(d, block, s, e);
	disk_close(d, &ignored);
	return rc;
}

static int
put_block(struct disk *d, const uint8_t block[SUPERBLOCK_BYTES], struct err *e)
{
	uint8_t again[SUPERBLOCK_BYTES];

	if (disk_write(d, block, SUPERBLOCK_BYTES, 0, e) != 0 || disk_sync(d, e) != 0 ||
	    disk_read_back(d, again, sizeof again, 0, e) != 0)
		return -1;
	if (memcmp(block, again, sizeof again) == 0)
		return 0;
	return err_set(e, ERR_IO, "%s: what was written to it is not there", disk_name(d));
}

/* Put a generation into the metadata; NULL: make it empty. */
static int
change(struct disk *d, const struct stream_id *generation, struct err *e)
{
	uint8_t block[SUPERBLOCK_BYTES] = { 0 };
	struct superblock s;

	if (generation == NULL)
		return put_block(d, block, e);
	if (read_block(d, block, &s, e) != 0)
		return -1;
	if (s.empty)
		return err_set(e, ERR_REFUSED, "%s: the metadata is empty", disk_name(d));
	superblock_put(block, generation);
	return put_block(d, block, e);
}

static int
open_and_change(const char *metadata, const struct stream_id *generation, struct err *e)
{
	struct disk *d;
	struct err late;

	if (disk_open(&d, metadata, DISK_READ | DISK_WRITE, e) != 0)
		return -1;
	int rc = change(d, generation, e);
	if (disk_close(d, &late) != 0 && rc == 0)
		*e = late, rc = -1;
	return rc;
}

int
superblock_write(const char *metadata, const struct stream_id *generation, struct err *e)
{
	return open_and_change(metadata, generation, e);
}

int
superblock_clear(const char *metadata, struct err *e)
{
	return open_and_change(metadata, NULL, e);
}
