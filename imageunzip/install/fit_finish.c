/* fit_finish.c: finishes a target whose partitions have the places of a plan (fit.h): what depends on
 * its place is adapted, and the table is written (common/target/by_plan.h). 
 * target_finish.c calls this when all other threads are gone; fit.c tries the table. 
 * What is changed has its new value when this is done once more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/number.h"
#include "common/behind/behind.h"
#include "common/image/read/imgtable.h"
#include "common/target/by_plan.h"
#include "imageunzip/install/fit_impl.h"

enum { SENTENCE_CAP = 500, HUMAN_CAP = 32 };

/* A sentence of by_plan.c, for the target `arg`. */
static void
warn(void *arg, const char *sentence)
{
	const struct target *t = arg;

	if (t->cfg->warn != NULL)
		t->cfg->warn(sentence);
}

static bool
left_out(void *arg, unsigned number)
{
	return imgtable_left_out(((const struct target *)arg)->fit->table, number);
}

static struct by_plan
by_plan_of(const struct fit *f, struct target *t)
{
	return (struct by_plan){ .plan = &f->plan,
		.table = imgtable_table(f->table),
		.left_out = left_out,
		.warn = warn,
		.arg = t };
}

int
fit_write_table(const struct fit *f, struct disk *d, const bool *stays, struct err *e)
{
	const struct by_plan b = by_plan_of(f, NULL);
	struct disk *from;
	struct err none;

	if (imgtable_open(f->table, &from, e) != 0)
		return -1;
	int rc = by_plan_table(&b, d, from, stays, e);
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

static int
refuse_suspended(const char *where, struct err *e)
{
	by_plan_suspended(where, e);
	return err_ctx(e, "--fit");
}

static void
tell_part(const struct target_finish *x, const struct fitplan_part *a, bool stays)
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
note_longer(struct target_finish *x, const struct fitplan_part *a)
{
	if (a->is.len > a->was.len && !imgtable_left_out(x->target->fit->table, a->number))
		x->longer.part[x->longer.n++] =
		    (struct longer){ a->number, a->is, a->was.len };
}

int
fit_finish(struct target_finish *x, struct disk *view, struct err *e)
{
	const struct target *t = x->target;
	const struct fitplan *p = &t->fit->plan;
	const struct by_plan b = by_plan_of(t->fit, x->target);
	bool stays[PTABLE_PARTS_MAX];
	char where[BEHIND_WHERE_CAP];

	bool asleep = fitplan_changes(p) && is_suspended(t->fit, view, where);
	if (asleep && !t->cfg->force)
		return refuse_suspended(where, e);
	if (by_plan_adapt(&b, view, e) != 0)
		return -1;
	by_plan_stays(&b, view, false, stays);
	if (fit_write_table(t->fit, view, stays, e) != 0)
		return err_ctx(e, "the partition table could not be written");
	for (unsigned i = 0; i < p->n; i++) {
		tell_part(x, &p->parts[i], stays[i]);
		if (!stays[i] && !asleep)
			note_longer(x, &p->parts[i]);
	}
	return 0;
}
