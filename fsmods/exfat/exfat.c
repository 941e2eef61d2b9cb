/* exfat.c: exFAT. fsmods.c calls its functions, in the first thread of imagezip.
 *
 * Skipped are the clusters that the allocation bitmap calls free, and those that the FAT
 * calls bad (exfat_bad.c). The bitmap is found through the root directory. No checksum
 * protects it, so it is compared with what is known to be in use: the clusters of the
 * bitmap itself, the case table, the root directory, and the files of the first
 * DIRS_CHECKED directories, which are all directories of most disks.
 * TexFAT (two FATs, two bitmaps) is stored completely.
 * Source: Microsoft's "exFAT file system specification", revision 1.00.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "fsmods/bits.h"
#include "fsmods/exfat/exfat_impl.h"

enum {
	DIRS_CHECKED = 1000,   /* some seconds, if each directory needs a seek */
	HOT_BYTES = 512 << 10, /* of the bitmap and of the FAT */
};

/* Clusters [from, to), counted from 0, may be skipped. */
int
exfat_skip(const struct exfat *v, struct skip_sink *sink, uint64_t from, uint64_t to,
    struct err *e)
{
	uint64_t each = v->cluster_bytes / SECTOR_BYTES;
	uint64_t heap = exfat_cluster_at(v, EXFAT_FIRST_CLUSTER) / SECTOR_BYTES;

	return skip_add(
	    sink, (struct range){ heap + from * each, (to - from) * each }, e);
}

int
exfat_hot(const struct exfat *v, uint64_t off, uint64_t bytes, struct err *e)
{
	return skip_hot(
	    v->sink, (struct range){ off / SECTOR_BYTES, bytes / SECTOR_BYTES }, e);
}

/* The boot sector with its state, and the first parts of the bitmap and the FAT. */
static int
report_hot(const struct exfat *v, struct err *e)
{
	uint64_t fat_at = (uint64_t)v->boot.fat_at << v->boot.sector_shift;
	uint64_t fat_bytes = (uint64_t)v->boot.fat_sectors << v->boot.sector_shift;
	uint64_t bitmap_bytes = (v->bitmap.bytes + SECTOR_BYTES - 1) / SECTOR_BYTES *
	                        SECTOR_BYTES;

	if (exfat_hot(v, 0, SECTOR_BYTES, e) != 0 ||
	    exfat_hot(v, exfat_cluster_at(v, v->bitmap.first),
		bitmap_bytes < HOT_BYTES ? bitmap_bytes : HOT_BYTES, e) != 0)
		return -1;
	return exfat_hot(v, fat_at, fat_bytes < HOT_BYTES ? fat_bytes : HOT_BYTES, e);
}

static int
report_free(const struct exfat *v, struct skip_sink *sink, uint64_t from, uint64_t to,
    struct err *e)
{
	uint64_t claimed = bits_find(v->claimed, from, to, true);

	if (from == to)
		return 0;
	if (claimed < to)
		return err_set(e, ERR_FORMAT,
		    "cluster %" PRIu64 " is in use, but its allocation "
		    "bitmap calls it free",
		    claimed + EXFAT_FIRST_CLUSTER);
	return exfat_skip(v, sink, from, to, e);
}

/* Mark the pieces of the FAT that have the entries of these clusters, counted from 0. */
static void
mark_used(struct exfat *v, uint64_t from, uint64_t to)
{
	if (from < to)
		for (uint64_t i = (from + EXFAT_FIRST_CLUSTER) / EXFAT_PIECE_ENTRIES;
		     i <= (to - 1 + EXFAT_FIRST_CLUSTER) / EXFAT_PIECE_ENTRIES; i++)
			v->used_pieces[i] = true;
}

/* Take a piece of the bitmap: `bits` bits from bit `base` on. *open: where the run of
 * free clusters began that may go on into the next piece. */
static int
take_bitmap_piece(struct exfat *v, struct skip_sink *sink, const uint8_t *piece,
    uint64_t base, uint64_t bits, uint64_t *open, struct err *e)
{
	for (uint64_t at = 0; at < bits;) {
		uint64_t used = bits_find(piece, at, bits, true);
		if (used == bits)
			break;
		if (report_free(v, sink, *open, base + used, e) != 0)
			return -1;
		at = bits_find(piece, used, bits, false);
		mark_used(v, base + used, base + at);
		*open = base + at;
	}
	return 0;
}

static int
scan_bitmap(struct exfat *v, struct skip_sink *sink, struct err *e)
{
	uint64_t clusters = v->boot.clusters, open = 0;
	uint8_t *piece = malloc(EXFAT_PIECE_BYTES);
	int rc = piece == NULL ? err_nomem(e, "a piece of the bitmap") : 0;

	for (uint64_t base = 0; rc == 0 && base < clusters;
	     base += EXFAT_PIECE_BYTES * 8) {
		uint64_t bits = clusters - base;
		if (bits > EXFAT_PIECE_BYTES * 8)
			bits = EXFAT_PIECE_BYTES * 8;
		rc = exfat_read(v, piece, (size_t)(bits + 7) / 8,
		    exfat_cluster_at(v, v->bitmap.first) + base / 8, e);
		if (rc == 0)
			rc = take_bitmap_piece(v, sink, piece, base, bits, &open, e);
	}
	free(piece);
	return rc == 0 ? report_free(v, sink, open, clusters, e) : rc;
}

static int
scan_volume(struct exfat *v, struct skip_sink *sink, struct err *e)
{
	v->claimed = calloc(v->boot.clusters / 8 + 1, 1);
	v->used_pieces = calloc(
	    ((size_t)v->boot.clusters + EXFAT_FIRST_CLUSTER) / EXFAT_PIECE_ENTRIES + 1,
	    sizeof *v->used_pieces);
	if (v->claimed == NULL || v->used_pieces == NULL)
		return err_nomem(e, "maps of the clusters");
	if (exfat_read_root(v, e) != 0 || report_hot(v, e) != 0 ||
	    exfat_read_dirs(v, DIRS_CHECKED, e) != 0 || scan_bitmap(v, sink, e) != 0 ||
	    exfat_scan_bad(v, sink, e) != 0)
		return -1;
	skip_fs_end(
	    sink, v->boot.total << (v->boot.sector_shift - EXFAT_SECTOR_SHIFT_MIN));
	return 0;
}

static int
exfat_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct exfat v = { .disk = d,
		.part = part,
		.sink = sink,
		.window_at = UINT64_MAX };

	int rc = exfat_read_boot(&v, e);
	if (rc == 0)
		rc = scan_volume(&v, sink, e);
	free(v.claimed);
	free(v.used_pieces);
	free(v.dirs);
	return rc;
}

const struct fsmod fsmod_exfat = {
	.name = "exfat",
	.title = "exFAT filesystem",
	.probe = exfat_is_boot,
	.scan = exfat_scan,
};
