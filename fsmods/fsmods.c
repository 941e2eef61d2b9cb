/* fsmods.c: finds the module that recognises a partition, and runs its scan. imagezip's
 * layout calls this for each partition, in the first thread of imagezip or in a thread of
 * dsync; modules of containers call it, in the same thread, for the partitions and volumes
 * inside. sectorsize.c only probes. */
#include "fsmods/fsmod.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/ptable.h"
#include "fsmods/foreign.h"
#include "fsmods/relay.h"
#include "fsmods/sink.h"

/* In the order in which modules are tried: the first one that recognises a partition is
 * used. */
static const struct fsmod *const modules[] = {
	&fsmod_luks,
	&fsmod_lvm2,
	&fsmod_ntfs,
	&fsmod_exfat,
	&fsmod_fat,
	&fsmod_xfs,
	&fsmod_f2fs,
	&fsmod_ext,
	&fsmod_swap,
	/* newfs leaves the sector of a BSD label alone, and newfs for UFS1 also the place
	 * of the superblock of btrfs; mkfs.btrfs clears the places of all of them. */
	&fsmod_bsdlabel,
	&fsmod_ffs,
	&fsmod_btrfs,
};

enum { NMODULES = sizeof modules / sizeof modules[0] };

typedef int scan_fn(const struct fsmod *, struct disk *, struct range,
    struct skip_sink *, struct err *);

static bool
fits(const struct fsmod *mod, enum fs_place place)
{
	return !mod->container || place != FS_IN_CONTAINER;
}

/* The first module, other than `mod`, that recognises the partition. */
static const struct fsmod *
first_but(const struct fsmod *mod, struct disk *d, struct range part, enum fs_place place)
{
	struct err ignored; /* what cannot be probed is stored completely */

	for (size_t i = 0; i < NMODULES; i++)
		if (modules[i] != mod && fits(modules[i], place) &&
		    modules[i]->probe(d, part, &ignored) == 1)
			return modules[i];
	return NULL;
}

const struct fsmod *
fsmods_probe(struct disk *d, struct range part, enum fs_place place)
{
	return first_but(NULL, d, part, place);
}

static bool
has_table(struct disk *d, struct range part)
{
	uint8_t sector0[SECTOR_BYTES];
	struct err ignored;

	return part.len > 0 &&
	       disk_read(d, sector0, sizeof sector0, part.off * SECTOR_BYTES,
		   &ignored) == 0 &&
	       ptable_begins(sector0, part.len);
}

/* What else is recognised in the partition, or NULL. If there is such a rival, either it
 * or `mod` has recognised what a former use left, and which of them is not known.
 * Containers check for leftovers in their own scan(). */
static const char *
rival(const struct fsmod *mod, struct disk *d, struct range part, enum fs_place place)
{
	if (mod == NULL)
		return NULL;
	const struct fsmod *other = mod->container ? NULL : first_but(mod, d, part, place);
	const char *found = other != NULL ? other->title : foreign_find(d, part);
	if (found == NULL && place == FS_IN_TABLE && !mod->container && has_table(d, part))
		found = "a partition table";
	return found;
}

/* Scan the partition; with a rival (`other` is not NULL) keep all of it and warn. */
static int
scan_beside(const struct fsmod *mod, const char *other, struct disk *d,
    struct range part, struct fs_scan *f, struct err *e)
{
	if (other == NULL)
		return fsmods_scan_as(mod, d, part, f, e);
	fsmods_scan_as(NULL, d, part, f, e);
	f->mod = mod;
	f->failed = true;
	snprintf(f->warning, sizeof f->warning,
	    "stored completely: it looks like two things at once, %s and %s", mod->title, other);
	return 0;
}

int
fsmods_scan(struct disk *d, struct range part, enum fs_place place, struct fs_scan *f,
    struct err *e)
{
	const struct fsmod *mod = fsmods_probe(d, part, place);

	return scan_beside(mod, rival(mod, d, part, place), d, part, f, e);
}

/* Run scan(), which is scan_here() or relay_scan(), and keep everything if it fails. */
static int
scan_with(scan_fn *scan, const struct fsmod *mod, struct disk *d, struct range part,
    struct fs_scan *f, struct err *e)
{
	struct skip_sink sink = { .scan = f, .part_sectors = part.len };

	memset(f, 0, sizeof *f);
	rangeset_init(&f->skip);
	rangeset_init(&f->zero);
	rangeset_init(&f->hot);
	f->fs_end = part.len;
	f->mod = mod;
	if (mod == NULL)
		return 0;
	int rc = scan(mod, d, part, &sink, e);
	rangeset_seal(&f->zero);
	rangeset_seal(&f->hot);
	if (rc == 0 && rangeset_minus(&f->skip, &f->zero, e) == 0)
		return 0;
	fs_scan_free(f);
	if (e->kind == ERR_NOMEM || e->kind == ERR_CANCELLED)
		return -1;
	f->fs_end = part.len;
	f->failed = true;
	snprintf(f->warning, sizeof f->warning, "stored completely: %.490s", e->text);
	return 0;
}

static int
scan_here(const struct fsmod *mod, struct disk *d, struct range part,
    struct skip_sink *sink, struct err *e)
{
	return mod->scan(d, part, sink, e);
}

int
fsmods_scan_as(const struct fsmod *mod, struct disk *d, struct range part,
    struct fs_scan *f, struct err *e)
{
	bool apart = mod != NULL && mod->confined;

	return scan_with(apart ? relay_scan : scan_here, mod, d, part, f, e);
}

int
fsmods_scan_here(const struct fsmod *mod, struct disk *d, struct range part,
    struct fs_scan *f, struct err *e)
{
	return scan_with(scan_here, mod, d, part, f, e);
}

void
fs_scan_free(struct fs_scan *f)
{
	rangeset_free(&f->skip);
	rangeset_free(&f->zero);
	rangeset_free(&f->hot);
	free(f->zones);
	f->zones = NULL;
	f->nzones = f->zones_cap = 0;
}

const struct fsmod *
fsmods_for_mbr_type(unsigned mbr_type)
{
	switch (mbr_type) {
	case 0x01:
	case 0x04:
	case 0x06:
	case 0x0b:
	case 0x0c:
	case 0x0e:
	case 0xef:
		return &fsmod_fat;
	case 0x07:
		return &fsmod_ntfs;
	case 0x82:
		return &fsmod_swap;
	case 0x83:
		return &fsmod_ext;
	case 0x8e:
		return &fsmod_lvm2;
	case 0xa5:
	case 0xa6:
	case 0xa9:
		return &fsmod_bsdlabel;
	}
	return NULL;
}
