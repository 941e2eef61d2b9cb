/* by_plan.c: what differs on a disk whose partitions go where a plan says (by_plan.h).
 * imageunzip/install calls this in the thread that feeds chunks, and when all other threads are
 * gone; stream/disk in the thread that opens a disk.
 *
 * Boot sectors are adapted by boot_place.c.  GRUB's boot.img, which begins a BIOS boot
 * partition when core.img lies there, is not changed: grub-install writes it anew.  What is
 * changed has its new value when this is done once more.
 */
#include "common/target/by_plan.h"

#include <stdio.h>
#include <string.h>

#include "common/base/field.h"
#include "common/behind/behind.h"
#include "common/image/format/reloc.h"
#include "common/image/read/reaches.h"
#include "common/layout/boot_place.h"

enum {
	LILO_AT = 6,
	LILO_STAGE_AT = 10,
	MBR_OPENBSD = 0xa6,
	SENTENCE_CAP = 500,
};

int
by_plan_maps(const struct fitplan *p, struct maps *m, struct err *e)
{
	int rc = maps_add(m, (struct range){ 0, p->parts[0].was.off }, 0, e);

	for (unsigned i = 0; rc == 0 && i < p->n; i++) {
		const struct fitplan_part *a = &p->parts[i];
		uint64_t len = a->was.len < a->is.len ? a->was.len : a->is.len;
		rc = maps_add(m, (struct range){ a->was.off, len }, a->is.off, e);
	}
	return rc;
}

/* The ends of partitions. */

static bool
must_stay(const struct by_plan *b, struct disk *d, bool was, const struct fitplan_part *a)
{
	struct range at = { was ? a->was.off : a->is.off, a->was.len };
	struct reach_part fs = { .number = a->number, .sectors = at };
	struct behind found = { .n = 0 };
	char who[200], text[SENTENCE_CAP];

	if (a->is.len <= a->was.len)
		return false;
	uint64_t from = reaches_look(d, at, &fs) ? fs.fs_sectors : 0;
	found.n = end_signature_find(d, at, from, found.owned);
	if (found.n == 0)
		return false;
	snprintf(text, sizeof text, "%s is at the end of partition %u, which keeps its length",
	    behind_owned_text(&found, who, sizeof who), a->number);
	b->warn(b->arg, text);
	return true;
}

void
by_plan_stays(const struct by_plan *b, struct disk *d, bool was, bool stays[PTABLE_PARTS_MAX])
{
	for (unsigned i = 0; i < b->plan->n; i++)
		stays[i] = must_stay(b, d, was, &b->plan->parts[i]);
}

/* The table. */

int
by_plan_table(const struct by_plan *b, struct disk *to, struct disk *from, const bool *stays,
    struct err *e)
{
	struct ptable_place places[PTABLE_PARTS_MAX];

	for (unsigned i = 0; i < b->plan->n; i++) {
		const struct fitplan_part *a = &b->plan->parts[i];
		places[i] = (struct ptable_place){ a->number, a->is };
		if (stays != NULL && stays[i])
			places[i].sectors.len = a->was.len;
	}
	return ptable_place(to, from, b->table, places, b->plan->n, e);
}

static ssize_t
drop(void *ctx, const void *buf, size_t len, uint64_t off)
{
	(void)ctx, (void)buf, (void)off;
	return (ssize_t)len;
}

static ssize_t
nothing(void *ctx, void *buf, size_t len, uint64_t off)
{
	(void)ctx, (void)off;
	memset(buf, 0, len);
	return (ssize_t)len;
}

int
by_plan_trial(struct disk **out, struct disk *like, struct err *e)
{
	static const struct disk_ops ops = { .pread = nothing, .pwrite = drop };

	return disk_open_view(out, like, &ops, NULL, e);
}

/* What names the place of its partition. */

static void
warn(const struct by_plan *b, unsigned number, const char *what)
{
	char text[SENTENCE_CAP];

	snprintf(text, sizeof text, "partition %u begins at another sector now: %s", number,
	    what);
	b->warn(b->arg, text);
}

/* A disklabel in the second sector counts from the disk's beginning. */
static int
adapt_label(const struct by_plan *b, struct disk *d, const struct fitplan_part *a,
    const struct partition *p, struct err *e)
{
	uint8_t sector[SECTOR_BYTES];
	uint64_t at = (a->is.off + 1) * SECTOR_BYTES;
	struct err why;

	if (a->is.len < 2 || disk_read(d, sector, sizeof sector, at, e) != 0)
		return a->is.len < 2 ? 0 : -1;
	if (!reloc_is_label(sector))
		return 0;
	int rc = reloc_label_follow(sector,
	    p->mbr_type == MBR_OPENBSD ? NDZ_RELOC_OPENBSD_LABEL : NDZ_RELOC_FREEBSD_LABEL,
	    a->was, a->is, &why);
	if (rc < 0)
		warn(b, a->number, "its disklabel, which is valid for the old place only, was "
				   "not adapted");
	return rc > 0 ? disk_write(d, sector, sizeof sector, at, e) : 0;
}

static void
warn_loaders(const struct by_plan *b, const struct fitplan_part *a, const uint8_t *sector)
{
	if (memcmp(sector + LILO_AT, "LILO", 4) == 0 && get_le16(sector + LILO_STAGE_AT) == 1)
		warn(b, a->number, "LILO in its boot sector looks for files at the old "
				   "place: run lilo again");
	if (strcmp(a->why, "GRUB's BIOS boot partition") == 0)
		warn(b, a->number, "GRUB's core image looks for itself at the old place: run "
				   "grub-install again");
	if (strcmp(a->why, "Windows' recovery environment") == 0)
		warn(b, a->number, "Windows finds its recovery environment again after "
				   "'reagentc /enable'");
}

static int
adapt(const struct by_plan *b, struct disk *d, const struct fitplan_part *a,
    const struct partition *p, struct err *e)
{
	uint8_t sector[SECTOR_BYTES];

	if (disk_read(d, sector, sizeof sector, a->is.off * SECTOR_BYTES, e) != 0)
		return -1;
	warn_loaders(b, a, sector);
	if (boot_place_adapt(d, a->was, a->is, e) != 0)
		return -1;
	return adapt_label(b, d, a, p, e);
}

int
by_plan_adapt(const struct by_plan *b, struct disk *d, struct err *e)
{
	for (unsigned i = 0; i < b->plan->n; i++) {
		const struct fitplan_part *a = &b->plan->parts[i];
		if (fitplan_moves(a) && !b->left_out(b->arg, a->number) &&
		    adapt(b, d, a, ptable_find(b->table, a->number), e) != 0)
			return -1;
	}
	return 0;
}

int
by_plan_suspended(const char *where, struct err *e)
{
	return err_set(e, ERR_REFUSED,
	    "a system is suspended %s, and goes on with the filesystems where they were: shut it "
	    "down, and make the image again",
	    where);
}

int
by_plan_awake(const struct by_plan *b, struct disk *image, struct err *e)
{
	char where[BEHIND_WHERE_CAP];

	return fitplan_changes(b->plan) && behind_suspended(image, b->table, where)
	           ? by_plan_suspended(where, e)
	           : 0;
}
