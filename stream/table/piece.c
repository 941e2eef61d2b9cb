/* piece.c: encodes and decodes the pieces of a sector table, and its header.  table.c calls
 * this, and streamed_open.c for the pointer in a disk's marker, in any thread.  A piece is
 *
 *	0 u32 CRC-32C of the table's id and of bytes 4..511, 4 u8 kind, 5 u8 flags (1: local),
 *	6 u16 0, 8 u64 sequence, 16 u64 index, 24 u64 0, 32 bits[480]
 *
 * and a header is
 *
 *	0 "NDZTABLE", version 1, CRC-32C, sequence (common/base/slots.h), 24 id[16],
 *	40 image[32], 72 u64 sectors, 80 u64 bytes of the disk, 88 u64 place,
 *	96 u32 flags (1: begun, 2: complete, 4: closed), 100 identity of the disk[32], zeros
 *
 * or, with version 2, which programs that know no maps do not read, instead of the zeros
 *
 *	132 u32 number of maps, 136 for each: u64 first sector in the image, u64 sectors,
 *	u64 first sector on the disk, zeros
 *
 * All numbers are little-endian. */
#include "stream/table/piece.h"

#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/slots.h"
#include "common/disk/range.h"

enum { CRC_FROM = 4, FLAG_LOCAL = 1 }; /* of a piece */
enum { FLAG_BEGUN = 1, FLAG_COMPLETE = 2, FLAG_CLOSED = 4 }; /* of a header */

static const struct slots header = { "NDZTABLE", 1, crc32c };
static const struct slots header_with_maps = { "NDZTABLE", 2, crc32c };

static uint32_t
checksum(const uint8_t id[TABLE_ID_BYTES], const uint8_t *block)
{
	return crc32c_more(
	    crc32c(id, TABLE_ID_BYTES), block + CRC_FROM, PIECE_BYTES - CRC_FROM);
}

void
piece_put(const struct piece *p, const uint8_t id[TABLE_ID_BYTES], uint8_t *out)
{
	struct wr w = wr_to(out, PIECE_BYTES), crc = wr_to(out, CRC_FROM);

	wr_le32(&w, 0);
	wr_u8(&w, (uint8_t)p->kind);
	wr_u8(&w, p->local ? FLAG_LOCAL : 0);
	wr_le16(&w, 0);
	wr_le64(&w, p->sequence);
	wr_le64(&w, p->index);
	wr_le64(&w, 0);
	wr_bytes(&w, p->bits, sizeof p->bits);
	wr_le32(&crc, checksum(id, out));
}

bool
piece_get(struct piece *p, const uint8_t id[TABLE_ID_BYTES], const void *block, size_t len)
{
	struct rd r = rd_from(block, len < PIECE_BYTES ? len : PIECE_BYTES);
	struct piece got = { .sequence = 0 };

	uint32_t crc = rd_le32(&r);
	uint8_t kind = rd_u8(&r);
	got.local = (rd_u8(&r) & FLAG_LOCAL) != 0;
	rd_skip(&r, 2);
	got.sequence = rd_le64(&r);
	got.index = rd_le64(&r);
	rd_skip(&r, 8);
	rd_copy(&r, got.bits, sizeof got.bits);
	if (!rd_done(&r) || crc != checksum(id, block) || got.sequence == 0 ||
	    (kind != PIECE_OF_SECTORS && kind != PIECE_OF_PIECES))
		return false;
	got.kind = kind;
	*p = got;
	return true;
}

static void
put_maps(struct wr *w, const struct maps *m)
{
	wr_le32(w, m->n);
	for (unsigned i = 0; i < m->n; i++) {
		wr_le64(w, m->map[i].from.off);
		wr_le64(w, m->map[i].from.len);
		wr_le64(w, m->map[i].to);
	}
}

void
table_header_put(const struct table_header *h, uint8_t *out)
{
	struct wr w = slot_body(out, PIECE_BYTES);

	wr_bytes(&w, h->id, sizeof h->id);
	wr_bytes(&w, h->image, sizeof h->image);
	wr_le64(&w, h->sectors);
	wr_le64(&w, h->disk_bytes);
	wr_le64(&w, h->at_bytes);
	wr_le32(&w, (h->begun ? FLAG_BEGUN : 0) | (h->complete ? FLAG_COMPLETE : 0) |
	                (h->closed ? FLAG_CLOSED : 0));
	wr_bytes(&w, h->disk, sizeof h->disk);
	if (h->maps.n > 0)
		put_maps(&w, &h->maps);
	slot_put(h->maps.n > 0 ? &header_with_maps : &header, out, PIECE_BYTES, &w, h->sequence);
}

/* Do the sizes fit each other? */
static bool
is_possible(const struct table_header *h)
{
	return h->disk_bytes <= INT64_MAX && h->sectors <= h->disk_bytes / SECTOR_BYTES + 1 &&
	       (h->at_bytes == TABLE_ELSEWHERE || h->at_bytes <= INT64_MAX);
}

/* Do all maps lead to sectors of the disk? */
static bool
get_maps(struct rd *r, struct table_header *h)
{
	uint32_t n = rd_le32(r);
	struct err ignored;

	if (n == 0 || n > TABLE_MAPS_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct range from = { .off = rd_le64(r) };
		from.len = rd_le64(r);
		struct range to = { rd_le64(r), from.len };
		if (from.len == 0 || !range_within(from, UINT64_MAX / SECTOR_BYTES) ||
		    !range_within(to, h->disk_bytes / SECTOR_BYTES) ||
		    maps_add(&h->maps, from, to.off, &ignored) != 0)
			return false;
	}
	return true;
}

bool
table_header_get(struct table_header *h, const void *block, size_t len)
{
	struct table_header got = { .sequence = 0 };
	struct rd r;

	bool plain = len >= PIECE_BYTES &&
	             slot_get(&header, block, PIECE_BYTES, &got.sequence, &r);
	if (!plain && (len < PIECE_BYTES ||
			  !slot_get(&header_with_maps, block, PIECE_BYTES, &got.sequence, &r)))
		return false;
	rd_copy(&r, got.id, sizeof got.id);
	rd_copy(&r, got.image, sizeof got.image);
	got.sectors = rd_le64(&r);
	got.disk_bytes = rd_le64(&r);
	got.at_bytes = rd_le64(&r);
	uint32_t flags = rd_le32(&r);
	got.begun = (flags & FLAG_BEGUN) != 0;
	got.complete = (flags & FLAG_COMPLETE) != 0;
	got.closed = (flags & FLAG_CLOSED) != 0;
	rd_copy(&r, got.disk, sizeof got.disk);
	if (!rd_ok(&r) || !is_possible(&got) || (!plain && !get_maps(&r, &got)))
		return false;
	*h = got;
	return true;
}
