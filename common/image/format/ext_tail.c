/* ext_tail.c: the record of an image's tail, to bytes and back, and what it says of
 * given sectors.  ext.c and ext_put.c call it for the record; imagezip makes it;
 * imageunzip/install/target_tail.c asks what is to be done with a sector.  It keeps nothing, so
 * any thread may call it. */
#include "common/image/format/ext_tail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/number.h"

enum { RECORD_HEAD_BYTES = 8 };

static const char *const names[TAIL_KINDS] = {
	[TAIL_UNKNOWN] = "unknown data",
	[TAIL_MD0] = "a Linux RAID superblock (version 0.90)",
	[TAIL_MD1] = "a Linux RAID superblock (version 1.0)",
	[TAIL_IMSM] = "Intel RAID metadata",
	[TAIL_DDF] = "DDF RAID metadata",
	[TAIL_LDM] = "the database of a Windows dynamic disk",
	[TAIL_VHD] = "a VHD footer",
	[TAIL_NVIDIA] = "NVIDIA RAID metadata",
	[TAIL_PROMISE] = "Promise RAID metadata",
	[TAIL_SILICON] = "Silicon Image RAID metadata",
	[TAIL_VIA] = "VIA RAID metadata",
	[TAIL_LSI] = "LSI MegaRAID metadata",
	[TAIL_ADAPTEC] = "Adaptec RAID metadata",
	[TAIL_HIGHPOINT] = "HighPoint RAID metadata",
	[TAIL_JMICRON] = "JMicron RAID metadata",
	[TAIL_GEOM] = "GEOM metadata",
	[TAIL_ZFS] = "ZFS labels",
	[TAIL_DRBD] = "DRBD metadata",
	[TAIL_AVB] = "an Android verified boot footer",
	[TAIL_VERITY] = "a dm-verity tree",
};

const char *
tail_kind_name(uint32_t kind)
{
	return kind < TAIL_KINDS ? names[kind] : "metadata of an unknown kind";
}

/* Pieces must ascend, none may be empty, and all must lie on the disk. */
static bool
is_possible(const struct tail *t)
{
	uint64_t end = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct range r = t->pieces[i].sectors;
		if (r.len == 0 || r.off < end || !range_within(r, t->disk_sectors))
			return false;
		end = range_end(r);
	}
	return t->disk_sectors <= UINT64_MAX / SECTOR_BYTES &&
	       t->needed <= t->disk_sectors;
}

int
tail_get(struct tail *t, struct rd *r, struct err *e)
{
	uint64_t disk_sectors = rd_le64(r), needed = rd_le64(r);
	uint32_t n = rd_le32(r);

	rd_skip(r, 4);
	if (t->n != 0)
		return err_set(e, ERR_FORMAT, "two records of the disk's end");
	if (n == 0 || n > TAIL_PIECES_MAX || !rd_can_hold(r, n, TAIL_PIECE_BYTES))
		return err_set(e, ERR_FORMAT,
		    "the record of the disk's end cannot hold %u pieces", n);
	*t = (struct tail){ .n = n, .disk_sectors = disk_sectors, .needed = needed };
	for (size_t i = 0; i < n; i++) {
		t->pieces[i].sectors.off = rd_le64(r);
		t->pieces[i].sectors.len = rd_le64(r);
		t->pieces[i].kind = rd_le32(r);
		rd_skip(r, 4);
	}
	return is_possible(t)
	           ? 0
	           : err_set(e, ERR_FORMAT, "the record of the disk's end is invalid");
}

void
tail_put(const struct tail *t, struct wr *w)
{
	wr_le64(w, t->disk_sectors);
	wr_le64(w, t->needed);
	wr_le32(w, (uint32_t)t->n);
	wr_le32(w, 0);
	for (size_t i = 0; i < t->n; i++) {
		wr_le64(w, t->pieces[i].sectors.off);
		wr_le64(w, t->pieces[i].sectors.len);
		wr_le32(w, t->pieces[i].kind);
		wr_le32(w, 0);
	}
}

size_t
tail_record_bytes(const struct tail *t)
{
	return t->n == 0 ? 0
	                 : RECORD_HEAD_BYTES + TAIL_HEAD_BYTES +
	                       t->n * (size_t)TAIL_PIECE_BYTES;
}

bool
tail_same(const struct tail *a, const struct tail *b)
{
	bool same = a->n == b->n && a->disk_sectors == b->disk_sectors &&
	            a->needed == b->needed;

	for (size_t i = 0; same && i < a->n; i++)
		same = a->pieces[i].sectors.off == b->pieces[i].sectors.off &&
		       a->pieces[i].sectors.len == b->pieces[i].sectors.len &&
		       a->pieces[i].kind == b->pieces[i].kind;
	return same;
}

uint64_t
tail_run(const struct tail *t, struct range r, const struct tail_piece **piece)
{
	for (size_t i = 0; i < t->n; i++) {
		struct range p = t->pieces[i].sectors;
		if (range_end(p) <= r.off)
			continue;
		uint64_t stop = p.off > r.off ? p.off : range_end(p);
		*piece = p.off > r.off ? NULL : &t->pieces[i];
		return stop - r.off < r.len ? stop - r.off : r.len;
	}
	*piece = NULL;
	return r.len;
}

uint64_t
tail_rest_end(const struct tail *t, const struct range *regions, size_t n)
{
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++)
		for (struct range r = regions[i]; r.len > 0;) {
			const struct tail_piece *piece;
			uint64_t now = tail_run(t, r, &piece);
			r = (struct range){ r.off + now, r.len - now };
			end = piece == NULL ? r.off : end;
		}
	return end;
}

void
tail_count(const struct tail *t, const struct range *regions, size_t n,
    uint64_t sectors[TAIL_PIECES_MAX])
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < t->n; k++) {
			struct range p = t->pieces[k].sectors;
			sectors[k] += range_clip(regions[i], p.off, range_end(p)).len;
		}
}

bool
tail_touches(const struct tail *t, const struct range *regions, size_t n)
{
	uint64_t sectors[TAIL_PIECES_MAX] = { 0 }, sum = 0;

	tail_count(t, regions, n, sectors);
	for (size_t k = 0; k < t->n; k++)
		sum += sectors[k];
	return sum > 0;
}

const char *
tail_text(const struct tail *t, const uint64_t sectors[TAIL_PIECES_MAX], char *buf,
    size_t cap)
{
	size_t n = 0;
	char size[32];

	buf[0] = '\0';
	for (uint32_t kind = 0; kind <= TAIL_KINDS && n < cap; kind++) {
		uint64_t sum = 0;
		for (size_t i = 0; i < t->n; i++)
			/* All kinds of later versions count as one kind here. */
			if (t->pieces[i].kind == kind ||
			    (kind == TAIL_KINDS && t->pieces[i].kind > kind))
				sum += sectors[i];
		if (sum > 0)
			n += (size_t)snprintf(buf + n, cap - n, "%s%s of %s",
			    n > 0 ? ", " : "",
			    human_bytes(sum * SECTOR_BYTES, size, sizeof size),
			    tail_kind_name(kind));
	}
	return buf;
}
