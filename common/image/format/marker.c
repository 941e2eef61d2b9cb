/* marker.c: reads and writes the incomplete marker, and refuses what carries it.  Installations and
 * streaming disks write it; imagezip, dsync, growfs and imageunzip --status look for it; in any
 * thread.  It is one block:
 *
 *	0 magic "NDZ unfinished\n" and a NUL, 16 u32 version 1, 20 u32 CRC-32 of
 *	bytes 24..511, 24 UUID, 40 u64 seconds since 1970, 48 id[16], 64 a
 *	sentence, zeros, 256 u64 first byte of the state, 264 u64 bytes of it, zeros
 */
#include "common/image/format/marker.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "common/base/number.h"
#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/disk/ptable.h"

enum { MARKER_VERSION = 1, CRC_FROM = 24, STATE_FROM = 256 };

static const char magic[16] = "NDZ unfinished\n";
static const char sentence[] =
    "This disk is being installed, or its installation was interrupted.\n";

bool
marker_get(struct marker *m, const uint8_t block[MARKER_BYTES])
{
	struct rd r = rd_from(block, MARKER_BYTES);
	const void *p = rd_bytes(&r, sizeof magic);

	if (p == NULL || memcmp(p, magic, sizeof magic) != 0)
		return false;
	uint32_t version = rd_le32(&r), crc = rd_le32(&r);
	rd_copy(&r, m->uuid, sizeof m->uuid);
	m->started = rd_le64(&r);
	rd_copy(&r, m->id, sizeof m->id);
	struct rd s = rd_from(block + STATE_FROM, MARKER_BYTES - STATE_FROM);
	m->state_at = rd_le64(&s);
	m->state_bytes = rd_le64(&s);
	return rd_ok(&r) && version == MARKER_VERSION &&
	       crc == (uint32_t)crc32(0, block + CRC_FROM, MARKER_BYTES - CRC_FROM);
}

void
marker_put(const struct marker *m, uint8_t block[MARKER_BYTES])
{
	struct wr w = wr_to(block, MARKER_BYTES);

	memset(block, 0, MARKER_BYTES);
	wr_bytes(&w, magic, sizeof magic);
	wr_le32(&w, MARKER_VERSION);
	wr_le32(&w, 0);
	wr_bytes(&w, m->uuid, sizeof m->uuid);
	wr_le64(&w, m->started);
	wr_bytes(&w, m->id, sizeof m->id);
	wr_bytes(&w, sentence, sizeof sentence);
	struct wr s = wr_to(block + STATE_FROM, MARKER_BYTES - STATE_FROM);
	wr_le64(&s, m->state_at);
	wr_le64(&s, m->state_bytes);
	struct wr crc = wr_to(block + CRC_FROM - 4, 4);
	wr_le32(&crc, (uint32_t)crc32(0, block + CRC_FROM, MARKER_BYTES - CRC_FROM));
}

int
marker_read(struct disk *d, uint64_t at, struct marker *m, struct err *e)
{
	uint8_t block[MARKER_BYTES] = { 0 };

	if (disk_read_upto(d, block, sizeof block, at, e) < 0)
		return -1;
	return marker_get(m, block);
}

int
marker_refuse(struct disk *d, uint64_t sector, unsigned number, struct err *e)
{
	char part[32] = "", began[32];
	struct marker m;
	int rc = marker_read(d, sector * SECTOR_BYTES, &m, e);

	if (rc != 1)
		return rc;
	if (number != 0)
		snprintf(part, sizeof part, "partition %u: ", number);
	return err_set(e, ERR_REFUSED,
	    "%s: %san installation, begun on %s, is not complete, or the disk is still being "
	    "streamed to",
	    disk_name(d), part, human_time(m.started, began, sizeof began));
}

int
marker_refuse_any(struct disk *d, struct err *e)
{
	struct ptable t;
	struct err ignored;
	int rc = marker_refuse(d, 0, 0, e);

	if (rc != 0 || ptable_read(&t, d, &ignored) != 0)
		return rc;
	for (unsigned i = 0; rc == 0 && i < t.nparts; i++)
		rc = marker_refuse(d, t.parts[i].sectors.off, t.parts[i].number, e);
	ptable_free(&t);
	return rc;
}
