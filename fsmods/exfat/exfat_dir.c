/* exfat_dir.c: reads the directories of exFAT: where the bitmap is, and which clusters
 * are in use. exfat.c and exfat_bad.c call this, in the thread that scans. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/rd.h"
#include "fsmods/bits.h"
#include "fsmods/exfat/exfat_impl.h"

enum {
	ENTRY_BYTES = 32, /* of a directory */
	DIR_BYTES_MAX = 256 << 20,
	CASE_TABLE_BYTES_MAX = 65536 * 2,
	DIR_PIECE_BYTES = 32 << 10,
};

static const uint32_t CHAIN_END = UINT32_MAX;

enum entry_type {
	ENTRY_END = 0,
	ENTRY_BITMAP = 0x81,
	ENTRY_CASE_TABLE = 0x82,
	ENTRY_LABEL = 0x83,
	ENTRY_FILE = 0x85,
	ENTRY_GUID = 0xa0,
	ENTRY_STREAM = 0xc0,
	ENTRY_IN_USE = 0x80,
	ENTRY_SECONDARY = 0x40,
	ENTRY_BENIGN = 0x20,
};

enum {
	ATTR_AT = 4, /* of a file entry */
	ATTR_DIRECTORY = 0x10,
	SECONDARY_ALLOCATION = 1,
	SECONDARY_CONTIGUOUS = 2, /* no chain in the FAT */
	BITMAP_SECOND = 1,
};

/* The number of clusters that this many bytes need. */
static uint64_t
clusters_for(const struct exfat *v, uint64_t bytes)
{
	return bytes / v->cluster_bytes + (bytes % v->cluster_bytes != 0);
}

/* Get a cluster's entry of the FAT, of which v->window holds the piece read last. */
static int
fat_entry(struct exfat *v, uint32_t cluster, uint32_t *value, struct err *e)
{
	uint64_t at = (uint64_t)cluster * EXFAT_FAT_ENTRY_BYTES,
		 in_window = at % EXFAT_WINDOW_BYTES;
	uint64_t fat_bytes = (uint64_t)v->boot.fat_sectors << v->boot.sector_shift;

	if (v->window_at != at - in_window) {
		uint64_t left = fat_bytes - (at - in_window);
		v->window_at = UINT64_MAX;
		if (exfat_read(v, v->window,
			left < EXFAT_WINDOW_BYTES ? left : EXFAT_WINDOW_BYTES,
			((uint64_t)v->boot.fat_at << v->boot.sector_shift) + at -
			    in_window,
			e) != 0)
			return -1;
		v->window_at = at - in_window;
	}
	struct rd r = rd_from(v->window + in_window, EXFAT_FAT_ENTRY_BYTES);
	*value = rd_le32(&r);
	return 0;
}

/* Claim `count` clusters from `first` on; fails when one of them is claimed already. */
static int
claim(struct exfat *v, uint32_t first, uint64_t count, struct err *e)
{
	uint64_t from = (uint64_t)first - EXFAT_FIRST_CLUSTER;

	if (!exfat_is_cluster(v, first) || count > v->boot.clusters - from)
		return err_set(e, ERR_FORMAT,
		    "a file or table has %" PRIu64 " clusters from cluster %" PRIu32
		    " on, which do not all exist",
		    count, first);
	uint64_t twice = bits_find(v->claimed, from, from + count, true);
	if (twice < from + count)
		return err_set(e, ERR_FORMAT, "two files have cluster %" PRIu64,
		    twice + EXFAT_FIRST_CLUSTER);
	bits_set(v->claimed, from, from + count);
	return 0;
}

/* Claim a chain of `count` clusters from `at` on. The walk ends, because each cluster can
 * be claimed only once. */
static int
claim_chain(struct exfat *v, uint32_t at, uint64_t count, struct err *e)
{
	for (; count > 0; count--)
		if (claim(v, at, 1, e) != 0 ||
		    (count > 1 && fat_entry(v, at, &at, e) != 0))
			return -1;
	return 0;
}

