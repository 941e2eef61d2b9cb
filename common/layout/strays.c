/* strays.c: what lies outside of partitions and would be left out is looked at, because
 * a partition table may not tell everything: a partition was removed by mistake, or a
 * program keeps its data where no partition is.  layout_outside.c calls this in
 * imagezip's first thread.
 *
 * A filesystem begins where a partition did: where the space begins, or at the next
 * multiple of 1 MiB.  An ISO 9660 volume may begin with the disk, in front of the
 * table's partitions. Reading all of the space would take hours on a large disk, so for
 * anything else a sample is read.
 */
#include "common/layout/strays.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/rd.h"
#include "common/base/zero.h"
#include "fsmods/foreign.h"
#include "fsmods/fsmod.h"
#include "fsmods/recognise.h"

enum {
	ALIGN_SECTORS = (1 << 20) / SECTOR_BYTES,
	/* A magic that lies behind this belongs to what ends there, not to what begins in
	 * front. */
	FRONT_BYTES = 2 << 20,
	/* How far from the disk's end metadata may begin: as in disk_tail.c. */
	ENDING_SECTORS = (256 << 20) / SECTOR_BYTES,
	STEP_SECTORS = (64 << 20) / SECTOR_BYTES,
	BLOCK_SECTORS = 8,
	EXTENTS_MAX = 16, /* of a file's data, which are looked at in one step */
	HINT_STEPS = 32,  /* how many blocks a disk may read ahead at the same time */
	ISO_VOLUME_AT = 32768,
	ISO_MAGIC_AT = 1,
	ISO_BLOCKS_AT = 80, /* u32, the length of the volume in blocks of 2048 bytes */
	ISO_BLOCK_SECTORS = 2048 / SECTOR_BYTES,
};

struct look {
	struct strays *s;
	struct disk *d;
	const struct ptable *t;
	uint64_t total;
	const struct rangeset *skip;
	struct rangeset keep; /* what is recognised */
};

/* Note what begins at a sector. */
static void
note(struct look *k, const char *name, uint64_t sector)
{
	size_t n = strlen(k->s->found);

	snprintf(k->s->found + n, sizeof k->s->found - n, "%s%s at sector %" PRIu64,
	    n > 0 ? ", " : "", name, sector);
}

/* Keep what is recognised in r, without the sectors of r in `unused`, which count from
 * its beginning; NULL: all of it. */
static int
keep(struct look *k, struct range r, const struct rangeset *unused, struct err *e)
{
	struct rangeset of, rest;

	rangeset_init(&of);
	rangeset_init(&rest);
	int rc = rangeset_add(&of, r, e);
	if (rc == 0 && unused != NULL)
		rc = rangeset_add_shifted(&rest, unused, r.off, e);
	rangeset_seal(&rest);
	if (rc == 0)
		rc = rangeset_minus(&of, &rest, e);
	if (rc == 0)
		rc = rangeset_union(&k->keep, &of, e);
	if (range_end(r) > k->s->floor)
		k->s->floor = range_end(r);
	rangeset_free(&of);
	rangeset_free(&rest);
	return rc;
}

/* Keep a filesystem that a module knows, as if r were its partition. */
static int
keep_filesystem(struct look *k, const struct fsmod *mod, struct range r, struct err *e)
{
	struct fs_scan fs;

	note(k, mod->title, r.off);
	if (fsmods_scan(k->d, r, FS_IN_TABLE, &fs, e) != 0)
		return -1;
	if (fs.fs_end < r.len)
		r.len = fs.fs_end;
	int rc = keep(k, r, &fs.skip, e);
	fs_scan_free(&fs);
	return rc;
}

/* Keep what libblkid recognises in r: all of r, if it begins there, and what lies
 * behind the magic if that is near the end of the disk.  Returns 1 in the first case,
 * 0, or -1. */
static int
keep_named(struct look *k, struct range r, struct err *e)
{
	struct recognised_magic v[RECOGNISED_MAGICS];
	size_t n = recognise_magics(k->d, r, v);
	bool last = range_end(r) == k->total;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = r.off + v[i].at_bytes / SECTOR_BYTES;
		if (v[i].at_bytes < FRONT_BYTES) {
			note(k, v[i].name, r.off);
			return keep(k, r, NULL, e) == 0 ? 1 : -1;
		}
		if (last && k->total - at <= ENDING_SECTORS &&
		    rangeset_add(&k->keep, (struct range){ at, k->total - at }, e) != 0)
			return -1;
	}
	return 0;
}

/* Look at what begins with r.  Returns 1: something does; 0, or -1. */
static int
look_at(struct look *k, struct range r, struct err *e)
{
	if (!rangeset_touches(k->skip, r))
		return 0;
	const struct fsmod *mod = fsmods_probe(k->d, r, FS_IN_TABLE);
	if (mod != NULL)
		return keep_filesystem(k, mod, r, e) == 0 ? 1 : -1;
	const char *name = foreign_begins(k->d, r);
	if (name == NULL)
		return keep_named(k, r, e);
	note(k, name, r.off);
	return keep(k, r, NULL, e) == 0 ? 1 : -1;
}

/* Look at the places where a partition may have begun in a gap. */
static int
look_at_gap(struct look *k, struct range gap, struct err *e)
{
	uint64_t end = range_end(gap), from = gap.off > 0 ? gap.off : 1;
	uint64_t aligned = (from + ALIGN_SECTORS - 1) / ALIGN_SECTORS * ALIGN_SECTORS;
	int rc = 0;

	if (from < end)
		rc = look_at(k, (struct range){ from, end - from }, e);
	if (rc == 0 && from < aligned && aligned < end)
		rc = look_at(k, (struct range){ aligned, end - aligned }, e);
	return rc < 0 ? -1 : 0;
}

