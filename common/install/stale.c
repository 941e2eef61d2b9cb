/* stale.c: libblkid knows where signatures are. */
#include "common/install/stale.h"

#include <blkid/blkid.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/disk/ptable.h"

enum {
	SIGNATURES_MAX = 1000, /* of one place: then something is wrong */
	SIGNATURE_BYTES_MAX = 64,
	SENTENCE_BYTES = 200,
};

struct wiper {
	struct disk *disk; /* with the head that will stand there */
	struct head *head;
	int fd; /* with the mark */
	struct rangeset *stored;
	void (*say)(const char *sentence);
	unsigned *wiped;
};

/* Overwrite `bytes` at `at` of the disk, unless they belong to the image.
 * 1 wiped, 0 they do, -1. */
static int
wipe(struct wiper *w, uint64_t at, size_t bytes, const char *what, struct err *e)
{
	static const uint8_t zeros[SIGNATURE_BYTES_MAX];
	char sentence[SENTENCE_BYTES];

	if (bytes == 0 || bytes > sizeof zeros)
		return 0;
	if (rangeset_contains(w->stored, at / SECTOR_BYTES) ||
	    rangeset_contains(w->stored, (at + bytes - 1) / SECTOR_BYTES))
		return 0;
	if (disk_write(w->disk, zeros, bytes, at, e) != 0)
		return -1;
	snprintf(sentence, sizeof sentence,
	    "wiped what was left of %s at sector %" PRIu64, what, at / SECTOR_BYTES);
	if (w->say != NULL)
		w->say(sentence);
	(*w->wiped)++;
	return 1;
}

static const char *
value(blkid_probe pr, const char *name, size_t *len)
{
	const char *v;

	return blkid_probe_lookup_value(pr, name, &v, len) == 0 ? v : NULL;
}

/* What the probe has just found: as wipe(). */
static int
wipe_found(struct wiper *w, blkid_probe pr, uint64_t base, struct err *e)
{
	bool table = value(pr, "PTMAGIC_OFFSET", NULL) != NULL;
	const char *at = value(pr, table ? "PTMAGIC_OFFSET" : "SBMAGIC_OFFSET", NULL);
	const char *type = value(pr, table ? "PTTYPE" : "TYPE", NULL);
	size_t bytes = 0;

	if (at == NULL || value(pr, table ? "PTMAGIC" : "SBMAGIC", &bytes) == NULL)
		return 0;
	return wipe(w, base + strtoull(at, NULL, 10), bytes,
	    type != NULL ? type : "something", e);
}

static int
probe_all(struct wiper *w, blkid_probe pr, uint64_t base, struct err *e)
{
	for (unsigned i = 0; i < SIGNATURES_MAX && blkid_do_probe(pr) == 0; i++) {
		int rc = wipe_found(w, pr, base, e);
		if (rc < 0)
			return -1;
		/* The same kind may have left another copy. */
		if (rc > 0)
			blkid_probe_step_back(pr);
	}
	return 0;
}

static int
wipe_by(struct wiper *w, int fd, struct range area, struct err *e)
{
	uint64_t base = area.off * SECTOR_BYTES;
	blkid_probe pr = blkid_new_probe();
	int rc = -1;

	if (pr == NULL)
		return err_nomem(e, "looking for old signatures");
	if (blkid_probe_set_device(pr, fd, (blkid_loff_t)base,
		(blkid_loff_t)(area.len * SECTOR_BYTES)) != 0) {
		err_set(
		    e, ERR_IO, "%s: looking for old signatures", disk_name(w->disk));
	} else {
		blkid_probe_enable_superblocks(pr, 1);
		blkid_probe_set_superblocks_flags(
		    pr, BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_TYPE | BLKID_SUBLKS_BADCSUM);
		blkid_probe_enable_partitions(pr, 1);
		blkid_probe_set_partitions_flags(
		    pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
		rc = probe_all(w, pr, base, e);
	}
	blkid_free_probe(pr);
	return rc;
}

/* What is in the head is not on the disk yet. */
static int
wipe_head(struct wiper *w, struct range area, struct err *e)
{
	uint64_t end = range_end(area) * SECTOR_BYTES;
	int fd = memfd_create("head", MFD_CLOEXEC);
	int rc = -1;

	if (fd < 0 || ftruncate(fd, (off_t)end) != 0 ||
	    pwrite(fd, w->head->bytes, HEAD_BYTES, (off_t)w->head->at) != HEAD_BYTES)
		err_os(e, "looking for old signatures");
	else
		rc = wipe_by(w, fd, area, e);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int
wipe_area(struct wiper *w, struct range area, struct err *e)
{
	if (wipe_by(w, w->fd, area, e) != 0)
		return -1;
	return w->head->marked && w->head->at == area.off * SECTOR_BYTES
	           ? wipe_head(w, area, e)
	           : 0;
}

/* A backup GPT needs no primary to be found by some. */
static int
wipe_backup_gpt(struct wiper *w, struct err *e)
{
	static const unsigned units[] = { 512, 4096 };
	uint64_t bytes = disk_size_bytes(w->disk);
	char found[8];

	for (unsigned i = 0; i < 2; i++) {
		if (bytes < 2 * (uint64_t)units[i])
			continue;
		uint64_t at = (bytes / units[i] - 1) * units[i];
		if (disk_read(w->disk, found, sizeof found, at, e) != 0)
			return -1;
		if (memcmp(found, "EFI PART", sizeof found) == 0 &&
		    wipe(w, at, sizeof found, "a backup GPT", e) < 0)
			return -1;
	}
	return 0;
}

static bool
has_some(struct rangeset *stored, struct range r)
{
	size_t i = rangeset_find(stored, r.off);

	return i < rangeset_count(stored) && rangeset_get(stored, i).off < range_end(r);
}

static int
wipe_disk(struct wiper *w, struct err *e)
{
	struct range whole = { 0, disk_size_bytes(w->disk) / SECTOR_BYTES };
	struct ptable pt;
	struct err none;

	if (wipe_backup_gpt(w, e) != 0 || wipe_area(w, whole, e) != 0)
		return -1;
	/* What has no table that can be read has no partitions. */
	if (ptable_read(&pt, w->disk, &none) != 0)
		return 0;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < pt.nparts; i++)
		if (has_some(w->stored, pt.parts[i].sectors))
			rc = wipe_area(w, pt.parts[i].sectors, e);
	ptable_free(&pt);
	return rc;
}

int
stale_wipe(struct whole *on, struct rangeset *stored, unsigned *wiped, struct err *e)
{
	struct target *t = on->target;
	struct wiper w = { on->disk, &t->head, disk_fd(t->disk), stored, t->cfg->say,
		wiped };

	*wiped = 0;
	if (w.fd < 0 || !disk_seekable(t->disk))
		return 0;
	return t->slice.len != 0 ? wipe_area(&w, t->slice, e) : wipe_disk(&w, e);
}
