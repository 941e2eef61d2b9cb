/* stale_signatures.c: finds stale signatures and wipes them. libblkid knows where
 * signatures are; it sees only sectors that belong to the image, or to no partition.
 * target_finish.c calls this when all data is on the disk and all other threads are gone, and
 * stream/disk/clear.c when a streaming disk begins. */
#include "common/target/stale_signatures.h"

#include <blkid/blkid.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/target/sparse_view.h"

enum {
	SIGNATURES_MAX = 1000, /* in one area; more mean that something is wrong */
	SIGNATURE_BYTES_MAX = 64,
	KINDS_MAX = 64, /* further kinds are counted as the last one */
	SENTENCE_BYTES = 200,
};

struct kind {
	char name[32];
	uint64_t first; /* sector */
	unsigned n;
};

struct wiper {
	struct stale_signatures *s;
	struct rangeset seen; /* what may be looked at */
	unsigned nkinds;
	struct kind kinds[KINDS_MAX];
};

static const uint8_t zeros[SIGNATURE_BYTES_MAX];

static void
count(struct wiper *w, const char *what, uint64_t sector)
{
	unsigned i = 0;

	while (i < w->nkinds && strcmp(w->kinds[i].name, what) != 0)
		i++;
	if (i == KINDS_MAX)
		i--;
	struct kind *k = &w->kinds[i];
	if (i == w->nkinds) {
		w->nkinds++;
		*k = (struct kind){ .first = sector };
		snprintf(k->name, sizeof k->name, "%s", what);
	}
	k->first = sector < k->first ? sector : k->first;
	k->n++;
	w->s->wiped++;
}

static void
tell(const struct wiper *w)
{
	char sentence[SENTENCE_BYTES];

	for (unsigned i = 0; w->s->say != NULL && i < w->nkinds; i++) {
		const struct kind *k = &w->kinds[i];
		int n = snprintf(sentence, sizeof sentence,
		    "%s what was left of %s at sector %" PRIu64, w->s->did, k->name,
		    k->first);
		if (k->n > 1)
			snprintf(sentence + n, sizeof sentence - (size_t)n,
			    " and in %u more place%s", k->n - 1, k->n > 2 ? "s" : "");
		w->s->say(sentence);
	}
}

/* Overwrite `bytes` at `at` of the disk, unless they belong to the image or may not be
 * seen. Returns 1 when they were wiped, 0 when not, -1. */
static int
wipe(struct wiper *w, uint64_t at, size_t bytes, const char *what, struct err *e)
{
	uint64_t first = at / SECTOR_BYTES, last = (at + bytes - 1) / SECTOR_BYTES;

	if (bytes == 0 || bytes > sizeof zeros)
		return 0;
	if (rangeset_contains(w->s->stored, first) ||
	    rangeset_contains(w->s->stored, last) ||
	    !rangeset_contains(&w->seen, first) || !rangeset_contains(&w->seen, last))
		return 0;
	if (disk_write(w->s->disk, zeros, bytes, at, e) != 0)
		return -1;
	count(w, what, first);
	return 1;
}

static const char *
value(blkid_probe pr, const char *name, size_t *len)
{
	const char *v;

	return blkid_probe_lookup_value(pr, name, &v, len) == 0 ? v : NULL;
}

/* Wipe what the probe has just found, on the disk and in fd, which the probe reads.
 * Returns as wipe(). */
static int
wipe_found(
    struct wiper *w, blkid_probe pr, int fd, struct range area, struct err *e)
{
	bool table = value(pr, "PTMAGIC_OFFSET", NULL) != NULL;
	const char *text = value(pr, table ? "PTMAGIC_OFFSET" : "SBMAGIC_OFFSET", NULL);
	const char *type = value(pr, table ? "PTTYPE" : "TYPE", NULL);
	size_t bytes = 0;

	if (text == NULL || value(pr, table ? "PTMAGIC" : "SBMAGIC", &bytes) == NULL)
		return 0;
	uint64_t at = strtoull(text, NULL, 10);
	int rc = wipe(w, area.off * SECTOR_BYTES + at, bytes,
	    type != NULL ? type : "something", e);
	if (rc == 1 && pwrite(fd, zeros, bytes, (off_t)at) != (ssize_t)bytes)
		return err_os(e, "searching for stale signatures");
	return rc;
}

static int
probe_all(struct wiper *w, blkid_probe pr, int fd, struct range area, struct err *e)
{
	for (unsigned i = 0; i < SIGNATURES_MAX && blkid_do_probe(pr) == 0; i++) {
		int rc = wipe_found(w, pr, fd, area, e);
		if (rc < 0)
			return -1;
		/* There may be another copy of the same signature. */
		if (rc > 0)
			blkid_probe_step_back(pr);
	}
	return 0;
}

