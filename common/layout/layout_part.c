/* layout_part.c: decides which sectors of one partition are stored: those that its
 * filesystem module does not call free, unless options say otherwise. layout.c calls this
 * in imagezip's first thread. */
#include "common/layout/layout_impl.h"

#include <stdio.h>
#include <string.h>

#include "common/behind/behind.h"
#include "common/layout/bootimage.h"
#include "common/layout/bsdparts.h"
#include "fsmods/fsmod.h"
#include "fsmods/recognise.h"

/* Find free inodes (-M). Where they cannot be told from others, all inodes are stored as
 * they are. */
static int
find_blanks(struct layout *l, struct disk *d, const struct layout_part *p,
    struct fs_scan *fs, const struct rangeset *raw, struct err *e)
{
	size_t before = l->blanks.n, said = strlen(fs->warning);

	if (blanks_find(&l->blanks, fs->mod, d, p->sectors, p->sectors.off - l->base,
		raw, e) == 0)
		return 0;
	l->blanks.n = before;
	if (e->kind == ERR_NOMEM)
		return -1;
	snprintf(fs->warning + said, sizeof fs->warning - said,
	    "%sits free inodes are stored unchanged: %.200s", said > 0 ? "; " : "",
	    e->text);
	return 0;
}

/* Change the result of a scan as the options say. */
static int
adjust_scan(struct layout *l, struct disk *d, const struct capture_what *o,
    const struct layout_part *p, struct fs_scan *fs, struct err *e)
{
	struct rangeset raw, ignored;

	rangeset_init(&raw);
	rangeset_init(&ignored);
	int rc = bsdparts_apply(fs, &raw, &ignored, d, p->sectors, p->number, o, e);
	if (rc == 0)
		rc = rangeset_add_shifted(
		    &l->left_out, &ignored, p->sectors.off - l->base, e);
	if (rc == 0 && o->blank_inodes && !fs->failed)
		rc = find_blanks(l, d, p, fs, &raw, e);
	rangeset_free(&raw);
	rangeset_free(&ignored);
	return rc;
}

/* Say that unknown data behind the filesystem is left out. */
static void
warn_slack(struct layout_part *p, const struct behind *b)
{
	size_t said = strlen(p->warning);
	char what[100];

	snprintf(p->warning + said, sizeof p->warning - said,
	    "%s%s behind its filesystem is left out (-x)", said > 0 ? "; " : "",
	    behind_unknown_text(b, what, sizeof what));
}

/* Leave out what lies behind a filesystem that ends at sector fs_end of its partition
 * (-x). What has an owner, such as the superblock of a mirror, belongs to the partition
 * and is kept. */
static int
leave_slack(struct layout *l, struct disk *d, struct layout_part *p, uint64_t fs_end,
    struct rangeset *skip, struct err *e)
{
	uint64_t from = p->sectors.off + fs_end, end = range_end(p->sectors);
	struct behind b;

	if (behind_find(&b, d, p->sectors, fs_end, NULL, e) != 0)
		return -1;
	if (behind_owned_from(&b) < end)
		end = behind_owned_from(&b);
	b.unknown = range_clip(b.unknown, from, end);
	if (b.unknown.len > 0)
		warn_slack(p, &b);
	return rangeset_add(skip, (struct range){ from - l->base, end - from }, e);
}

/* Scan one partition into *skip, which is relative to the image. */
int
layout_scan_part(struct layout *l, struct disk *d, const struct capture_what *o,
    struct layout_part *p, struct rangeset *skip, struct err *e)
{
	struct fs_scan fs;
	uint64_t at = p->sectors.off - l->base;
	enum fs_place place = p->number != 0 ? FS_IN_TABLE : FS_ALONE;

	if (fsmods_scan(d, p->sectors, place, &fs, e) != 0)
		return -1;
	snprintf(p->fs, sizeof p->fs, "%s", fs.mod != NULL ? fs.mod->name : "raw");
	if (fs.mod != NULL && !fs.failed && !fs.mod->container)
		p->fs_sectors = fs.fs_end;
	int rc = adjust_scan(l, d, o, p, &fs, e);
	snprintf(p->warning, sizeof p->warning, "%s", fs.warning);
	snprintf(p->confinement, sizeof p->confinement, "%s", fs.confinement);
	if (fs.mod == NULL)
		snprintf(p->warning, sizeof p->warning,
		    "%s: every sector is stored", recognise_content(d, p->sectors).text);
	if (rc == 0)
		rc = rangeset_add_shifted(skip, &fs.skip, at, e);
	if (rc == 0)
		rc = rangeset_add_shifted(&l->zero, &fs.zero, at, e);
	if (rc == 0)
		rc = rangeset_add_shifted(&l->hot, &fs.hot, at, e);
	for (size_t i = 0; i < fs.nzones && rc == 0; i++) {
		struct range r = fs.zones[i];
		rc = cut_zones_add(&l->zones, (struct range){ at + r.off, r.len }, e);
	}
	if (rc == 0 && o->exclude_slack && fs.fs_end < p->sectors.len)
		rc = leave_slack(l, d, p, fs.fs_end, skip, e);
	fs_scan_free(&fs);
	return rc;
}

