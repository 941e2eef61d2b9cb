/* main.c: growfs lets the last partition of a disk, and the filesystem in it, reach to the end
 * of the disk.  An administrator runs it after a load, and so does netboot/init.  The program
 * has one thread, beside those that read what tools print. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/cancel.h"
#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/behind/behind.h"
#include "common/cli/cli.h"
#include "common/cli/cli_rows.h"
#include "common/cli/failure.h"
#include "common/disk/hold.h"
#include "common/disk/inuse.h"
#include "common/disk/ptable.h"
#include "common/image/format/marker.h"
#include "common/resize/resize.h"
#include "tools/growfs/device.h"
#include "tools/growfs/fitting.h"

enum { EXIT_LEFT_ALONE = 4 };

struct opts {
	bool look_only, quiet, json;
};

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt opts_table[] = {
	FLAG('n', "dry-run", "say what would be done, and change nothing", look_only),
	FLAG('q', "quiet", "print nothing when all went well", quiet),
	FLAG(300, "json", "print the report as JSON", json),
	{ 0 },
};

static const struct cli_program prog = {
	.name = "growfs",
	.synopsis = "[options] disk",
	.about = "Let the last partition of a disk, and the filesystem in it, reach to the "
	         "end of the disk.\n"
		 "The filesystem's own tools do it: resize2fs, xfs_growfs, btrfs, "
	         "ntfsresize.",
	.examples = "  imageunzip small.ndz /dev/sdb && growfs /dev/sdb\n"
		    "  growfs -n /dev/sdb                what would be done\n"
		    "  growfs disk.img                   a disk that is a file, as root\n",
	.tables = { { opts_table, 0, NULL } },
};

/* What is to be grown, and what became of it. */
struct work {
	struct device on; /* the last partition */
	unsigned sector_bytes; /* of the table */
	bool before_extended;  /* an extended partition without logical ones lies behind it */
	bool is_suspended;
	char suspended[BEHIND_WHERE_CAP]; /* where a system is, then */
	uint64_t part_was_bytes, part_is_bytes;
	uint64_t disk_sectors;
	struct resize fs;
	struct fitting fit;
	/* What lies behind the last partition, and in it behind its filesystem. */
	struct behind disks, parts;
	char over[200]; /* the unknown data that is grown over; "": none */
};

/* Is there a boot record of logical partitions behind this partition?  An extended partition begins
 * with one, also when it has no logical partition. */
static bool
has_boot_record_behind(const struct ptable *t, const struct partition *p)
{
	size_t n = rangeset_count(&t->own);

	return n > 0 && rangeset_get(&t->own, n - 1).off > p->sectors.off;
}

/* Find the last partition, as it lies on the disk, and who claims the space behind it. */
static int
find_last(struct disk *d, const struct ptable *t, struct work *w, struct err *e)
{
	struct range all = { 0, disk_size_bytes(d) / SECTOR_BYTES };
	const struct partition *last = ptable_last(t);
	struct partition *p = &w->on.part;

	*p = last != NULL ? *last : (struct partition){ .number = 0, .sectors = all };
	w->disk_sectors = all.len;
	w->sector_bytes = t->sector_bytes;
	w->before_extended = t->kind == PTABLE_MBR && has_boot_record_behind(t, p);
	w->is_suspended = behind_suspended(d, t, w->suspended);
	if (t->kind == PTABLE_GPT && t->nparts == 0)
		return err_set(
		    e, ERR_UNSUPPORTED, "%s: its table has no partition", w->on.disk);
	if (p->number == 0)
		return 0;
	return behind_find(&w->disks, d, all, range_end(p->sectors), &t->own, e);
}

static int
look_at_table(struct disk *d, struct work *w, struct err *e)
{
	struct ptable t;

	if (fstat(disk_fd(d), &w->on.st) != 0)
		return err_os(e, "%s", w->on.disk);
	if (ptable_read(&t, d, e) != 0)
		return -1;
	int rc = find_last(d, &t, w, e);
	ptable_free(&t);
	return rc;
}

/* What is not whole has no table, or no filesystem, that could be grown. */
static int
check_whole(struct disk *d, const struct work *w, struct err *e)
{
	const struct partition *p = &w->on.part;
	int rc = marker_refuse(d, 0, 0, e);

	return rc == 0 && p->number != 0
	           ? marker_refuse(d, p->sectors.off, p->number, e)
	           : rc;
}

/* The other partitions may be in use. */
static int
check_unused(const struct work *w, struct err *e)
{
	const struct hold_wish wish = { .path = w->on.disk,
		.sectors = w->on.part.sectors };
	char text[INUSE_UNSEEN_BYTES];
	bool unseen;

	if (hold_look(&wish, &unseen, e) != 0)
		return -1;
	if (unseen)
		say(stderr, "growfs: warning: %s\n", inuse_unseen_text(w->on.disk, text));
	return 0;
}

/* Look at what is in the last partition, and who claims the space behind its
 * filesystem. */