static int
probe(struct wiper *w, int fd, struct range area, struct err *e)
{
	blkid_probe pr = blkid_new_probe();
	int rc = -1;

	if (pr == NULL)
		return err_nomem(e, "searching for stale signatures");
	if (blkid_probe_set_device(
		pr, fd, 0, (blkid_loff_t)(area.len * SECTOR_BYTES)) != 0 ||
	    blkid_probe_set_sectorsize(pr, w->s->sector_bytes) != 0) {
		err_set(e, ERR_IO, "%s: searching for stale signatures",
		    disk_name(w->s->disk));
	} else {
		blkid_probe_enable_superblocks(pr, 1);
		blkid_probe_set_superblocks_flags(
		    pr, BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_TYPE | BLKID_SUBLKS_BADCSUM);
		blkid_probe_enable_partitions(pr, 1);
		blkid_probe_set_partitions_flags(
		    pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
		rc = probe_all(w, pr, fd, area, e);
	}
	blkid_free_probe(pr);
	return rc;
}

/* Search `area`, of which only w->seen may be looked at. */
static int
wipe_by(struct wiper *w, struct range area, struct err *e)
{
	int fd = sparse_view_open(w->s->disk, area, &w->seen, e);

	if (fd < 0)
		return -1;
	int rc = probe(w, fd, area, e);
	close(fd);
	return rc;
}

/* Set w->seen to the area, or to the boot area, without the sectors that are left to
 * others. The boot area is searched apart, because libblkid, when it sees a table, passes
 * over what lies in the table's partitions. */
static int
look_at(struct wiper *w, struct range area, bool boot_area, struct err *e)
{
	struct rangeset apart;

	rangeset_init(&apart);
	rangeset_free(&w->seen);
	int rc = rangeset_add(&w->seen, boot_area ? w->s->boot_area : area, e);
	if (rc == 0 && !boot_area)
		rc = rangeset_add(&apart, w->s->boot_area, e);
	rangeset_seal(&apart);
	if (rc == 0)
		rc = rangeset_minus(&w->seen, w->s->left, e);
	if (rc == 0)
		rc = rangeset_minus(&w->seen, &apart, e);
	rangeset_free(&apart);
	return rc;
}

static int
wipe_area(struct wiper *w, struct range area, struct err *e)
{
	bool has_boot_area = w->s->boot_area.len != 0 && w->s->boot_area.off == area.off;

	if (look_at(w, area, false, e) != 0 || wipe_by(w, area, e) != 0)
		return -1;
	return !has_boot_area ? 0
	       : look_at(w, area, true, e) == 0 ? wipe_by(w, area, e) : -1;
}

/* Wipe a backup GPT, which some programs find even when there is no primary GPT. */
static int
wipe_backup_gpt(struct wiper *w, struct range whole, struct err *e)
{
	static const unsigned units[] = { 512, 4096 };
	uint64_t bytes = disk_size_bytes(w->s->disk);
	char found[8];

	if (look_at(w, whole, false, e) != 0)
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		if (bytes < 2 * (uint64_t)units[i])
			continue;
		uint64_t at = (bytes / units[i] - 1) * units[i];
		if (!rangeset_contains(&w->seen, at / SECTOR_BYTES))
			continue;
		if (disk_read(w->s->disk, found, sizeof found, at, e) != 0)
			return -1;
		if (memcmp(found, "EFI PART", sizeof found) == 0 &&
		    wipe(w, at, sizeof found, "a backup GPT", e) < 0)
			return -1;
	}
	return 0;
}

static int
wipe_disk(struct wiper *w, struct err *e)
{
	struct range whole = { 0, disk_size_bytes(w->s->disk) / SECTOR_BYTES };
	int rc = wipe_backup_gpt(w, whole, e) == 0 ? wipe_area(w, whole, e) : -1;

	for (size_t i = 0; rc == 0 && i < w->s->areas->n; i++) {
		const struct area *a = &w->s->areas->a[i];
		if (a->number != 0 && a->some)
			rc = wipe_area(w, a->sectors, e);
	}
	return rc;
}

int
stale_signatures_wipe(struct stale_signatures *s, struct err *e)
{
	struct wiper w = { .s = s };

	s->wiped = 0;
	if (!disk_seekable(s->disk))
		return 0;
	rangeset_init(&w.seen);
	int rc = s->slice.len != 0 ? wipe_area(&w, s->slice, e) : wipe_disk(&w, e);
	rangeset_free(&w.seen);
	tell(&w);
	return rc;
}
