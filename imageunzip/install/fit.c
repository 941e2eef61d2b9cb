/* fit.c: makes the plan of an installation and its maps (fit.h).  install.c,
 * install_choose.c and install_open.c call this in the thread that feeds chunks, before
 * anything is written. */
#include "imageunzip/install/fit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/read/imgtable.h"
#include "common/image/read/only.h"
#include "common/target/by_plan.h"
#include "imageunzip/install/fit_impl.h"

int
fit_begin(struct install *in, struct err *e)
{
	struct target *t = &in->place->target;

	if (in->cfg.fit == NULL)
		return 0;
	if (t->room == UINT64_MAX)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: --fit needs a disk, or a file that has its length already",
		    disk_name(t->disk));
	in->fit = calloc(1, sizeof *in->fit);
	if (in->fit == NULL || imgtable_new(&in->fit->table, e) != 0)
		return err_nomem(e, "a plan");
	t->fit = in->fit;
	return 0;
}

void
fit_free(struct fit *f)
{
	if (f == NULL)
		return;
	imgtable_free(f->table);
	free(f->reach);
	free(f);
}

bool
install_fits(const struct install *in)
{
	return in->fit != NULL;
}

const struct fitplan *
install_plan(const struct install *in)
{
	return in->fit != NULL ? fit_plan(in->fit) : NULL;
}

const struct fitplan *
fit_plan(const struct fit *f)
{
	return f->known ? &f->plan : NULL;
}

bool
fit_needs(struct fit *f, uint64_t *sector)
{
	return !f->known && imgtable_needs(f->table, sector);
}

/* How many sectors of a partition, from its first on, do the chunks store?  What cannot be
 * read shows later. */
static uint64_t
stored(void *arg, struct range part)
{
	const struct install_again *a = &((struct install *)arg)->again;
	uint64_t end = 0;
	struct ndz_header h;
	struct err ignored;

	for (uint32_t i = 0; i < a->nchunks; i++) {
		if (a->header(a->arg, i, &h, &ignored) != 0)
			return part.len;
		uint64_t its = only_stored_end(&h, part);
		end = its > end ? its : end;
	}
	return end;
}

/* Note what chunk 0 says. */
static int
note_first(struct install *in, const struct ext *x, struct err *e)
{
	struct fit *f = in->fit;

	if (ext_is_delta(x))
		return err_set(e, ERR_REFUSED,
		    "is of a delta, which is installed where its base lies: --fit is for "
		    "whole images");
	if (!x->has_image || x->image.kind != EXT_KIND_DISK || x->reach == NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "does not say which filesystems a disk has, so --fit can plan nothing");
	f->source_sectors = x->image.source_bytes / SECTOR_BYTES;
	memcpy(f->filesystems, x->image.filesystems, sizeof f->filesystems);
	f->reach = malloc(sizeof *f->reach);
	if (f->reach == NULL)
		return err_nomem(e, "a plan");
	*f->reach = *x->reach;
	return 0;
}

static int
read_text(struct fitplan *p, const char *path, struct err *e)
{
	FILE *file = fopen(path, "re");
	char *text = malloc(PLAN_DOCUMENT_MAX + 1);
	int rc = -1;

	if (file == NULL || text == NULL) {
		err_os(e, "%s", path);
	} else {
		size_t n = fread(text, 1, PLAN_DOCUMENT_MAX + 1, file);
		rc = ferror(file)             ? err_os(e, "%s", path)
		     : n > PLAN_DOCUMENT_MAX ? err_set(e, ERR_FORMAT, "%s: is too long", path)
		                             : fitplan_take(p, text, n, path, e);
	}
	if (file != NULL)
		fclose(file);
	free(text);
	return rc;
}

/* Can the table be written for this disk?  It is tried on one that forgets what is
 * written. */
static int
try_table(const struct install *in, struct err *e)
{
	struct disk *d;
	struct err none;

	if (by_plan_trial(&d, in->disk, e) != 0)
		return -1;
	int rc = fit_write_table(in->fit, d, NULL, e);
	disk_close(d, &none);
	return rc;
}

static void
warn_windows(const struct install *in, const struct fitplan *p)
{
	char text[WARNING_BYTES];

	for (unsigned i = 0; i < p->n; i++)
		if (p->parts[i].pinned && fitplan_moves(&p->parts[i]) && in->cfg.warn != NULL) {
			snprintf(text, sizeof text,
			    "partition %u, of Windows, is moved: Windows may not start any "
			    "more before its boot configuration is repaired",
			    p->parts[i].number);
			in->cfg.warn(text);
		}
}

/* Tell the user which filesystems cannot follow. */
static void
foresee(const struct install *in, const struct fitplan *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->parts[i].is.len > p->parts[i].was.len)
			followed_foresee(&in->place->target, p->parts[i].number,
			    p->parts[i].fs);
}

static int
make_plan(struct install *in, const struct fitplan_source *s, unsigned sector_bytes,
    struct err *e)
{
	struct fitplan *p = &in->fit->plan;
	uint64_t room = in->place->target.room;

	if (fitplan_begin(p, s, room, sector_bytes, e) != 0)
		return -1;
	/* How large a disk must be is said of a user's plan, too. */
	int rc = fitplan_make(p, e);
	if (in->cfg.fit[0] == '\0')
		return rc;
	return read_text(p, in->cfg.fit, e) == 0 ? fitplan_check(p, in->cfg.force, e) : -1;
}

