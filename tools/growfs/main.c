/* main.c: growfs lets the last partition of a disk reach to the end of the disk, and the
 * filesystems in all partitions to the ends of these.  An administrator runs it after a load, and so does netboot/init.  The program
 * has one thread, beside those that read what tools print. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/behind/behind.h"
#include "common/cli/cli.h"
#include "common/cli/cli_rows.h"
#include "common/cli/failure.h"
#include "common/cli/progress.h"
#include "common/disk/hold.h"
#include "common/disk/inuse.h"
#include "common/disk/ptable.h"
#include "common/image/format/marker.h"
#include "common/resize/follow.h"
#include "tools/growfs/fitting.h"

enum { EXIT_LEFT_ALONE = 4 };

struct opts {
	bool look_only, quiet, json;
	const char *fit_lv;
};

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt opts_table[] = {
	FLAG(302, "dry-run", "say what would be done, and change nothing", look_only),
	FLAG('q', "quiet", "print nothing when all went well", quiet),
	{ 301, "fit-lv", "VG/LV", "the volume of LVM that gets the room of its group", CLI_STR,
	    AT(fit_lv), 0, 0, NULL },
	FLAG(300, "json", "print the report as JSON", json),
	{ 0 },
};

/* No tool is ended in the middle (follow.c). */
static const char *
left(const void *options, char **operands, int n)
{
	const struct opts *o = options;

	(void)operands, (void)n;
	return o->look_only ? NULL
	                    : "what had begun is whole: the same command does the rest";
}

static const struct cli_program prog = {
	.left = left,
	.name = "growfs",
	.synopsis = "[options] disk",
	.about = "Let the last partition of a disk reach to the end of the disk, and each "
	         "filesystem to the\n"
		 "end of its partition.  The filesystem's own tools do it: resize2fs, "
	         "xfs_growfs, btrfs,\n"
		 "ntfsresize, fatresize; those of LVM.",
	.examples = "  imageunzip small.ndz /dev/sdb && growfs /dev/sdb\n"
		    "  growfs --dry-run /dev/sdb         what would be done\n"
		    "  growfs disk.img                   a disk that is a file, as root\n",
	.tables = { { opts_table, 0, NULL } },
};

/* What is to be grown, and what became of it. */
struct work {
	const char *disk;
	struct partition last;
	struct follow all;        /* all partitions */
	struct follow_part *on;   /* the last of them, as it lies on the disk */
	unsigned sector_bytes; /* of the table */
	bool before_extended;  /* an extended partition without logical ones lies behind it */
	bool is_suspended;
	char suspended[BEHIND_WHERE_CAP]; /* where a system is, then */
	uint64_t part_was_bytes, part_is_bytes;
	uint64_t disk_sectors;
	struct fitting fit;
	struct behind disks; /* what lies behind the last partition */
	char over[200];      /* the unknown data that is grown over; "": none */
	struct follow_part parts[PTABLE_PARTS_MAX];
	bool had_room[PTABLE_PARTS_MAX]; /* behind the filesystem, before it grew */
};

/* Is there a boot record of logical partitions behind this partition?  An extended partition begins
 * with one, also when it has no logical partition. */
static bool
has_boot_record_behind(const struct ptable *t, const struct partition *p)
{
	size_t n = rangeset_count(&t->own);

	return n > 0 && rangeset_get(&t->own, n - 1).off > p->sectors.off;
}

/* Why nothing is done in a partition: a sentence in fs.left_alone, unless there is one
 * already. */
