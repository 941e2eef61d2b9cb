/* ptables.h: disks with partition tables that sfdisk and sgdisk made, for the tests of
 * partition tables, and functions that read them. */
#ifndef TESTS_UNIT_PTABLES_H
#define TESTS_UNIT_PTABLES_H

#include "common/disk/ptable.h"
#include "common/disk/ptype.h"
#include "tests/unit/memdisk.h"
#include "tests/unit/scratch.h"

enum { MBR_SECTORS = 20000, GPT_SECTORS = 20000 };

static struct err e;
static struct ptable t; /* the table that was read last */

static inline bool
have(const char *tool)
{
	if (sh("command -v %s", tool) == 0)
		return true;
	skip(tool, "is not installed");
	return false;
}

/* Reads the table of a disk, and closes the disk. */
static inline int
read_disk(struct disk *d)
{
	struct err close_err;

	ptable_free(&t);
	e = (struct err){ 0 };
	int rc = ptable_read(&t, d, &e);
	disk_close(d, &close_err);
	return rc;
}

static inline int
read_path(const char *path)
{
	struct disk *d;

	return disk_open(&d, path, DISK_READ, &e) == 0 ? read_disk(d) : -1;
}

static inline int
read_mem(struct mem *m)
{
	return read_disk(mem_disk(m, DISK_FILE, 512));
}

/* Is the result ERR_FORMAT, with these words in its error and an empty table? */
static inline bool
is_bad(int rc, const char *words)
{
	bool ok = rc == -1 && e.kind == ERR_FORMAT && strstr(e.text, words) != NULL &&
	          t.nparts == 0 && t.own.n == 0;

	if (!ok)
		printf("# rc %d kind %d: %s\n", rc, t.kind, e.text);
	return ok;
}

/* Reads a whole file into memory. */
static inline struct mem
load(const char *name)
{
	struct disk *d;
	struct mem m = { .bad = SIZE_MAX };

	if (disk_open(&d, in_scratch(name), DISK_READ, &e) != 0)
		return m;
	m.len = disk_size_bytes(d);
	m.b = malloc(m.len + 1);
	if (disk_read(d, m.b, m.len, 0, &e) != 0)
		exit(1);
	disk_close(d, &e);
	return m;
}

static inline bool
overlap(struct range a, struct range b)
{
	return a.off < b.off + b.len && b.off < a.off + a.len;
}

/* Does the table hold what ptable.h promises of every table? */
static inline bool
is_sound(uint64_t bytes)
{
	uint64_t sectors = bytes / 512;

	if (t.kind == PTABLE_NONE)
		return t.nparts == 0;
	for (unsigned i = 0; i < t.nparts; i++) {
		const struct partition *p = &t.parts[i];
		if (p->sectors.len == 0 || !range_within(p->sectors, sectors) ||
		    (i > 0 && p->number <= t.parts[i - 1].number) ||
		    ptable_find(&t, p->number) != p)
			return false;
		for (unsigned k = 0; k < i; k++)
			if (overlap(p->sectors, t.parts[k].sectors))
				return false;
		for (size_t k = 0; k < rangeset_count(&t.own); k++)
			if (overlap(p->sectors, rangeset_get(&t.own, k)))
				return false;
	}
	return range_within(t.usable, sectors) && rangeset_contains(&t.own, 0);
}

/* Calls ptable_set_type() for a partition of this disk, and returns its result. */
static inline int
try_type(const char *name, unsigned number, unsigned code)
{
	struct disk *d;

	if (disk_open(&d, in_scratch(name), DISK_READ | DISK_WRITE, &e) != 0)
		return -1;
	int rc = ptable_set_type(d, number, code, &e);
	struct err close_err;
	return disk_close(d, &close_err) == 0 ? rc : -1;
}

static inline bool
set_type(const char *name, unsigned number, unsigned code)
{
	return try_type(name, number, code) == 0;
}

/* Makes a disk with three primary partitions, of which the second is active, and three logical
 * ones. */
static inline bool
make_mbr(const char *name, char type)
{
	return sh("truncate -s %u %s && printf '"
		  "label: dos\\nunit: sectors\\n"
		  "start=63, size=1000, type=83\\nstart=2000, size=1000, type=7, "
		  "bootable\\n"
		  "start=3000, size=16000, type=%c\\nstart=19500, size=500, type=a5\\n"
		  "start=3100, size=1000, type=83\\nstart=5000, size=3000, type=82, "
		  "bootable\\n"
		  "start=9000, size=9999, type=b\\n' | sfdisk %s",
		   MBR_SECTORS * 512u, name, type, name) == 0;
}

/* Makes all disks with a GPT at the same time, because sgdisk sleeps for a second whenever it has
 * written.  The disk "all" has a partition of every known type. */
static inline bool
make_gpt(void)
{
	const struct ptype_gpt *p;
	char all[4096] = "";

	for (unsigned i = 0; (p = ptype_gpt_at(i)) != NULL; i++)
		sprintf(all + strlen(all), " -n %u:%u:%u -t %u:%04x", i + 1, 100 + i,
		    100 + i, i + 1, p->code);
	return sh("truncate -s %u gpt && truncate -s 3M big all && "
		  "(sgdisk -S 512 -n 300:2048:2050 big & sgdisk -a 1 %s all & "
		  "sgdisk -a 1 -n 1:34:99 -t 1:ef02 -n 2:100:5000 -t 2:8300 -c 2:root "
		  "-n 5:10000:19966 -t 5:8200 -n 100:9000:9000 -t 100:0700 "
		  "-c 100:'Gr\303\266\303\237e' gpt; wait)",
		   GPT_SECTORS * 512u, all) == 0;
}

#endif /* TESTS_UNIT_PTABLES_H */
