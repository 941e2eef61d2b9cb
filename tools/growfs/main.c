/* main.c: growfs lets the last partition of a disk, and the filesystem in it, reach to the end
 * of the disk.  An administrator runs it after a load, and so does netboot/init.  The program
 * has one thread, beside those that read what tools print. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/args.h"
#include "common/base/cancel.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/cli.h"
#include "common/cli/cli_rows.h"
#include "common/cli/failure.h"
#include "common/disk/inuse.h"
#include "common/disk/ptable.h"
#include "common/resize/resize.h"

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
	const char *disk;
	struct stat st; /* of the disk */
	struct partition part; /* number 0: the disk has no table, but a filesystem */
	bool before_extended;  /* an extended partition without logical ones lies behind it */
	uint64_t part_was_bytes, part_is_bytes;
	char loop[INUSE_NAME_CAP]; /* the loop device; "": none is attached */
	struct resize fs;
};

/* Is there a boot record of logical partitions behind this partition?  An extended partition begins
 * with one, also when it has no logical partition. */
static bool
has_boot_record_behind(const struct ptable *t, const struct partition *p)
{
	size_t n = rangeset_count(&t->own);

	return n > 0 && rangeset_get(&t->own, n - 1).off > p->sectors.off;
}

/* Find the last partition, as it lies on the disk. */
static int
find_last(struct disk *d, struct work *w, unsigned *table_sector_bytes, struct err *e)
{
	struct ptable t;

	if (ptable_read(&t, d, e) != 0)
		return -1;
	*table_sector_bytes = t.sector_bytes;
	w->part = (struct partition){ .number = 0,
		.sectors = { 0, disk_size_bytes(d) / SECTOR_BYTES } };
	const struct partition *last = ptable_last(&t);
	if (last != NULL)
		w->part = *last;
	w->before_extended = t.kind == PTABLE_MBR && has_boot_record_behind(&t, &w->part);
	bool empty = t.kind == PTABLE_GPT && t.nparts == 0;
	ptable_free(&t);
	return empty ? err_set(e, ERR_UNSUPPORTED, "%s: its table has no partition", w->disk)
	             : 0;
}

/* The kernel's own device of the partition, in name; false: it has none. */
static bool
kernel_partition(const struct work *w, char *name, size_t cap)
{
	char names[8][INUSE_NAME_CAP];
	unsigned n = inuse_partitions("", &w->st, w->part.sectors, names, 8);

	for (unsigned i = 0; i < n; i++) {
		struct disk *d;
		struct err e;
		if (disk_open(&d, names[i], DISK_READ, &e) != 0)
			continue;
		bool same = disk_size_bytes(d) == w->part.sectors.len * SECTOR_BYTES;
		disk_close(d, &e);
		if (same) {
			snprintf(name, cap, "%.255s", names[i]);
			return true;
		}
	}
	return false;
}

static void
note_loop(void *arg, const char *line)
{
	struct work *w = arg;

	snprintf(w->loop, sizeof w->loop, "%.200s", line);
}

static int
detach_loop(struct work *w, struct err *e)
{
	struct args a = { 0 };

	if (w->loop[0] == '\0')
		return 0;
	args_add(&a, "losetup");
	args_add(&a, "-d");
	args_add(&a, w->loop);
	return args_run(&a, e);
}

static int
attach_loop(struct work *w, struct err *e)
{
	struct args a = { 0 };
	struct err ignored;

	args_add(&a, "losetup");
	args_add(&a, "--show");
	args_add(&a, "-f");
	args_addf(&a, "--offset=%llu", (unsigned long long)w->part.sectors.off * SECTOR_BYTES);
	args_addf(
	    &a, "--sizelimit=%llu", (unsigned long long)w->part.sectors.len * SECTOR_BYTES);
	args_add(&a, w->disk);
	if (args_run_telling(&a, note_loop, w, e) == 0 && w->loop[0] == '/')
		return 0;
	/* A signal may end this program's work when losetup has attached a device already. */
	if (w->loop[0] == '/')
		detach_loop(w, &ignored);
	w->loop[0] = '\0';
	return err_ctx(e, "%s: a device for partition %u", w->disk, w->part.number);
}

/* Call act() with a device or file that has the partition and nothing else. */
static int
with_partition(struct work *w, int (*act)(const char *, struct resize *, struct err *),
    struct err *e)
{
	char name[INUSE_NAME_CAP];
	struct err detaching;

	if (w->part.number == 0)
		return act(w->disk, &w->fs, e);
	if (kernel_partition(w, name, sizeof name))
		return act(name, &w->fs, e);
	if (attach_loop(w, e) != 0)
		return -1;
	int rc = act(w->loop, &w->fs, e);
	if (detach_loop(w, &detaching) != 0 && rc == 0) {
		*e = detaching;
		rc = -1;
	}
	w->loop[0] = '\0';
	return rc;
}