struct layout_part *
layout_add_part(struct layout *l, unsigned number, struct range sectors)
{
	struct layout_part *p = &l->parts[l->nparts++];

	*p = (struct layout_part){ .number = number, .sectors = sectors };
	return p;
}

/* Leave a partition out, but neither the table nor another partition that shares
 * sectors with it. */
static int
leave_out(struct layout *l, const struct ptable *t, const struct partition *p,
    struct rangeset *skip, struct err *e)
{
	struct rangeset mine, others;

	rangeset_init(&mine);
	rangeset_init(&others);
	int rc = rangeset_add(&mine, p->sectors, e);
	for (unsigned i = 0; rc == 0 && p->empty && i < t->nparts; i++)
		if (t->parts[i].number != p->number)
			rc = rangeset_add(&others, t->parts[i].sectors, e);
	rangeset_seal(&mine);
	rangeset_seal(&others);
	if (rc == 0 && p->empty)
		rc = rangeset_union(&others, &t->own, e);
	if (rc == 0)
		rc = rangeset_minus(&mine, &others, e);
	rangeset_free(&others);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&mine); i++) {
		struct range r = rangeset_get(&mine, i);
		r.off -= l->base;
		rc = rangeset_add(skip, r, e);
		if (rc == 0)
			rc = rangeset_add(&l->left_out, r, e);
	}
	rangeset_free(&mine);
	return rc;
}

/* Is every sector stored, because of the option, the type or the place of the
 * partition? */
static bool
keeps_all(struct layout_part *lp, const struct capture_what *o, const struct ptable *t,
    const struct partition *p)
{
	const char *owner = ptable_owner(p);

	if (part_chosen(&o->force_raw, p->number))
		return true;
	if (p->empty && ptable_overlaps(t, p)) {
		snprintf(lp->warning, sizeof lp->warning,
		    "its type is 0, and it shares sectors with another partition or with "
		    "the partition table: every sector is stored");
		return true;
	}
	if (owner == NULL)
		return false;
	snprintf(lp->warning, sizeof lp->warning,
	    "it belongs to %s, whose data is not looked into: every sector is stored",
	    owner);
	return true;
}

/* Is it known what the partition is for? */
static bool
is_known(struct disk *d, const struct partition *p)
{
	return bootimage_has(p, 0) || fsmods_probe(d, p->sectors, FS_IN_TABLE) != NULL ||
	       recognise_content(d, p->sectors).known;
}

/* Lay out a partition whose contents may be unknown.  Of a disk, one of type 0 is then
 * left out like a gap, as Emulab's imagezip does it. */
static int
lay_out_known(struct layout *l, struct disk *d, const struct capture_what *o,
    const struct ptable *t, const struct partition *p, struct layout_part *lp,
    struct rangeset *skip, struct err *e)
{
	bool vacant = p->empty && !o->store_outside && o->slice == 0;

	if ((!vacant && !o->skip_unknown) || is_known(d, p))
		return layout_scan_part(l, d, o, lp, skip, e);
	strcpy(lp->fs, "ignored");
	lp->vacant = vacant;
	snprintf(lp->warning, sizeof lp->warning,
	    "%sno known filesystem: it is left out%s (-R %u stores it)",
	    vacant ? "its type is 0, and it has " : "",
	    vacant ? "" : ", as --skip-unknown says", p->number);
	return vacant ? 0 : leave_out(l, t, p, skip, e);
}

/* Lay out one partition of a table: it is ignored, raw, or scanned. */
int
layout_table_part(struct layout *l, struct disk *d, const struct capture_what *o,
    const struct ptable *t, const struct partition *p, struct rangeset *skip,
    struct err *e)
{
	struct layout_part *lp = layout_add_part(l, p->number, p->sectors);

	ptable_type_name(t, p, lp->type, sizeof lp->type);
	lp->mbr_type = p->mbr_type;
	bool apart = o->boot_root != 0 && !bootimage_has(p, (unsigned)o->boot_root);
	if (part_chosen(&o->ignore, p->number) || apart) {
		strcpy(lp->fs, "ignored");
		return leave_out(l, t, p, skip, e);
	}
	lp->whole = keeps_all(lp, o, t, p);
	if (!lp->whole)
		return lay_out_known(l, d, o, t, p, lp, skip, e);
	strcpy(lp->fs, "raw");
	return 0;
}
