/* fit_finish.c: adapts partitions to the places that they have by a plan, and writes the
 * table (fit.h).  finish.c calls this when all other threads are gone; fit.c tries the
 * table.
 *
 * Boot sectors are adapted by boot_place.c.  GRUB's boot.img, which begins a BIOS boot
 * partition when core.img lies there, is not changed: grub-install writes it anew.  What is
 * changed has its new value when this is done once more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/field.h"
#include "common/base/number.h"
#include "common/behind/behind.h"
#include "common/image/format/reloc.h"
#include "common/image/read/imgtable.h"
#include "common/image/read/reaches.h"
#include "common/layout/boot_place.h"
#include "imageunzip/install/fit_impl.h"

enum {
	LILO_AT = 6,
	LILO_STAGE_AT = 10,
	MBR_OPENBSD = 0xa6,
	SENTENCE_CAP = 500,
	HUMAN_CAP = 32,
};

static void
warn(const struct target *t, unsigned number, const char *what)
{
	char text[SENTENCE_CAP];

	snprintf(text, sizeof text, "partition %u begins at another sector now: %s", number,
	    what);
	if (t->cfg->warn != NULL)
		t->cfg->warn(text);
}

/* A disklabel in the second sector counts from the disk's beginning. */
static int
adapt_label(const struct target *t, struct disk *view, const struct fitplan_part *a,
    const struct partition *p, struct err *e)
{
	uint8_t b[SECTOR_BYTES];
	uint64_t at = (a->is.off + 1) * SECTOR_BYTES;
	struct err why;

	if (a->is.len < 2 || disk_read(view, b, sizeof b, at, e) != 0)
		return a->is.len < 2 ? 0 : -1;
	if (!reloc_is_label(b))
		return 0;
	int rc = reloc_label_follow(b,
	    p->mbr_type == MBR_OPENBSD ? NDZ_RELOC_OPENBSD_LABEL : NDZ_RELOC_FREEBSD_LABEL,
	    a->was, a->is, &why);
	if (rc < 0)
		warn(t, a->number, "its disklabel, which is valid for the old place only, was "
				   "not adapted");
	return rc > 0 ? disk_write(view, b, sizeof b, at, e) : 0;
}

static void
warn_loaders(const struct target *t, const struct fitplan_part *a, const uint8_t *b)
{
	if (memcmp(b + LILO_AT, "LILO", 4) == 0 && get_le16(b + LILO_STAGE_AT) == 1)
		warn(t, a->number, "LILO in its boot sector looks for files at the old "
				   "place: run lilo again");
	if (strcmp(a->why, "GRUB's BIOS boot partition") == 0)
		warn(t, a->number, "GRUB's core image looks for itself at the old place: run "
				   "grub-install again");
	if (strcmp(a->why, "Windows' recovery environment") == 0)
		warn(t, a->number, "Windows finds its recovery environment again after "
				   "'reagentc /enable'");
}

static int
adapt(const struct target *t, struct disk *view, const struct fitplan_part *a,
    const struct partition *p, struct err *e)
{
	uint8_t b[SECTOR_BYTES];

	if (disk_read(view, b, sizeof b, a->is.off * SECTOR_BYTES, e) != 0)
		return -1;
	warn_loaders(t, a, b);
	if (boot_place_adapt(view, a->was, a->is, e) != 0)
		return -1;
	return adapt_label(t, view, a, p, e);
}

int
fit_write_table(const struct fit *f, struct disk *d, const bool *stays, struct err *e)
{
	struct ptable_place places[PTABLE_PARTS_MAX];
	struct disk *from;
	struct err none;

	for (unsigned i = 0; i < f->plan.n; i++) {
		const struct fitplan_part *a = &f->plan.parts[i];
		places[i] = (struct ptable_place){ a->number, a->is };
		if (stays != NULL && stays[i])
			places[i].sectors.len = a->was.len;
	}
	if (imgtable_open(f->table, &from, e) != 0)
		return -1;
	int rc = ptable_place(d, from, imgtable_table(f->table), places, f->plan.n, e);
	disk_close(from, &none);
	return rc;
}