/* Let the partition reach to the end of the disk.  With look_only, nothing is written. */
static int
grow_partition(struct work *w, unsigned table_sector_bytes, struct err *e)
{
	struct ptable_change done;
	struct disk *d;
	struct err closing;

	if (w->part.number == 0)
		return 0;
	if (disk_open(&d, w->disk, DISK_READ | DISK_WRITE, e) != 0)
		return -1;
	int rc = ptable_fit(d, table_sector_bytes, true, &done, e);
	if (rc == 0 && (done.moved || done.grown != 0))
		rc = disk_sync(d, e) == 0 ? disk_reread_partitions(d, e) : -1;
	if (disk_close(d, rc == 0 ? e : &closing) != 0)
		rc = -1;
	if (rc == 0 && done.grown != 0) {
		w->part.sectors.len = done.is_sectors;
		w->part_is_bytes = done.is_sectors * SECTOR_BYTES;
	}
	return rc;
}

/* Look at the disk, and at what is in its last partition. */
static int
look(struct work *w, unsigned *table_sector_bytes, struct err *e)
{
	struct disk *d;
	struct err closing;

	if (disk_open(&d, w->disk, DISK_READ, e) != 0)
		return -1;
	int rc = fstat(disk_fd(d), &w->st) == 0 ? find_last(d, w, table_sector_bytes, e)
	                                        : err_os(e, "%s", w->disk);
	disk_close(d, &closing); /* only read: nothing to lose */
	if (rc == 0 && inuse_check_area("", w->disk, &w->st, w->part.sectors, e) != 0)
		return -1;
	w->part_was_bytes = w->part_is_bytes = w->part.sectors.len * SECTOR_BYTES;
	if (rc != 0 || with_partition(w, resize_look, e) != 0)
		return -1;
	if (w->part.number != 0 && ptable_owner(&w->part) != NULL)
		snprintf(w->fs.left_alone, sizeof w->fs.left_alone, "it belongs to %s",
		    ptable_owner(&w->part));
	if (w->part.logical && w->fs.left_alone[0] == '\0')
		snprintf(w->fs.left_alone, sizeof w->fs.left_alone,
		    "it is a logical partition, which cannot be grown");
	if (w->before_extended && w->fs.left_alone[0] == '\0')
		snprintf(w->fs.left_alone, sizeof w->fs.left_alone,
		    "an extended partition lies behind it");
	return 0;
}

static int
report_json(const struct work *w, struct err *e)
{
	struct json *j = json_new();
	struct err alone;

	if (j == NULL)
		return err_nomem(e, "the report");
	json_object(j, NULL);
	json_string(j, "disk", w->disk);
	json_uint(j, "partition", w->part.number);
	json_uint(j, "partition_was_bytes", w->part_was_bytes);
	json_uint(j, "partition_is_bytes", w->part_is_bytes);
	json_string(j, "filesystem", w->fs.type);
	json_uint(j, "filesystem_was_bytes", w->fs.was_bytes);
	json_uint(j, "filesystem_is_bytes", w->fs.is_bytes);
	json_string(j, "left_alone", w->fs.left_alone);
	if (w->fs.left_alone[0] != '\0') {
		err_set(&alone, ERR_UNSUPPORTED, "%s: left alone: %s", w->disk, w->fs.left_alone);
		failure_put_err(j, &alone, EXIT_LEFT_ALONE);
	}
	json_end(j);
	return json_show(j, e);
}

static void
report_text(const struct opts *o, const struct work *w)
{
	char where[40] = "", was[32], is[32], part[32];

	if (w->part.number != 0)
		snprintf(where, sizeof where, "partition %u: ", w->part.number);
	human_bytes(w->fs.was_bytes, was, sizeof was);
	human_bytes(w->fs.is_bytes, is, sizeof is);
	human_bytes(w->part_is_bytes, part, sizeof part);
	if (w->fs.left_alone[0] != '\0')
		say(stdout, "%s: %sleft alone: %s\n", w->disk, where, w->fs.left_alone);
	else if (o->look_only)
		say(stdout, "%s: %s%s of %s in a partition of %s can be grown\n", w->disk,
		    where, w->fs.type, was, part);
	else if (w->fs.is_bytes == w->fs.was_bytes)
		say(stdout, "%s: %s%s of %s fills its partition already\n", w->disk, where,
		    w->fs.type, was);
	else
		say(stdout, "%s: %s%s grew from %s to %s\n", w->disk, where, w->fs.type, was,
		    is);
}

static int
grow(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;
	struct work w = { .disk = operands[0] };
	unsigned table_sector_bytes;

	if (n != 1)
		return err_misuse(e, "one disk is needed");
	if (look(&w, &table_sector_bytes, e) != 0)
		return -1;
	bool alone = w.fs.left_alone[0] != '\0';
	if (!o->look_only && !alone) {
		/* A tool that is ended in the middle leaves a damaged filesystem. */
		cancel_work_for(NULL);
		if (grow_partition(&w, table_sector_bytes, e) != 0 ||
		    with_partition(&w, resize_grow, e) != 0)
			return -1;
	}
	if (o->json && report_json(&w, e) != 0)
		return -1;
	if (!o->json && (!o->quiet || alone))
		report_text(o, &w);
	return alone ? EXIT_LEFT_ALONE : 0;
}

int
main(int argc, char **argv)
{
	struct opts o = { 0 };

	return cli_main(&prog, argc, argv, &o, grow);
}
