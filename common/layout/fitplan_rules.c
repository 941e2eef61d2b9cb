/* fitplan_rules.c: which partitions of an image keep their length, which share what is left,
 * and which cannot be planned at all (fitplan.h).  The installation's feeding thread and
 * imageunzip's first one call this. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/ptype.h"
#include "common/layout/fitplan.h"

enum {
	MBR_NTFS = 0x07,
	MBR_WINDOWS_RE = 0x27,
	MBR_SWAP = 0x82,
	MBR_ESP = 0xef,
	/* /boot has no type of its own on most machines: a partition of Linux of no more
	 * than 2 GiB in front of one that has four times as much is taken for it. */
	BOOT_SECTORS = (2 << 20) * (1024 / SECTOR_BYTES),
	BOOT_PART = 4,
};

/* Partitions whose length is no matter of the disk's. */
static const struct {
	unsigned gpt; /* gdisk's code */
	uint8_t mbr;  /* 0: there is none */
	const char *why;
} fixed_types[] = {
	{ 0xef00, MBR_ESP, "an EFI system partition" },
	{ 0x0c01, 0, "reserved by Windows" },
	{ 0xef02, 0, "GRUB's BIOS boot partition" },
	{ 0x4100, 0x41, "PReP boot" },
	{ 0x2700, MBR_WINDOWS_RE, "Windows' recovery environment" },
	{ 0x8200, MBR_SWAP, "swap space" },
	{ 0xea00, 0, "/boot" },
};

/* Filesystems that a tool enlarges. */
static const char *const enlarged[] = { "ext2", "ext3", "ext4", "xfs", "btrfs", "ntfs",
	"lvm2" };

static const char *
fixed_by_type(const struct partition *p, bool mbr)
{
	const struct ptype_gpt *type = mbr ? NULL : ptype_gpt_by_guid(p->type_guid);

	for (size_t i = 0; i < sizeof fixed_types / sizeof fixed_types[0]; i++)
		if (mbr ? fixed_types[i].mbr == p->mbr_type && p->mbr_type != 0
		        : type != NULL && type->code == fixed_types[i].gpt)
			return fixed_types[i].why;
	return ptable_owner(p) != NULL ? "its type has an owner that no tool serves" : NULL;
}

static const char *
fixed_by_fs(const char *fs)
{
	if (strcmp(fs, "swap") == 0)
		return "swap space";
	if (fs[0] == '\0')
		return "its filesystem is not known";
	for (size_t i = 0; i < sizeof enlarged / sizeof enlarged[0]; i++)
		if (strcmp(fs, enlarged[i]) == 0)
			return NULL;
	return "no tool enlarges its filesystem";
}

static bool
is_linux(const char *fs)
{
	return strncmp(fs, "ext", 3) == 0 || strcmp(fs, "xfs") == 0 ||
	       strcmp(fs, "btrfs") == 0;
}

/* Is it taken for /boot? */
static bool
is_boot(const struct fitplan *p, const struct fitplan_part *a)
{
	if (!is_linux(a->fs) || a->was.len > BOOT_SECTORS)
		return false;
	for (const struct fitplan_part *b = a + 1; b < p->parts + p->n; b++)
		if (b->shares && b->was.len / BOOT_PART >= a->was.len)
			return true;
	return false;
}

static void
fix(struct fitplan_part *a, const char *why)
{
	a->shares = false;
	a->why = why;
	a->least = a->was.len;
}

/* How many sectors it must keep. */
static uint64_t
least_of(const struct fitplan_source *s, const struct fitplan_part *a, uint64_t fs_sectors)
{
	uint64_t stored = s->stored != NULL ? s->stored(s->arg, a->was) : a->was.len;

	return fs_sectors > stored ? fs_sectors : stored;
}

