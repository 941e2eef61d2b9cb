/* bsdparts.c: leaves partitions inside a BSD slice out, or keeps them raw (-I, -R).
 * layout.c and layout_part.c call this in imagezip's first thread. The label was read
 * when the slice was scanned; it is read again here, because a scan says only which
 * sectors are free. */
#include "common/layout/bsdparts.h"

#include <string.h>

#include "common/disk/bsdlabel.h"

static const struct bsdlabel_part *
find(const struct bsdlabel *l, char letter)
{
	for (unsigned i = 0; i < l->nparts; i++)
		if (l->parts[i].letter == letter)
			return &l->parts[i];
	return NULL;
}

/* Collect the sectors of all partitions in the mask, without the boot area, which belongs
 * to the slice. */
static int
collect(const struct bsdlabel *l, const char *option, unsigned number, uint32_t letters,
    struct rangeset *set, struct err *e)
{
	for (unsigned i = 0; letters >> i != 0; i++) {
		if ((letters >> i & 1) == 0)
			continue;
		const struct bsdlabel_part *p = find(l, (char)('a' + i));
		if (p == NULL)
			return err_set(e, ERR_ABSENT,
			    "%s %u%c: its disklabel has no such partition", option,
			    number, 'a' + (int)i);
		struct range r = range_clip(
		    p->sectors, BSDLABEL_BOOT_SECTORS, UINT64_MAX);
		if (r.len != 0 && rangeset_add(set, r, e) != 0)
			return -1;
	}
	return 0;
}

static int
change(struct fs_scan *fs, struct rangeset *raw, struct rangeset *ignored,
    const struct bsdlabel *l, unsigned number, const struct capture_what *o, struct err *e)
{
	int rc = collect(l, "-R", number, part_letters(&o->force_raw, number), raw, e);
	if (rc == 0)
		rc = collect(l, "-I", number, part_letters(&o->ignore, number), ignored, e);
	rangeset_seal(raw);
	rangeset_seal(ignored);
	if (rc == 0)
		rc = rangeset_minus(&fs->skip, raw, e);
	if (rc == 0)
		rc = rangeset_union(&fs->skip, ignored, e);
	return rc;
}

/* All partitions that are named inside of slice `number`: bit 0: a. */
static uint32_t
named(const struct capture_what *o, unsigned number)
{
	return part_letters(&o->ignore, number) | part_letters(&o->force_raw, number);
}

/* The first partition that is named inside of slice `number`. */
static char
first_letter(const struct capture_what *o, unsigned number)
{
	uint32_t all = named(o, number);
	unsigned i = 0;

	while ((all >> i & 1) == 0)
		i++;
	return (char)('a' + i);
}

int
bsdparts_apply(struct fs_scan *fs, struct rangeset *raw, struct rangeset *ignored,
    struct disk *d, struct range slice, unsigned number, const struct capture_what *o,
    struct err *e)
{
	struct bsdlabel l;

	if (named(o, number) == 0)
		return 0;
	if (fs->mod == NULL || !fs->mod->container)
		return err_set(e, ERR_ABSENT,
		    "%u%c: partition %u of %s has no disklabel", number,
		    first_letter(o, number), number, disk_name(d));
	if (fs->failed)
		return err_set(e, ERR_REFUSED,
		    "%u%c: the disklabel in partition %u of %s is in doubt: %.300s",
		    number, first_letter(o, number), number, disk_name(d), fs->warning);
	if (bsdlabel_read(&l, d, slice, e) != 0)
		return err_ctx(e, "%s: partition %u", disk_name(d), number);
	return change(fs, raw, ignored, &l, number, o, e);
}

static bool
looked_into(const struct layout *l, unsigned number)
{
	for (unsigned i = 0; i < l->nparts; i++)
		if (l->parts[i].number == number)
			return strcmp(l->parts[i].fs, "bsdlabel") == 0;
	return false;
}

int
bsdparts_check_used(const struct layout *l, const struct capture_what *o, struct err *e)
{
	for (unsigned n = 1; n <= PTABLE_PARTS_MAX; n++)
		if (named(o, n) != 0 && !looked_into(l, n))
			return err_set(e, ERR_USAGE,
			    "%u%c: partition %u of %s is not looked into", n,
			    first_letter(o, n), n, o->source);
	return 0;
}
