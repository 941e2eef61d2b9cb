/* followed.c: lets filesystems follow the partitions that an installation has made longer
 * (followed.h).  install_end.c calls this when all other threads are gone, fit.c and
 * target_finish.c before anything is written; in the thread that feeds chunks.
 *
 * The tools get loop devices of the partitions' places: the kernel knows the old table,
 * and the disk has no table yet, because its first 4 KiB are the last that is written.
 * When a tool is interrupted, nobody knows what the filesystem is then: so no state names
 * a chunk any more when the first tool begins, and the next run installs all of it anew.
 */
#include "imageunzip/install/followed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/resize/follow.h"
#include "common/resize/place.h"

enum { SENTENCE_CAP = 400 };

/* Does the name of the disk lead to it?  That of standard output does not; a rehearsal has
 * no descriptor. */
static bool
has_name(const struct disk *d)
{
	struct stat name, own;

	return disk_fd(d) < 0 ||
	       (stat(disk_name(d), &name) == 0 && fstat(disk_fd(d), &own) == 0 &&
	           name.st_dev == own.st_dev && name.st_ino == own.st_ino);
}

/* Why can no tool be run for this partition?  NULL: nothing is in the way. */
static const char *
why_not(const struct target *t, uint64_t first_sector)
{
	if (first_sector < BOOT_AREA_SECTORS)
		return "it begins in the first 4 KiB of the disk, which are written last";
	if (!has_name(t->disk))
		return "tools need a disk that has a name";
	return place_can() ? NULL : "its tools need a loop device, which root can have where "
				    "the kernel has them";
}

void
followed_foresee(const struct target *t, unsigned number, const char *fs)
{
	char text[SENTENCE_CAP], tool[SCRIPT_TOOL_CAP];
	const char *why = why_not(t, UINT64_MAX);

	if (t->cfg->no_follow || t->cfg->warn == NULL || t->fresh)
		return;
	if (why != NULL)
		snprintf(text, sizeof text,
		    "what is in partition %u will not grow with it: %s", number, why);
	else if (resize_absent(fs, tool))
		snprintf(text, sizeof text,
		    "the %s in partition %u will not grow with it: %s is not installed",
		    fs, number, tool);
	else
		return;
	t->cfg->warn(text);
}

static struct follow_part *
list(const struct target *t, const struct followed *l, struct err *e)
{
	struct follow_part *parts = calloc(l->n, sizeof *parts);

	if (parts == NULL)
		err_nomem(e, "a list of partitions");
	for (unsigned i = 0; parts != NULL && i < l->n; i++) {
		const struct longer *from = &l->part[i];
		const char *why = why_not(t, from->sectors.off);
		parts[i] = (struct follow_part){ .number = from->number,
			.sectors = from->sectors,
			.was_sectors = from->was_sectors,
			.skip = why != NULL };
		if (why != NULL)
			snprintf(parts[i].fs.left_alone, sizeof parts[i].fs.left_alone,
			    "%s", why);
	}
	return parts;
}

/* Nothing that has an owner is grown over. */
static int
heed(struct target *t, struct follow *f, struct err *e)
{
	struct behind b;
	int rc = follow_look(f, e);

	for (size_t i = 0; rc == 0 && i < f->n; i++)
		rc = follow_heed(&f->parts[i], t->disk, &b, e);
	return rc;
}

static void
tell(void *arg, const char *sentence)
{
	const struct target *t = arg;

	if (t->cfg->say != NULL)
		t->cfg->say(sentence);
}

static void
add_advice(struct err *e)
{
	size_t said = strlen(e->text);

	snprintf(e->text + said, sizeof e->text - said,
	    "; the disk stays unfinished: --no-follow installs it with filesystems as long as "
	    "they were");
}

int
followed_grow(struct target *t, const struct followed *l, struct err *e)
{
	struct follow f = { .disk = disk_name(t->disk),
		.fit_lv = t->cfg->fit_lv,
		.n = l->n,
		.installs = true,
		.say = tell,
		.arg = t };

	if (l->n == 0 || t->cfg->no_follow || t->fresh)
		return 0;
	if (disk_sync(t->disk, e) != 0 || (f.parts = list(t, l, e)) == NULL)
		return -1;
	disk_lend_hold(t->disk);
	int rc = heed(t, &f, e);
	if (rc == 0)
		rc = follow_grow(&f, e);
	if (rc != 0 && e->kind != ERR_CANCELLED)
		add_advice(e);
	free(f.parts);
	return rc;
}