/* Refuse a system that is suspended on the image's disk, if anybody can look there. */
static int
check_awake(const struct install *in, const struct fitplan *p, struct err *e)
{
	const struct install_config *cfg = &in->cfg;
	char where[BEHIND_WHERE_CAP];

	if (cfg->suspended == NULL || cfg->force || !fitplan_changes(p) ||
	    !cfg->suspended(cfg->suspended_arg, where))
		return 0;
	return by_plan_suspended(where, e);
}

static struct area
area_of(const struct fit *f, const struct fitplan_part *a)
{
	const struct partition *p = imgtable_find(f->table, a->number);

	return (struct area){ .sectors = a->is,
		.number = a->number,
		.unsure = p != NULL && areas_may_have_label(p, f->filesystems) };
}

/* A state on the target may be in free space of any partition. */
static int
learn_slot(const struct fit *f, struct state_slot *slot, struct err *e)
{
	for (unsigned i = 0; i < f->plan.n; i++) {
		const struct area a = area_of(f, &f->plan.parts[i]);
		if (state_slot_learn_one(slot, &a, e) != 0)
			return -1;
	}
	return 0;
}

/* The table is known: make the plan. */
static int
settle(struct install *in, struct err *e)
{
	struct fit *f = in->fit;
	const struct ptable *t = imgtable_table(f->table);
	bool block = disk_kind(in->disk) == DISK_BLOCK;

	if (t == NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "the image has no partition table that could be read, so --fit can plan "
		    "nothing");
	const struct fitplan_source s = { .table = t,
		.reach = f->reach,
		.sectors = f->source_sectors,
		.stored = in->again.nchunks != 0 ? stored : NULL,
		.arg = in };
	if (make_plan(in, &s, block ? disk_sector_bytes(in->disk) : t->sector_bytes, e) != 0 ||
	    by_plan_maps(&f->plan, &f->maps, e) != 0 || try_table(in, e) != 0 ||
	    check_awake(in, &f->plan, e) != 0)
		return err_ctx(e, "%s: --fit", disk_name(in->disk));
	in->place->target.maps = &f->maps;
	f->known = true;
	if (learn_slot(f, &in->place->resume.slot, e) != 0)
		return -1;
	warn_windows(in, &f->plan);
	foresee(in, &f->plan);
	return 0;
}

int
fit_learn(struct install *in, uint32_t number, const struct chunk *c, const void *bytes,
    struct err *e)
{
	struct fit *f = in->fit;
	uint64_t sector;

	if (f->known)
		return 0;
	if (number == 0 && f->reach == NULL && note_first(in, &c->ext, e) != 0)
		return err_ctx(e, "chunk 0");
	if (imgtable_learn(f->table, number, c, bytes, e) != 0)
		return -1;
	return imgtable_needs(f->table, &sector) ? 0 : settle(in, e);
}

int
fit_cannot(struct install *in, uint64_t sector, struct err *e)
{
	struct fit *f = in->fit;

	if (imgtable_cannot(f->table, sector, e) != 0)
		return -1;
	return imgtable_needs(f->table, &sector) ? 0 : settle(in, e);
}

int
fit_learn_alone(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	if (install_learn(in, number, bytes, e) != 0)
		return -1;
	return in->fit->known ? 0
	                      : err_set(e, ERR_UNSUPPORTED,
				    "%s: --fit: the image describes its logical partitions "
				    "elsewhere than in its first chunk: imageunzip fits it, "
				    "from a file",
				    disk_name(in->disk));
}

int
fit_check_header(const struct place *p, const struct ndz_header *h, struct err *e)
{
	const struct fitplan *plan = &p->in->fit->plan;

	for (unsigned i = 0; i < plan->n; i++) {
		const struct fitplan_part *a = &plan->parts[i];
		if (only_stored_end(h, a->was) > a->is.len)
			return err_set(e, ERR_REFUSED,
			    "stores more of partition %u than fits its new place",
			    a->number);
	}
	return 0;
}

int
fit_check_reach(struct place *p, const struct ext *x, struct err *e)
{
	const struct fitplan *plan = &p->in->fit->plan;

	if (!p->in->fit->known)
		return 0;
	struct reach *moved = malloc(sizeof *moved);
	if (moved == NULL)
		return err_nomem(e, "a list of partitions");
	p->reach_checked = true;
	p->in->of_disk = true;
	*moved = *x->reach;
	for (size_t i = 0; i < moved->n; i++)
		for (unsigned k = 0; k < plan->n; k++)
			if (moved->parts[i].number == plan->parts[k].number)
				moved->parts[i].sectors = plan->parts[k].is;
	int rc = install_compare_reach(p, moved, e);
	free(moved);
	return rc;
}

int
fit_areas(const struct fit *f, struct free_space *c, struct areas *s, struct err *e)
{
	rangeset_seal(&c->stored);
	for (unsigned i = 0; i < f->plan.n; i++) {
		struct area add = area_of(f, &f->plan.parts[i]);
		add.some = rangeset_touches(&c->stored, add.sectors);
		if (areas_add(s, add, e) != 0)
			return -1;
	}
	return 1;
}