static int
look_at_gaps(struct look *k, struct err *e)
{
	struct rangeset parts;
	int rc = 0;

	rangeset_init(&parts);
	for (unsigned i = 0; i < k->t->nparts && rc == 0; i++)
		rc = rangeset_add(&parts, k->t->parts[i].sectors, e);
	rangeset_seal(&parts);
	if (rc == 0)
		rc = rangeset_invert(&parts, 0, k->total, e);
	for (size_t i = 0; i < rangeset_count(&parts) && rc == 0; i++)
		rc = look_at_gap(k, rangeset_get(&parts, i), e);
	rangeset_free(&parts);
	return rc;
}

/* Keep an ISO 9660 volume that begins with the disk. */
static int
look_for_iso(struct look *k, struct err *e)
{
	uint8_t b[SECTOR_BYTES];
	struct err ignored;

	if (disk_read(k->d, b, sizeof b, ISO_VOLUME_AT, &ignored) != 0 ||
	    memcmp(b + ISO_MAGIC_AT, "CD001", 5) != 0)
		return 0;
	struct rd r = rd_from(b, sizeof b);
	rd_skip(&r, ISO_BLOCKS_AT);
	struct range volume = { 0, (uint64_t)rd_le32(&r) * ISO_BLOCK_SECTORS };
	volume = range_clip(volume, 0, k->total);
	if (!rangeset_touches(k->skip, volume))
		return 0;
	note(k, "an ISO 9660 volume", 0);
	return keep(k, volume, NULL, e);
}

int
strays_recognise(struct strays *s, struct disk *d, const struct ptable *t,
    uint64_t total, bool keep_it, struct rangeset *skip, struct err *e)
{
	struct look k = { .s = s, .d = d, .t = t, .total = total, .skip = skip };

	*s = (struct strays){ .kept = 0 };
	rangeset_init(&k.keep);
	int rc = look_for_iso(&k, e);
	if (rc == 0)
		rc = look_at_gaps(&k, e);
	rangeset_seal(&k.keep);
	uint64_t before = rangeset_total(skip);
	if (rc == 0 && keep_it)
		rc = rangeset_minus(skip, &k.keep, e);
	s->kept = before - rangeset_total(skip);
	if (!keep_it)
		s->floor = 0;
	rangeset_free(&k.keep);
	return rc;
}

/* The first sector from `at` on that is not in a hole of a file; UINT64_MAX: there is
 * none. */
static uint64_t
next_data(struct disk *d, uint64_t at)
{
	if (disk_kind(d) != DISK_FILE || disk_fd(d) < 0)
		return at;
	off_t off = lseek(disk_fd(d), (off_t)(at * SECTOR_BYTES), SEEK_DATA);
	if (off < 0)
		return errno == ENXIO ? UINT64_MAX : at;
	uint64_t sector = (uint64_t)off / SECTOR_BYTES;
	return sector > at ? sector : at;
}

/* Where the data ends that a file has at this sector. */
static uint64_t
data_end(struct disk *d, uint64_t at)
{
	off_t off = lseek(disk_fd(d), (off_t)(at * SECTOR_BYTES), SEEK_HOLE);

	return off < 0 ? UINT64_MAX : (uint64_t)off / SECTOR_BYTES;
}

/* Read the first block of r; returns whether it has data. */
static bool
sample(struct strays *s, struct disk *d, struct range r)
{
	uint8_t b[BLOCK_SECTORS * SECTOR_BYTES];
	struct err ignored;

	r.len = r.len < BLOCK_SECTORS ? r.len : BLOCK_SECTORS;
	if (disk_read(d, b, r.len * SECTOR_BYTES, r.off * SECTOR_BYTES, &ignored) != 0)
		return false;
	s->sampled++;
	if (is_zero(b, r.len * SECTOR_BYTES))
		return false;
	if (s->sampled_data++ == 0)
		s->first_data = r.off;
	return true;
}

/* Sample the range from `at` to the next multiple of 64 MiB.  A hole of a file ends
 * where a block of its filesystem begins, so the first sectors of its data are often
 * zeros; then the next piece of data is looked at, too. */
static void
sample_step(struct strays *s, struct disk *d, uint64_t at, uint64_t end)
{
	uint64_t stop = (at / STEP_SECTORS + 1) * STEP_SECTORS;
	bool file = disk_kind(d) == DISK_FILE && disk_fd(d) >= 0;

	stop = stop < end ? stop : end;
	for (unsigned i = 0; at < stop && i < EXTENTS_MAX; i++) {
		if (sample(s, d, (struct range){ at, end - at }) || !file)
			return;
		at = data_end(d, at);
		at = at < stop ? next_data(d, at) : stop;
	}
}

/* Tell the disk which block will be read some steps later, so that it can order its
 * reads. */
static void
hint(struct disk *d, uint64_t at, uint64_t end)
{
	at = (at / STEP_SECTORS + HINT_STEPS) * STEP_SECTORS;
	if (at < end)
		disk_will_need(d, at * SECTOR_BYTES, BLOCK_SECTORS * SECTOR_BYTES);
}

void
strays_sample(
    struct strays *s, struct disk *d, const struct rangeset *skip, uint64_t end)
{
	for (size_t i = 0; i < rangeset_count(skip); i++) {
		struct range r = range_clip(rangeset_get(skip, i), 0, end);
		uint64_t at = r.len > 0 ? next_data(d, r.off) : UINT64_MAX;
		while (at < range_end(r)) {
			hint(d, at, range_end(r));
			sample_step(s, d, at, range_end(r));
			at = next_data(d, (at / STEP_SECTORS + 1) * STEP_SECTORS);
		}
	}
}
