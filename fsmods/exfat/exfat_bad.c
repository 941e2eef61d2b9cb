/* exfat_bad.c: finds the bad clusters of exFAT that no file has. exfat.c calls this, in
 * the thread that scans.
 *
 * The FAT's entry of a cluster means nothing when its file has no chain there, so a
 * cluster is taken for bad only when no file has it. If the FAT marks any cluster as bad,
 * every directory is read to find out.
 */
#include <stdlib.h>

#include "common/base/rd.h"
#include "common/disk/rangeset.h"
#include "fsmods/bits.h"
#include "fsmods/exfat/exfat_impl.h"

enum { BAD_RUNS_MAX = 1 << 20 };

static const uint32_t CLUSTER_BAD = 0xfffffff7;

/* Add the clusters that a piece of the FAT marks as bad. cluster: that of the piece's
 * first entry. The first two entries of the FAT stand for no cluster. */
static int
collect_bad(struct rd r, uint64_t cluster, struct rangeset *bad, struct err *e)
{
	uint64_t run = 0;

	for (bool more = true; more; cluster++) {
		more = rd_left(&r) > 0;
		if (more && rd_le32(&r) == CLUSTER_BAD && cluster >= EXFAT_FIRST_CLUSTER) {
			run++;
			continue;
		}
		if (run > 0 &&
		    rangeset_add(bad, (struct range){ cluster - run, run }, e) != 0)
			return -1;
		if (bad->n > BAD_RUNS_MAX)
			return err_set(
			    e, ERR_FORMAT, "it has more than 1048576 runs of bad clusters");
		run = 0;
	}
	return 0;
}

/* Claim bad clusters that an entry of this piece leads to, or seems to lead to: they are
 * in use. */
static void
claim_linked(struct exfat *v, struct rd r, const struct rangeset *bad)
{
	while (rd_left(&r) > 0) {
		uint32_t value = rd_le32(&r);
		if (exfat_is_cluster(v, value) && rangeset_contains(bad, value))
			bit_set(v->claimed, value - EXFAT_FIRST_CLUSTER);
	}
}

/* Go through the pieces of the FAT where clusters are allocated. linked: false: collect
 * bad clusters; true: claim bad clusters that other entries lead to. */
static int
scan_fat(struct exfat *v, struct rangeset *bad, bool linked, struct err *e)
{
	uint64_t end = (uint64_t)v->boot.clusters + EXFAT_FIRST_CLUSTER;
	uint64_t fat = (uint64_t)v->boot.fat_at << v->boot.sector_shift;
	uint8_t *piece = malloc(EXFAT_PIECE_BYTES);
	int rc = piece == NULL ? err_nomem(e, "a piece of the FAT") : 0;

	for (uint64_t at = 0; rc == 0 && at < end; at += EXFAT_PIECE_ENTRIES) {
		uint64_t n = end - at < EXFAT_PIECE_ENTRIES ? end - at
		                                            : EXFAT_PIECE_ENTRIES;
		if (!v->used_pieces[at / EXFAT_PIECE_ENTRIES])
			continue;
		size_t bytes = (size_t)n * EXFAT_FAT_ENTRY_BYTES;
		rc = exfat_read(v, piece, bytes, fat + at * EXFAT_FAT_ENTRY_BYTES, e);
		if (rc == 0 && linked)
			claim_linked(v, rd_from(piece, bytes), bad);
		else if (rc == 0)
			rc = collect_bad(rd_from(piece, bytes), at, bad, e);
	}
	free(piece);
	return rc;
}

static int
report_bad(struct exfat *v, const struct rangeset *bad, struct skip_sink *sink,
    struct err *e)
{
	for (size_t i = 0; i < rangeset_count(bad); i++) {
		struct range r = rangeset_get(bad, i);
		uint64_t to, end = range_end(r) - EXFAT_FIRST_CLUSTER;
		for (uint64_t at = r.off - EXFAT_FIRST_CLUSTER; at < end; at = to) {
			at = bits_find(v->claimed, at, end, false);
			to = bits_find(v->claimed, at, end, true);
			if (at < to && exfat_skip(v, sink, at, to, e) != 0)
				return -1;
		}
	}
	return 0;
}

/* Skip the clusters that the FAT marks as bad and that no file has. */
int
exfat_scan_bad(struct exfat *v, struct skip_sink *sink, struct err *e)
{
	struct rangeset bad;

	rangeset_init(&bad);
	int rc = scan_fat(v, &bad, false, e);
	rangeset_seal(&bad);
	bool any = rangeset_count(&bad) > 0;
	if (rc == 0 && any)
		rc = exfat_read_dirs(v, SIZE_MAX, e);
	if (rc == 0 && any)
		rc = scan_fat(v, &bad, true, e);
	if (rc == 0 && !v->strangers)
		rc = report_bad(v, &bad, sink, e);
	rangeset_free(&bad);
	return rc;
}