static void __attribute__((format(printf, 2, 3)))
leave_alone(struct follow_part *p, const char *fmt, ...)
{
	va_list ap;

	p->skip = true;
	p->became = FOLLOW_LEFT_ALONE;
	if (p->fs.left_alone[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(p->fs.left_alone, sizeof p->fs.left_alone, fmt, ap);
	va_end(ap);
}

/* List the partitions; without a table, the disk is one. */
static void
list_parts(struct work *w, const struct ptable *t)
{
	const struct partition *last = ptable_last(t);

	w->all.disk = w->disk;
	w->all.parts = w->parts;
	w->all.n = 0;
	w->last = (struct partition){ .sectors = { 0, w->disk_sectors } };
	if (last != NULL)
		w->last = *last;
	for (unsigned i = 0; i < (last != NULL ? t->nparts : 1); i++) {
		const struct partition *p = last != NULL ? &t->parts[i] : &w->last;
		const char *owner = last != NULL ? ptable_owner(p) : NULL;
		struct follow_part *f = &w->parts[w->all.n];
		if (p->empty && p->number != w->last.number)
			continue; /* it may lie around others */
		*f = (struct follow_part){ .number = p->number,
			.sectors = p->sectors,
			.was_sectors = p->sectors.len };
		if (owner != NULL) /* says more than what is in it */
			leave_alone(f, "it belongs to %s", owner);
		w->on = p->number == w->last.number ? f : w->on;
		w->all.n++;
	}
}

/* Find the last partition, as it lies on the disk, and who claims the space behind it. */
static int
find_parts(struct disk *d, const struct ptable *t, struct work *w, struct err *e)
{
	struct range all = { 0, disk_size_bytes(d) / SECTOR_BYTES };

	w->disk_sectors = all.len;
	w->sector_bytes = t->sector_bytes;
	if (t->kind == PTABLE_GPT && t->nparts == 0)
		return err_set(
		    e, ERR_UNSUPPORTED, "%s: its table has no partition", w->disk);
	list_parts(w, t);
	w->before_extended = t->kind == PTABLE_MBR && has_boot_record_behind(t, &w->last);
	w->is_suspended = behind_suspended(d, t, w->suspended);
	if (w->on->number == 0)
		return 0;
	return behind_find(&w->disks, d, all, range_end(w->last.sectors), &t->own, e);
}

static int
look_at_table(struct disk *d, struct work *w, struct err *e)
{
	struct ptable t;

	if (ptable_read(&t, d, e) != 0)
		return -1;
	int rc = find_parts(d, &t, w, e);
	ptable_free(&t);
	return rc;
}

/* What is not whole has no table, or no filesystem, that could be grown.  One of the other
 * partitions that is not whole is left alone. */
static int
check_whole(struct disk *d, struct work *w, struct err *e)
{
	struct err why;

	if (marker_refuse(d, 0, 0, e) != 0)
		return -1;
	for (size_t i = 0; i < w->all.n; i++) {
		struct follow_part *p = &w->parts[i];
		bool last = p == w->on;
		if (p->number == 0 || marker_refuse(d, p->sectors.off, p->number,
					  last ? e : &why) == 0)
			continue;
		if (last)
			return -1;
		leave_alone(p, "%.250s", why.text);
	}
	return 0;
}

/* Partitions in which nothing is to be done may be in use. */
static int
check_unused(struct work *w, struct follow_part *p, struct err *e)
{
	const struct hold_wish wish = { .path = w->disk, .sectors = p->sectors };
	char text[INUSE_UNSEEN_BYTES];
	struct err why;
	bool unseen, last = p == w->on;

	if (hold_look(&wish, &unseen, last ? e : &why) != 0) {
		if (last)
			return -1;
		leave_alone(p, "%.250s", why.text);
	} else if (unseen && last)
		say_text(stderr, "growfs: warning: %s\n", inuse_unseen_text(w->disk, text));
	return 0;
}

/* Note the unknown data that lies in these sectors, which are taken. */
static void
note_over(struct work *w, const struct behind *b, struct range taken)
{
	size_t said = strlen(w->over);
	struct behind there = {
		.unknown = range_clip(b->unknown, taken.off, range_end(taken))
	};
	char what[100];

	if (there.unknown.len > 0 && said < sizeof w->over)
		snprintf(w->over + said, sizeof w->over - said, "%s%s",
		    said > 0 ? ", " : "",
		    behind_unknown_text(&there, what, sizeof what));
}

/* Leave alone what has an owner behind its filesystem, and note the unknown data there that
 * is grown over. */
static int
heed_behind(struct disk *d, struct work *w, struct follow_part *p, struct err *e)
{
	struct behind b;

	if (follow_heed(p, d, &b, e) != 0)
		return -1;
	if (b.n == 0 && strcmp(p->fs.type, "LVM2_member") != 0) /* its label may be older */
		note_over(w, &b, p->sectors);
	return 0;
}

/* What the table would become.  The last filesystem grows with its partition. */
static int
forecast(struct work *w, struct err *e)
{
	const struct ptable_change *will = &w->fit.done;
	struct follow_part *on = w->on;

	w->part_was_bytes = w->part_is_bytes = on->sectors.len * SECTOR_BYTES;
	if (on->fs.left_alone[0] != '\0' || w->last.logical || w->before_extended)
		return 0;
	if (on->number != 0 && fitting_do(&w->fit, w->disk, w->sector_bytes, true, e) != 0)
		return -1;
	if (will->grown != 0)
		w->part_is_bytes = will->is_sectors * SECTOR_BYTES;
	on->fs.is_bytes = resize_grown_bytes(&on->fs, w->part_is_bytes);
	on->became = on->fs.is_bytes > on->fs.was_bytes ? FOLLOW_GREW : FOLLOW_FILLS;
	return 0;
}

/* The sectors that the table or the filesystem would take which they do not have now. */
static struct range
taken_of_disk(const struct work *w)
{
	uint64_t from = range_end(w->last.sectors);
	uint64_t end = from + (w->part_is_bytes - w->part_was_bytes) / SECTOR_BYTES;

	if (w->fit.done.moved) /* the backup of a GPT goes to the end */
		end = w->disk_sectors;
	return (struct range){ from, end - from };
}

/* Leave the last partition alone when what it would take has an owner. */
static void
heed_claims(struct work *w)
{
	struct range taken = taken_of_disk(w);
	char who[160];

	if (w->disks.n > 0 && taken.len > 0)
		leave_alone(w->on, "%s lies behind it and would be grown over",
		    behind_owned_text(&w->disks, who, sizeof who));
}

/* Why does the last partition stay as it is? */
static void
decide_last(struct work *w)
{
	if (w->last.logical)
		leave_alone(w->on, "it is a logical partition, which cannot be grown");
	if (w->before_extended)
		leave_alone(w->on, "an extended partition lies behind it");
	if (w->is_suspended)
		leave_alone(w->on,
		    "a system is suspended %s, and goes on with the filesystems as they "
		    "are",
		    w->suspended);
	heed_claims(w);
}

/* Nothing becomes of what is left alone. */
static void
settle(struct work *w, struct follow_part *p)
{
	if (p->fs.left_alone[0] == '\0')
		return;
	p->became = FOLLOW_LEFT_ALONE;
	p->skip = true;
	p->fs.is_bytes = p->fs.was_bytes;
	if (p != w->on)
		return;
	w->part_is_bytes = w->part_was_bytes;
	w->fit.done = (struct ptable_change){ .moved = false };
}

static int
decide(struct disk *d, struct work *w, struct err *e)
{
	decide_last(w);
	for (size_t i = 0; i < w->all.n; i++) {
		struct follow_part *p = &w->parts[i];
		bool grows = p->became == FOLLOW_GREW;
		w->had_room[i] = grows;
		if (p != w->on && grows && w->is_suspended)
			leave_alone(p, "a system is suspended %s", w->suspended);
		if (((p == w->on && !p->skip) || grows) && check_unused(w, p, e) != 0)
			return -1;
		if (heed_behind(d, w, p, e) != 0)
			return -1;
		settle(w, p);
	}
	if (!w->on->skip)
		note_over(w, &w->disks, taken_of_disk(w));
	return 0;
}

/* Look at the disk, and at what is in its partitions. */
static int
look(struct work *w, struct err *e)
{
	struct disk *d;
	struct err closing;

	if (disk_open(&d, w->disk, DISK_READ, e) != 0)
		return -1;
	int rc = look_at_table(d, w, e);
	if (rc == 0)
		rc = check_whole(d, w, e);
	if (rc == 0)
		rc = follow_look(&w->all, e);
	if (rc == 0)
		rc = forecast(w, e);
	if (rc == 0)
		rc = decide(d, w, e);
	disk_close(d, &closing); /* only read: nothing to lose */
	return rc;
}

/* The filesystem could not follow its partition, as *e says: put the table back, unless
 * the filesystem needs the longer partition already. */
static void
put_table_back(struct work *w, struct err *e)
{
	struct err why;

	if (w->fit.n == 0)
		return;
	if (w->on->fs.is_bytes > w->part_was_bytes)
		err_add(e, "the partition stays as long as it has become");
	else if (fitting_undo(&w->fit, w->disk, &why) != 0)
		err_add(e, "the partition table could not be put back: %s", why.text);
	else
		err_add(e, "the partition table is what it was before");
}

/* What LVM says of its group is known only now. */
static int
leave_table(struct work *w, struct err *e)
{
	if (fitting_undo(&w->fit, w->disk, e) != 0)
		return -1;
	w->fit.done = (struct ptable_change){ .moved = false };
	w->part_is_bytes = w->part_was_bytes;
	return 0;
}

static void
show_step(void *arg, const char *what)
{
	(void)arg;
	progress_line("growfs: %s", what);
}

/* Let the last partition reach to the end of the disk, and filesystems to the ends of
 * their partitions. */
static int
grow_all(struct work *w, struct err *e)
{
	struct follow_part *on = w->on;

	if (!on->skip && on->number != 0 &&
	    fitting_do(&w->fit, w->disk, w->sector_bytes, false, e) != 0)
		return -1;
	if (w->fit.done.grown != 0)
		on->sectors.len = w->fit.done.is_sectors;
	int rc = follow_grow(&w->all, e);
	say_line_clear();
	if (on->became == FOLLOW_FAILED) {
		put_table_back(w, &on->why);
		*e = on->why;
	} else if (on->became == FOLLOW_LEFT_ALONE && leave_table(w, e) != 0)
		return -1;
	return rc;
}

static void
put_parts(struct json *j, const struct opts *o, const struct work *w)
{
	json_array(j, "partitions");
	for (size_t i = 0; i < w->all.n; i++) {
		json_object(j, NULL);
		follow_json(j, &w->parts[i], o->look_only);
		json_end(j);
	}
	json_end(j);
}

/* The first partition that is left alone although it matters: the last of the disk, or one
 * with room behind its filesystem.  NULL: there is none. */
static const struct follow_part *
first_alone(const struct work *w)
{
	if (w->on->became == FOLLOW_LEFT_ALONE)
		return w->on;
	for (size_t i = 0; i < w->all.n; i++)
		if (w->had_room[i] && w->parts[i].became == FOLLOW_LEFT_ALONE)
			return &w->parts[i];
	return NULL;
}

static int
report_json(const struct opts *o, const struct work *w, struct err *e)
{
	const struct follow_part *on = w->on, *left = first_alone(w);
	struct json *j = json_new();
	struct err alone;

	json_object(j, NULL);
	json_string(j, "disk", w->disk);
	json_bool(j, "dry_run", o->look_only);
	json_uint(j, "partition", on->number);
	json_uint(j, "partition_was_bytes", w->part_was_bytes);
	json_uint(j, "partition_is_bytes", w->part_is_bytes);
	json_bool(j, "table_changed", w->fit.done.moved || w->fit.done.grown != 0);
	json_string(j, "filesystem", on->fs.type);
	json_uint(j, "filesystem_was_bytes", on->fs.was_bytes);
	json_uint(j, "filesystem_is_bytes", on->fs.is_bytes);
	if (!o->look_only)
		json_bool(j, "to_be_checked", on->fs.to_be_checked);
	json_string(j, "grown_over", w->over);
	json_string(j, "left_alone", left != NULL ? left->fs.left_alone : "");
	put_parts(j, o, w);
	if (left != NULL) {
		err_set(&alone, ERR_UNSUPPORTED, "%s: left alone: %s", w->disk,
		    left->fs.left_alone);
		failure_put_err(j, &alone, EXIT_LEFT_ALONE);
	}
	json_end(j);
	return json_show(j, e);
}

/* Of the other partitions, only those are named that have, or had, room. */
static void
report_text(const struct opts *o, const struct work *w, bool only_alone)
{
	char text[FOLLOW_TEXT_CAP];

	for (size_t i = 0; i < w->all.n; i++) {
		const struct follow_part *p = &w->parts[i];
		bool alone = p->became == FOLLOW_LEFT_ALONE;
		if ((p == w->on || w->had_room[i] || p->became == FOLLOW_GREW) &&
		    (alone || !only_alone))
			say_text(stdout, "%s: %s\n", w->disk,
			    follow_text(p, o->look_only, text, sizeof text));
	}
	if (w->fit.done.moved && !only_alone)
		say_text(stdout, "%s: the backup of its GPT %s to the end of the disk\n",
		    w->disk, o->look_only ? "would be moved" : "was moved");
}

/* Unknown data may be what the disk had before an image was installed, so it is grown
 * over, but not without a word. */
static void
warn_over(const struct opts *o, const struct work *w)
{
	if (w->over[0] != '\0')
		say_text(stderr, "growfs: warning: %s: %s %s grown over\n", w->disk, w->over,
		    o->look_only ? "would be" : "is");
}

/* What was done before one has failed is said, too. */
static int
grow(const struct opts *o, struct work *w, struct err *e)
{
	if (look(w, e) != 0)
		return -1;
	warn_over(o, w);
	if (!o->look_only && grow_all(w, e) != 0)
		return -1;
	if (o->json && report_json(o, w, e) != 0)
		return -1;
	if (!o->json)
		report_text(o, w, o->quiet);
	return first_alone(w) != NULL ? EXIT_LEFT_ALONE : 0;
}

/* The tools, and what is opened here, share the lock. */
static int
grow_held(const struct opts *o, struct work *w, struct err *e)
{
	const struct hold_wish wish = { .path = w->disk, .no_look = true };
	struct disk_hold *hold = NULL;

	if (!o->look_only) {
		if (hold_begin(&hold, &wish, e) != 0)
			return -1;
		hold_lend(hold);
	}
	int rc = grow(o, w, e);
	hold_end(hold);
	return rc;
}

static int
run(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;

	if (cli_operands(operands, n, 1, 1, "one disk is needed", e) != 0)
		return -1;
	struct work *w = calloc(1, sizeof *w);
	if (w == NULL)
		return err_nomem(e, "the partitions");
	w->disk = operands[0];
	w->all.fit_lv = o->fit_lv;
	w->all.begins = o->quiet || o->json ? NULL : show_step;
	int rc = grow_held(o, w, e);
	fitting_free(&w->fit);
	free(w);
	return rc;
}

int
main(int argc, char **argv)
{
	struct opts o = { 0 };

	return cli_main(&prog, argc, argv, &o, run);
}