/* The partitions as a table, to look for suspended systems. */
static bool
is_suspended(const struct fit *f, struct disk *view, char where[BEHIND_WHERE_CAP])
{
	struct ptable *t = malloc(sizeof *t);

	if (t == NULL)
		return false;
	*t = *imgtable_table(f->table);
	for (unsigned i = 0; i < t->nparts; i++)
		for (unsigned k = 0; k < f->plan.n; k++)
			if (f->plan.parts[k].number == t->parts[i].number)
				t->parts[i].sectors = f->plan.parts[k].is;
	bool is = behind_suspended(view, t, where);
	free(t);
	return is;
}

int
fit_is_suspended(const char *where, struct err *e)
{
	return err_set(e, ERR_REFUSED,
	    "--fit: a system is suspended %s, and goes on with the filesystems where they "
	    "were: shut it down, and make the image again",
	    where);
}

/* Must it keep its length?  Metadata at the end of a partition, of an array for example,
 * is not found any more when the partition ends elsewhere. */
static bool
must_stay(const struct target *t, struct disk *view, const struct fitplan_part *a)
{
	struct range was = { a->is.off, a->was.len };
	struct reach_part fs = { .number = a->number, .sectors = was };
	struct behind b = { .n = 0 };
	char who[200], text[SENTENCE_CAP];

	if (a->is.len <= a->was.len)
		return false;
	uint64_t from = reaches_look(view, was, &fs) ? fs.fs_sectors : 0;
	b.n = ending_find(view, was, from, b.owned);
	if (b.n == 0)
		return false;
	snprintf(text, sizeof text, "%s is at the end of partition %u, which keeps its length",
	    behind_owned_text(&b, who, sizeof who), a->number);
	if (t->cfg->warn != NULL)
		t->cfg->warn(text);
	return true;
}

static void
tell_part(const struct finish *x, const struct fitplan_part *a, bool stays)
{
	const struct target *t = x->target;
	char text[SENTENCE_CAP], was[HUMAN_CAP], is[HUMAN_CAP];

	if (t->cfg->say == NULL)
		return;
	if (fitplan_moves(a)) {
		snprintf(text, sizeof text,
		    "partition %u %s from sector %" PRIu64 " to %" PRIu64, a->number,
		    x->dry ? "would move" : "moved", a->was.off, a->is.off);
		t->cfg->say(text);
	}
	if (a->is.len == a->was.len || stays || x->dry)
		return;
	snprintf(text, sizeof text,
	    "partition %u has %" PRIu64 " sectors now (%s), and had %" PRIu64 " (%s)%s",
	    a->number, a->is.len, human_bytes(a->is.len * SECTOR_BYTES, is, sizeof is),
	    a->was.len, human_bytes(a->was.len * SECTOR_BYTES, was, sizeof was),
	    t->cfg->no_follow ? "; its filesystem keeps its length: growfs enlarges it" : "");
	t->cfg->say(text);
}

/* What is in it follows, if the image stores it. */
static void
note_longer(struct finish *x, const struct fitplan_part *a)
{
	if (a->is.len > a->was.len && !imgtable_left_out(x->target->fit->table, a->number))
		x->longer.part[x->longer.n++] =
		    (struct longer){ a->number, a->is, a->was.len };
}

static int
adapt_all(const struct target *t, struct disk *view, struct err *e)
{
	const struct fit *f = t->fit;

	for (unsigned i = 0; i < f->plan.n; i++) {
		const struct fitplan_part *a = &f->plan.parts[i];
		if (fitplan_moves(a) && !imgtable_left_out(f->table, a->number) &&
		    adapt(t, view, a, imgtable_find(f->table, a->number), e) != 0)
			return -1;
	}
	return 0;
}

int
fit_finish(struct finish *x, struct disk *view, struct err *e)
{
	const struct target *t = x->target;
	const struct fitplan *p = &t->fit->plan;
	bool stays[PTABLE_PARTS_MAX];
	char where[BEHIND_WHERE_CAP];

	bool asleep = fitplan_changes(p) && is_suspended(t->fit, view, where);
	if (asleep && !t->cfg->force)
		return fit_is_suspended(where, e);
	if (adapt_all(t, view, e) != 0)
		return -1;
	for (unsigned i = 0; i < p->n; i++)
		stays[i] = must_stay(t, view, &p->parts[i]);
	if (fit_write_table(t->fit, view, stays, e) != 0)
		return err_ctx(e, "the partition table could not be written");
	for (unsigned i = 0; i < p->n; i++) {
		tell_part(x, &p->parts[i], stays[i]);
		if (!stays[i] && !asleep)
			note_longer(x, &p->parts[i]);
	}
	return 0;
}