static void
add(struct fitplan *p, const struct fitplan_source *s, const struct partition *at)
{
	const struct reach_part *r = reach_find(s->reach, at->number);
	struct fitplan_part *a = &p->parts[p->n++];

	*a = (struct fitplan_part){ .number = at->number,
		.was = at->sectors,
		.is = at->sectors,
		.logical = at->logical,
		.shares = true,
		.why = "gets a share of what is left" };
	if (r != NULL)
		memcpy(a->fs, r->fs, sizeof a->fs);
	a->least = least_of(s, a, r != NULL ? r->fs_sectors : 0);
	const char *why = fixed_by_type(at, p->mbr);
	if (why == NULL)
		why = fixed_by_fs(a->fs);
	if (why != NULL)
		fix(a, why);
	a->pinned = at->mbr_type == MBR_NTFS && strcmp(a->fs, "ntfs") == 0;
}

static int
by_place(const void *a, const void *b)
{
	const struct fitplan_part *x = a, *y = b;

	return (x->was.off > y->was.off) - (x->was.off < y->was.off);
}

/* What holds for a partition because of others. */
static void
settle(struct fitplan *p)
{
	bool pinned = false;

	for (unsigned i = p->n; i-- > 0;) {
		struct fitplan_part *a = &p->parts[i];
		if (a->shares && pinned)
			fix(a, "one of Windows behind it keeps its first sector");
		else if (a->shares && is_boot(p, a))
			fix(a, "taken for /boot");
		pinned |= a->pinned;
		a->least = (a->least + p->unit - 1) / p->unit * p->unit;
	}
}

static int
check_one(const struct fitplan_source *s, const struct partition *a, struct err *e)
{
	if (ptable_is_dynamic(a))
		return err_set(e, ERR_REFUSED,
		    "partition %u belongs to %s, whose volumes lie where its own table "
		    "says: it cannot be moved",
		    a->number, ptable_owner(a));
	if (a->empty || ptable_overlaps(s->table, a))
		return err_set(e, ERR_UNSUPPORTED,
		    "partition %u, of type 0 or around others, cannot be planned", a->number);
	return 0;
}

/* Logical partitions must lie in the order of their numbers, side by side. */
static int
check_logical(const struct fitplan *p, struct err *e)
{
	unsigned number = 0, n = 0;

	for (unsigned i = 0; i < p->n; i++) {
		const struct fitplan_part *a = &p->parts[i];
		n += a->logical && (i == 0 || !p->parts[i - 1].logical);
		if (a->logical && a->number < number)
			n = 2;
		number = a->logical ? a->number : number;
	}
	return n < 2 ? 0
	             : err_set(e, ERR_UNSUPPORTED,
			   "the logical partitions do not lie in the order of their "
			   "numbers, and cannot be planned");
}

static int
check_table(const struct fitplan_source *s, struct err *e)
{
	const struct ptable *t = s->table;

	if (t->kind == PTABLE_NONE || t->nparts == 0)
		return err_set(
		    e, ERR_UNSUPPORTED, "the image has no partitions that could be planned");
	for (unsigned i = 0; i < t->nparts; i++)
		if (check_one(s, &t->parts[i], e) != 0)
			return -1;
	return 0;
}

/* Find how far partitions may reach on the target. */
static void
find_room(struct fitplan *p, const struct ptable *t, unsigned lba_bytes)
{
	uint64_t lbas = p->sectors / p->unit, most = lbas;
	uint64_t copy = (t->array_bytes + lba_bytes - 1) / lba_bytes + 1;

	if (t->kind == PTABLE_GPT) {
		most = lbas > copy ? lbas - copy : 0;
		p->table_end = copy * p->unit;
	} else if (most > UINT32_MAX) {
		most = UINT32_MAX;
	}
	p->end = most * p->unit;
	p->sectors = lbas * p->unit;
}

int
fitplan_begin(struct fitplan *p, const struct fitplan_source *s, uint64_t sectors,
    unsigned sector_bytes, struct err *e)
{
	*p = (struct fitplan){ .from_sectors = s->sectors,
		.sectors = sectors,
		.unit = sector_bytes / SECTOR_BYTES,
		.mbr = s->table->kind == PTABLE_MBR };
	if (check_table(s, e) != 0)
		return -1;
	for (unsigned i = 0; i < s->table->nparts; i++)
		add(p, s, &s->table->parts[i]);
	qsort(p->parts, p->n, sizeof p->parts[0], by_place);
	find_room(p, s->table, sector_bytes);
	settle(p);
	return check_logical(p, e);
}