static int
push_dir(struct exfat *v, struct exfat_pending p, struct err *e)
{
	if (v->ndirs == v->dirs_cap) {
		size_t cap = v->dirs_cap * 2 + 16;
		struct exfat_pending *more = reallocarray(v->dirs, cap, sizeof *more);
		if (more == NULL)
			return err_nomem(e, "a list of directories");
		v->dirs = more;
		v->dirs_cap = cap;
	}
	v->dirs[v->ndirs++] = p;
	return 0;
}

/* Take a secondary entry that has clusters, the contents of a file or directory. */
static int
take_contents(struct exfat *v, struct rd r, bool directory, struct err *e)
{
	rd_skip(&r, 1);
	uint8_t flags = rd_u8(&r);
	rd_skip(&r, 18);
	uint32_t first = rd_le32(&r);
	uint64_t bytes = rd_le64(&r);
	bool contiguous = flags & SECONDARY_CONTIGUOUS;

	if (!(flags & SECONDARY_ALLOCATION) || (first == 0 && bytes == 0))
		return 0;
	if (contiguous && claim(v, first, clusters_for(v, bytes), e) != 0)
		return -1;
	if (!directory)
		return contiguous ? 0
		                  : claim_chain(v, first, clusters_for(v, bytes), e);
	if (bytes > DIR_BYTES_MAX)
		return err_set(e, ERR_FORMAT, "a directory is too long");
	/* The clusters of a directory's chain are claimed as it is read. */
	return push_dir(v, (struct exfat_pending){ first, contiguous, bytes }, e);
}

/* Take the entry of the allocation bitmap or the case table; there may be one of each. */
static int
take_system(struct rd r, struct exfat_contents *c, struct err *e)
{
	if (c->first != 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "its root directory has two allocation bitmaps or "
		    "case tables");
	rd_skip(&r, 20);
	c->first = rd_le32(&r);
	c->bytes = rd_le64(&r);
	if (c->first == 0)
		return err_set(e, ERR_FORMAT,
		    "its allocation bitmap or case table has no cluster");
	return 0;
}

/* What is known of the directory while its entries are read: the meaning of an entry
 * depends on those in front of it. */
struct position {
	bool root;
	bool directory; /* the last file entry was that of a directory */
};

static int
take_primary(struct exfat *v, const uint8_t *raw, struct position *p, struct err *e)
{
	struct rd r = rd_from(raw, ENTRY_BYTES);

	p->directory = raw[0] == ENTRY_FILE && (raw[ATTR_AT] & ATTR_DIRECTORY);
	switch (raw[0]) {
	case ENTRY_FILE:
	case ENTRY_LABEL:
	case ENTRY_GUID:
		return 0;
	case ENTRY_BITMAP:
		if (raw[1] & BITMAP_SECOND)
			return err_set(e, ERR_UNSUPPORTED,
			    "it has a second allocation bitmap "
			    "(TexFAT)");
		return p->root ? take_system(r, &v->bitmap, e) : 0;
	case ENTRY_CASE_TABLE:
		return p->root ? take_system(r, &v->case_table, e) : 0;
	}
	if (!(raw[0] & ENTRY_BENIGN))
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown directory entry (0x%x)", raw[0]);
	v->strangers = true;
	return 0;
}

/* Take one entry: 1 the directory ends here, 0 it goes on, -1 error. */
static int
take_entry(struct exfat *v, const uint8_t *raw, struct position *p, struct err *e)
{
	if (raw[0] == ENTRY_END)
		return 1;
	if (!(raw[0] & ENTRY_IN_USE))
		return 0;
	if (!(raw[0] & ENTRY_SECONDARY))
		return take_primary(v, raw, p, e);
	return take_contents(
	    v, rd_from(raw, ENTRY_BYTES), p->directory && raw[0] == ENTRY_STREAM, e);
}