static int
look_at_filesystem(struct disk *d, struct work *w, struct err *e)
{
	struct range part = w->on.part.sectors;

	if (check_unused(w, e) != 0 ||
	    device_with(&w->on, resize_look, &w->fs, e) != 0)
		return -1;
	uint64_t end = (w->fs.was_bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	return end == 0 ? 0 : behind_find(&w->parts, d, part, end, NULL, e);
}

/* Find out what the table and the filesystem would become. */
static int
forecast(struct work *w, struct err *e)
{
	const struct ptable_change *will = &w->fit.done;

	w->part_was_bytes = w->part_is_bytes = w->on.part.sectors.len * SECTOR_BYTES;
	if (w->fs.left_alone[0] != '\0' || w->on.part.logical || w->before_extended)
		return 0;
	if (w->on.part.number != 0 &&
	    fitting_do(&w->fit, w->on.disk, w->sector_bytes, true, e) != 0)
		return -1;
	if (will->grown != 0)
		w->part_is_bytes = will->is_sectors * SECTOR_BYTES;
	w->fs.is_bytes = resize_grown_bytes(&w->fs, w->part_is_bytes);
	return 0;
}

/* The sectors that the table or the filesystem would take which they do not have now. */
static struct range
taken_of_disk(const struct work *w)
{
	uint64_t from = range_end(w->on.part.sectors);
	uint64_t end = from + (w->part_is_bytes - w->part_was_bytes) / SECTOR_BYTES;

	if (w->fit.done.moved) /* the backup of a GPT goes to the end */
		end = w->disk_sectors;
	return (struct range){ from, end - from };
}

/* Why nothing is done: a sentence in w->fs.left_alone, unless there is one already. */
static void __attribute__((format(printf, 2, 3)))
leave_alone(struct work *w, const char *fmt, ...)
{
	va_list ap;

	if (w->fs.left_alone[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(w->fs.left_alone, sizeof w->fs.left_alone, fmt, ap);
	va_end(ap);
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

	if (there.unknown.len > 0)
		snprintf(w->over + said, sizeof w->over - said, "%s%s",
		    said > 0 ? ", " : "",
		    behind_unknown_text(&there, what, sizeof what));
}

/* Leave alone what has an owner, and note which unknown data is grown over. */
static void
heed_claims(struct work *w)
{
	struct range taken = taken_of_disk(w);
	bool fs_grows = w->fs.is_bytes > w->fs.was_bytes;
	char who[160];

	if (w->disks.n > 0 && taken.len > 0)
		leave_alone(w, "%s lies behind it and would be grown over",
		    behind_owned_text(&w->disks, who, sizeof who));
	if (w->parts.n > 0 && fs_grows)
		leave_alone(w, "%s lies behind its filesystem",
		    behind_owned_text(&w->parts, who, sizeof who));
	if (w->fs.left_alone[0] != '\0')
		return;
	if (fs_grows)
		note_over(w, &w->parts, w->on.part.sectors);
	note_over(w, &w->disks, taken);
}

static void
decide(struct work *w)
{
	const struct partition *p = &w->on.part;
	const char *owner = p->number != 0 ? ptable_owner(p) : NULL;

	if (owner != NULL) /* says more than what is in it */
		snprintf(w->fs.left_alone, sizeof w->fs.left_alone, "it belongs to %s", owner);
	if (p->logical)
		leave_alone(w, "it is a logical partition, which cannot be grown");
	if (w->before_extended)
		leave_alone(w, "an extended partition lies behind it");
	if (w->is_suspended)
		leave_alone(w,
		    "a system is suspended %s, and goes on with the filesystems as they "
		    "are",
		    w->suspended);
	heed_claims(w);
	if (w->fs.left_alone[0] == '\0')
		return;
	w->part_is_bytes = w->part_was_bytes;
	w->fs.is_bytes = w->fs.was_bytes;
	w->fit.done = (struct ptable_change){ .moved = false };
}

/* Look at the disk, and at what is in its last partition. */
static int
look(struct work *w, struct err *e)
{
	struct disk *d;
	struct err closing;

	if (disk_open(&d, w->on.disk, DISK_READ, e) != 0)
		return -1;
	int rc = look_at_table(d, w, e);
	if (rc == 0)
		rc = check_whole(d, w, e);
	if (rc == 0)
		rc = look_at_filesystem(d, w, e);
	disk_close(d, &closing); /* only read: nothing to lose */
	if (rc != 0 || forecast(w, e) != 0)
		return -1;
	decide(w);
	return 0;
}

/* The filesystem could not follow its partition, as *e says: put the table back, unless
 * the filesystem needs the longer partition already. */
static void
put_table_back(struct work *w, struct err *e)
{
	struct resize fs;
	struct err why;
	size_t said = strlen(e->text);
	char *text = e->text + said;
	size_t cap = sizeof e->text - said;

	if (w->fit.n == 0)
		return;
	if (device_with(&w->on, resize_look, &fs, &why) != 0 ||
	    fs.was_bytes > w->part_was_bytes)
		snprintf(text, cap, "; the partition stays as long as it has become");
	else if (fitting_undo(&w->fit, w->on.disk, &why) != 0)
		snprintf(text, cap, "; the partition table could not be put back: %s",
		    why.text);
	else
		snprintf(text, cap, "; the partition table is what it was before");
}

/* Let the partition reach to the end of the disk, and the filesystem to the end of the
 * partition. */
static int
grow_both(struct work *w, struct err *e)
{
	struct device *on = &w->on;

	if (on->part.number != 0 &&
	    fitting_do(&w->fit, on->disk, w->sector_bytes, false, e) != 0)
		return -1;
	if (w->fit.done.grown != 0)
		on->part.sectors.len = w->fit.done.is_sectors;
	if (device_with(on, resize_grow, &w->fs, e) == 0)
		return 0;
	put_table_back(w, e);
	return -1;
}

static int
report_json(const struct opts *o, const struct work *w, struct err *e)
{
	struct json *j = json_new();
	struct err alone;

	json_object(j, NULL);
	json_string(j, "disk", w->on.disk);
	json_bool(j, "dry_run", o->look_only);
	json_uint(j, "partition", w->on.part.number);
	json_uint(j, "partition_was_bytes", w->part_was_bytes);
	json_uint(j, "partition_is_bytes", w->part_is_bytes);
	json_bool(j, "table_changed", w->fit.done.moved || w->fit.done.grown != 0);
	json_string(j, "filesystem", w->fs.type);
	json_uint(j, "filesystem_was_bytes", w->fs.was_bytes);
	json_uint(j, "filesystem_is_bytes", w->fs.is_bytes);
	if (!o->look_only)
		json_bool(j, "to_be_checked", w->fs.to_be_checked);
	json_string(j, "grown_over", w->over);
	json_string(j, "left_alone", w->fs.left_alone);
	if (w->fs.left_alone[0] != '\0') {
		err_set(&alone, ERR_UNSUPPORTED, "%s: left alone: %s", w->on.disk,
		    w->fs.left_alone);
		failure_put_err(j, &alone, EXIT_LEFT_ALONE);
	}
	json_end(j);
	return json_show(j, e);
}

static void
report_growth(const struct opts *o, const struct work *w, const char *where)
{
	char was[32], is[32], part_was[32], part_is[32];

	human_bytes(w->fs.was_bytes, was, sizeof was);
	human_bytes(w->fs.is_bytes, is, sizeof is);
	human_bytes(w->part_was_bytes, part_was, sizeof part_was);
	human_bytes(w->part_is_bytes, part_is, sizeof part_is);
	if (w->fs.is_bytes == w->fs.was_bytes)
		say(stdout, "%s: %s%s of %s fills its partition already\n", w->on.disk,
		    where, w->fs.type, was);
	else if (o->look_only)
		say(stdout,
		    "%s: %s%s of %s in a partition of %s can be grown to %s in one of "
		    "%s\n",
		    w->on.disk, where, w->fs.type, was, part_was, is, part_is);
	else
		say(stdout, "%s: %s%s grew from %s to %s%s\n", w->on.disk, where,
		    w->fs.type, was, is,
		    w->fs.to_be_checked ? ", and is left to be checked" : "");
}

static void
report_text(const struct opts *o, const struct work *w)
{
	char where[40] = "";

	if (w->on.part.number != 0)
		snprintf(where, sizeof where, "partition %u: ", w->on.part.number);
	if (w->fs.left_alone[0] != '\0')
		say(stdout, "%s: %sleft alone: %s\n", w->on.disk, where,
		    w->fs.left_alone);
	else
		report_growth(o, w, where);
	if (w->fit.done.moved)
		say(stdout, "%s: the backup of its GPT %s to the end of the disk\n",
		    w->on.disk, o->look_only ? "would be moved" : "was moved");
}

/* Unknown data may be what the disk had before an image was installed, so it is grown
 * over, but not without a word. */
static void
warn_over(const struct opts *o, const struct work *w)
{
	if (w->over[0] != '\0')
		say(stderr, "growfs: warning: %s: %s %s grown over\n", w->on.disk,
		    w->over,
		    o->look_only ? "would be" : "is");
}

static int
grow(const struct opts *o, struct work *w, struct err *e)
{
	if (look(w, e) != 0)
		return -1;
	bool alone = w->fs.left_alone[0] != '\0';
	warn_over(o, w);
	if (!o->look_only && !alone) {
		/* A tool that is ended in the middle leaves a damaged filesystem. */
		cancel_work_for(NULL);
		if (grow_both(w, e) != 0)
			return -1;
	}
	if (o->json && report_json(o, w, e) != 0)
		return -1;
	if (!o->json && (!o->quiet || alone))
		report_text(o, w);
	return alone ? EXIT_LEFT_ALONE : 0;
}

/* The tools, and what is opened here, share the lock. */
static int
grow_held(const struct opts *o, struct work *w, struct err *e)
{
	const struct hold_wish wish = { .path = w->on.disk, .no_look = true };
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
	struct work w = { .on.disk = operands[0] };

	if (n != 1)
		return err_misuse(e, "one disk is needed");
	int rc = grow_held(opts, &w, e);
	fitting_free(&w.fit);
	return rc;
}

int
main(int argc, char **argv)
{
	struct opts o = { 0 };

	return cli_main(&prog, argc, argv, &o, run);
}