/* Take up to `bytes` of one cluster of a directory: 1 the directory ends here, 0 it goes
 * on, -1 error. */
static int
read_dir_cluster(struct exfat *v, uint32_t cluster, uint64_t bytes, struct position *p,
    struct err *e)
{
	uint8_t raw[DIR_PIECE_BYTES];

	for (uint64_t off = 0; off < bytes; off += sizeof raw) {
		size_t len = bytes - off < sizeof raw ? (size_t)(bytes - off)
		                                      : sizeof raw;
		if (exfat_read(v, raw, len, exfat_cluster_at(v, cluster) + off, e) != 0)
			return -1;
		for (size_t at = 0; at + ENTRY_BYTES <= len; at += ENTRY_BYTES) {
			int rc = take_entry(v, raw + at, p, e);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

static int
read_dir(struct exfat *v, struct exfat_pending dir, bool root, struct err *e)
{
	struct position p = { .root = root };
	uint32_t at = dir.first;
	int rc = 0;

	while (rc == 0 && dir.bytes > 0 && at != CHAIN_END) {
		uint64_t n = dir.bytes < v->cluster_bytes ? dir.bytes
		                                          : v->cluster_bytes;
		if (!dir.contiguous && claim(v, at, 1, e) != 0)
			return -1;
		/* Directories have the times of their files. */
		if (exfat_is_cluster(v, at) &&
		    exfat_hot(v, exfat_cluster_at(v, at), v->cluster_bytes, e) != 0)
			return -1;
		rc = read_dir_cluster(v, at, n, &p, e);
		dir.bytes -= n;
		if (dir.contiguous)
			at++;
		else if (rc == 0 && fat_entry(v, at, &at, e) != 0)
			return -1;
	}
	return rc < 0 ? -1 : 0;
}

/* The bitmap must be in one piece: some drivers do not look at its chain. */
static int
check_bitmap(struct exfat *v, struct err *e)
{
	uint64_t need = ((uint64_t)v->boot.clusters + 7) / 8;
	uint32_t first = v->bitmap.first, next;

	if (first == 0 || v->bitmap.bytes < need)
		return err_set(
		    e, ERR_FORMAT, "its allocation bitmap is missing or too short");
	if (claim(v, first, clusters_for(v, v->bitmap.bytes), e) != 0)
		return -1;
	for (uint64_t i = 1; i < clusters_for(v, need); i++) {
		if (fat_entry(v, (uint32_t)(first + i - 1), &next, e) != 0)
			return -1;
		if (next != first + i)
			return err_set(e, ERR_UNSUPPORTED,
			    "its allocation bitmap is not in one piece");
	}
	return 0;
}

int
exfat_read_root(struct exfat *v, struct err *e)
{
	uint32_t media, second;
	struct exfat_pending root = { v->boot.root, false, DIR_BYTES_MAX };

	if (fat_entry(v, 0, &media, e) != 0 || fat_entry(v, 1, &second, e) != 0)
		return -1;
	if ((media | 0xff) != UINT32_MAX || second != UINT32_MAX)
		return err_set(
		    e, ERR_FORMAT, "the first two entries of its FAT are wrong");
	if (read_dir(v, root, true, e) != 0 || check_bitmap(v, e) != 0)
		return -1;
	if (v->case_table.first == 0 || v->case_table.bytes > CASE_TABLE_BYTES_MAX)
		return err_set(e, ERR_FORMAT, "its case table is missing or too long");
	return claim_chain(
	    v, v->case_table.first, clusters_for(v, v->case_table.bytes), e);
}

/* Read up to `max` of the directories that wait in v->dirs. */
int
exfat_read_dirs(struct exfat *v, size_t max, struct err *e)
{
	for (; v->ndirs > 0 && max > 0; max--)
		if (read_dir(v, v->dirs[--v->ndirs], false, e) != 0)
			return -1;
	return 0;
}
