/* lvm2.c: a physical volume (PV) of LVM2. It skips the free extents, and what the
 * filesystem modules find in the logical volumes that lie wholly on this PV. fsmods.c
 * calls its functions, in the first thread of imagezip; whoever must not change a disk on
 * which a system is suspended calls lvm2_is_suspended(), in its own thread.
 *
 * A logical volume is looked into when it is linear or striped, on this PV alone,
 * visible, and when no other volume is made from it: the origin of a snapshot, an image
 * of a RAID, and the parts of pools and caches have uses for sectors that a filesystem
 * would call free. All other volumes are stored completely, and so is all that lies in
 * front of the first extent and behind the last one.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fsmods/fsmod.h"
#include "fsmods/lvm2/lvm2.h"
#include "fsmods/lvm2/lvm2_impl.h"
#include "fsmods/lvm2/lvm2_map.h"
#include "fsmods/recognise.h"
#include "fsmods/swap.h"

enum { SAID_VOLUMES_MAX = 6 }; /* the most volumes that the warning names */

struct scan {
	struct disk *disk;
	struct range part;
	struct skip_sink *sink;              /* NULL: only suspended systems are looked for */
	bool suspended;                      /* one is in a volume */
	char *text;                          /* the metadata; owned */
	struct lvm_text volumes;             /* the bodies of both sections */
	struct lvm_text pv_name;             /* "pv0" */
	uint64_t extent, pe_start, pe_count; /* sectors, sectors, extents */
	struct rangeset used;                /* extents of this PV */
	uint64_t used_sum;
	struct lvm_text *refs; /* strings in segments, sorted; owned */
	size_t nrefs, refs_cap;
	unsigned nvolumes, nkept;
	char kept[360]; /* which, and why */
};

static const char *const vg_states[] = { "RESIZEABLE", "READ", "WRITE", "EXPORTED",
	"CLUSTERED", "SHARED", NULL };
static const char *const lv_states[] = { "VISIBLE", "READ", "WRITE", "FIXED_MINOR",
	"ACTIVATION_SKIP", NULL };
enum { LV_VISIBLE = 1, LV_READ = 2 };

/* Is this text, without its dashes, the UUID? */
static int
uuid_is(struct lvm_text text, const char uuid[LVM_UUID_CHARS])
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '-')
			continue;
		if (n == LVM_UUID_CHARS || text.p[i] != uuid[n++])
			return 0;
	}
	return n == LVM_UUID_CHARS;
}

static int
read_number(struct lvm_text body, const char *name, uint64_t *v, struct err *e)
{
	struct lvm_item i;

	if (lvm_get(body, name, LVM_NUMBER, &i, e) != 0)
		return -1;
	*v = i.number;
	return 0;
}

static int
find_pv(struct scan *s, struct lvm_text pvs, const struct lvm_pv *label, struct err *e)
{
	struct lvm_item pv, id;
	unsigned found = 0;
	int rc;

	while ((rc = lvm_next(&pvs, &pv, e)) == 1) {
		if (pv.kind != LVM_SECTION)
			continue;
		if (lvm_get(pv.text, "id", LVM_STRING, &id, e) != 0)
			return -1;
		if (!uuid_is(id.text, label->uuid))
			continue;
		s->pv_name = pv.name;
		found++;
		if (read_number(pv.text, "pe_start", &s->pe_start, e) != 0 ||
		    read_number(pv.text, "pe_count", &s->pe_count, e) != 0)
			return -1;
	}
	if (rc < 0)
		return -1;
	return found == 1 ? 0
	                  : err_set(e, ERR_FORMAT, "its volume group does not list it");
}

/* The extents must lie in the partition, begin where the label says, and not overlap
 * metadata. */
static int
check_extents(const struct scan *s, const struct lvm_pv *label, struct err *e)
{
	if (s->extent == 0 || s->pe_start > s->part.len ||
	    s->pe_count > (s->part.len - s->pe_start) / s->extent)
		return err_set(e, ERR_FORMAT, "its extents lie outside the partition");
	if (label->ndata != 1 || label->data[0].off != s->pe_start * SECTOR_BYTES)
		return err_set(e, ERR_FORMAT,
		    "label and metadata disagree about its first extent");
	uint64_t lo = s->pe_start * SECTOR_BYTES,
		 hi = lo + s->pe_count * s->extent * SECTOR_BYTES;
	for (unsigned i = 0; i < label->nmeta; i++)
		if (range_clip(label->meta[i], lo, hi).len > 0)
			return err_set(
			    e, ERR_FORMAT, "metadata lies among its extents");
	return 0;
}

static int
read_group(
    struct scan *s, struct lvm_text vg, const struct lvm_pv *label, struct err *e)
{
	struct lvm_item i;
	unsigned seen;

	if (lvm_get(vg, "status", LVM_LIST, &i, e) != 0)
		return -1;
	int known = lvm_list_known(i.text, vg_states, &seen, e);
	if (known != 1)
		return known < 0 ? -1
		                 : err_set(e, ERR_UNSUPPORTED,
				       "unknown state of its volume group");
	if (read_number(vg, "extent_size", &s->extent, e) != 0 ||
	    lvm_get(vg, "physical_volumes", LVM_SECTION, &i, e) != 0 ||
	    find_pv(s, i.text, label, e) != 0 || check_extents(s, label, e) != 0)
		return -1;
	/* A group without volumes has no such section. */
	int rc;
	while ((rc = lvm_next(&vg, &i, e)) == 1)
		if (lvm_text_is(i.name, "logical_volumes") && i.kind == LVM_SECTION)
			s->volumes = i.text;
	return rc;
}

/* Call fn for every segment of a volume: "segment1" and so on. */
static int
each_segment(struct lvm_text volume,
    int (*fn)(void *, struct lvm_text segment, struct err *), void *arg, struct err *e)
{
	struct lvm_item i;
	int rc;

	while ((rc = lvm_next(&volume, &i, e)) == 1)
		if (i.kind == LVM_SECTION && fn(arg, i.text, e) != 0)
			return -1;
	return rc;
}

static int
add_ref(struct scan *s, struct lvm_text name, struct err *e)
{
	if (s->nrefs == s->refs_cap) {
		size_t cap = s->refs_cap < 64 ? 64 : s->refs_cap * 2;
		struct lvm_text *refs = reallocarray(s->refs, cap, sizeof *refs);
		if (refs == NULL)
			return err_nomem(e, "names of volumes");
		s->refs = refs;
		s->refs_cap = cap;
	}
	s->refs[s->nrefs++] = name;
	return 0;
}

/* Note every string of a segment, except its type: it may name a volume that the segment
 * uses. */
static int
note_refs(void *arg, struct lvm_text segment, struct err *e)
{
	struct scan *s = arg;
	struct lvm_item i, member;
	int rc, in;

	while ((rc = lvm_next(&segment, &i, e)) == 1) {
		if (i.kind == LVM_STRING && !lvm_text_is(i.name, "type") &&
		    add_ref(s, i.text, e) != 0)
			return -1;
		if (i.kind != LVM_LIST)
			continue;
		while ((in = lvm_list_next(&i.text, &member, e)) == 1)
			if (member.kind == LVM_STRING &&
			    add_ref(s, member.text, e) != 0)
				return -1;
		if (in < 0)
			return -1;
	}
	return rc;
}

static int
by_text(const void *a, const void *b)
{
	const struct lvm_text *x = a, *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int c = memcmp(x->p, y->p, n);

	return c != 0 ? c : x->len < y->len ? -1 : x->len > y->len;
}

static bool
is_used_by_another(const struct scan *s, struct lvm_text name)
{
	return s->nrefs > 0 &&
	       bsearch(&name, s->refs, s->nrefs, sizeof *s->refs, by_text) != NULL;
}

/* A volume while its segments are read. */
struct volume {
	struct scan *s;
	struct lvm_map map;
	uint64_t extents;     /* so far */
	bool here, elsewhere; /* has areas on this PV; has areas on other PVs */
	bool begins_elsewhere; /* in its first segment, it has areas on other PVs */
	bool plain;           /* nothing but linear and striped */
};

/* Note that n extents of this PV, from `first` on, belong to the volume. */
static int
use_extents(struct volume *v, uint64_t first, uint64_t n, struct err *e)
{
	struct scan *s = v->s;

	v->here = true;
	if (!range_within((struct range){ first, n }, s->pe_count))
		return err_set(
		    e, ERR_FORMAT, "a volume has extents that its disk does not have");
	/* This also bounds the size of all volumes that are scanned. */
	if (n > s->pe_count - s->used_sum)
		return err_set(e, ERR_FORMAT, "two volumes have the same extent");
	s->used_sum += n;
	if (rangeset_add(&s->used, (struct range){ first, n }, e) != 0)
		return -1;
	struct range sectors = { s->pe_start + first * s->extent, n * s->extent };
	return s->sink != NULL ? skip_zone(s->sink, sectors, e) : 0;
}

/* Read a list of areas, pairs of a name and a first extent, each of n extents. */
static int
read_areas(
    struct volume *v, struct lvm_text list, uint64_t n, uint64_t *count, struct err *e)
{
	struct lvm_item name, first;
	int rc;

	*count = 0;
	while ((rc = lvm_list_next(&list, &name, e)) == 1) {
		if (lvm_list_next(&list, &first, e) != 1 || name.kind != LVM_STRING ||
		    first.kind != LVM_NUMBER)
			return err_set(e, ERR_FORMAT, "a list of areas is damaged");
		++*count;
		if (!lvm_text_same(name.text, v->s->pv_name)) {
			v->elsewhere = true;
			v->begins_elsewhere |= v->map.nsegments == 1;
			continue;
		}
		if (use_extents(v, first.number, n, e) != 0 ||
		    lvm_map_area(
			&v->map, v->s->pe_start + first.number * v->s->extent, e) != 0)
			return -1;
	}
	return rc;
}

static int
read_striped(struct volume *v, struct lvm_text segment, uint64_t extents, struct err *e)
{
	uint64_t stripes, count, stripe = v->s->extent;
	struct lvm_item list;

	if (read_number(segment, "stripe_count", &stripes, e) != 0 ||
	    lvm_get(segment, "stripes", LVM_LIST, &list, e) != 0)
		return -1;
	if (stripes > 1 && read_number(segment, "stripe_size", &stripe, e) != 0)
		return -1;
	if (stripes == 0 || extents % stripes != 0 || stripe == 0 ||
	    v->s->extent % stripe != 0)
		return err_set(e, ERR_FORMAT, "a striped segment is damaged");
	if (lvm_map_segment(&v->map, extents * v->s->extent, stripe, e) != 0 ||
	    read_areas(v, list.text, extents / stripes, &count, e) != 0)
		return -1;
	return count == stripes
	           ? 0
	           : err_set(e, ERR_FORMAT, "a striped segment is damaged");
}

/* Read a segment of another type: mirrors may lie on PVs, all other types must lie on
 * volumes. */
static int
read_other(struct volume *v, struct lvm_text segment, bool mirror, uint64_t extents,
    struct err *e)
{
	struct lvm_item i, member;
	uint64_t count;
	int rc, in;

	v->plain = false;
	while ((rc = lvm_next(&segment, &i, e)) == 1) {
		if (i.kind != LVM_LIST)
			continue;
		if (mirror && lvm_text_is(i.name, "mirrors")) {
			if (read_areas(v, i.text, extents, &count, e) != 0)
				return -1;
			continue;
		}
		while ((in = lvm_list_next(&i.text, &member, e)) == 1)
			if (member.kind == LVM_STRING &&
			    lvm_text_same(member.text, v->s->pv_name))
				return err_set(
				    e, ERR_UNSUPPORTED, "a volume of an unknown type");
		if (in < 0)
			return -1;
	}
	return rc;
}

static int
read_segment(void *arg, struct lvm_text segment, struct err *e)
{
	struct volume *v = arg;
	struct lvm_item type;
	uint64_t first, extents;

	if (lvm_get(segment, "type", LVM_STRING, &type, e) != 0 ||
	    read_number(segment, "start_extent", &first, e) != 0 ||
	    read_number(segment, "extent_count", &extents, e) != 0)
		return -1;
	/* These bounds keep all sums, in sectors, far below an overflow. */
	if (first != v->extents || extents == 0 || extents > UINT32_MAX ||
	    v->extents > UINT32_MAX || v->s->extent > UINT32_MAX / 2)
		return err_set(e, ERR_FORMAT, "the segments of a volume are damaged");
	v->extents += extents;
	if (lvm_text_is(type.text, "striped"))
		return read_striped(v, segment, extents, e);
	bool mirror = lvm_text_is(type.text, "mirror");
	if (mirror &&
	    lvm_map_segment(&v->map, extents * v->s->extent, v->s->extent, e) != 0)
		return -1;
	return read_other(v, segment, mirror, extents, e);
}

/* Add a volume to the warning: "root (reason), var (reason)". */
static void
note_kept(struct scan *s, struct lvm_text name, const char *why)
{
	size_t n = strlen(s->kept);

	if (s->nkept++ < SAID_VOLUMES_MAX)
		snprintf(s->kept + n, sizeof s->kept - n, "%s%.*s (%.120s)",
		    n > 0 ? ", " : "", name.len < 40 ? (int)name.len : 40, name.p, why);
	else if (s->nkept == SAID_VOLUMES_MAX + 1)
		snprintf(s->kept + n, sizeof s->kept - n, ", ...");
}

/* Why a volume is not scanned, or NULL. */
static const char *
why_raw(const struct volume *v, const struct lvm_item *lv, unsigned states)
{
	if (is_used_by_another(v->s, lv->name))
		return "another volume is made from it";
	if (!v->plain)
		return "neither linear nor striped";
	if (v->elsewhere)
		return "partly on other disks";
	if ((states & (LV_VISIBLE | LV_READ)) != (LV_VISIBLE | LV_READ))
		return "hidden, or of an unknown state";
	return NULL;
}

static int
skip_mapped(void *arg, struct range pv, struct err *e)
{
	return skip_add(arg, pv, e);
}

static int
zero_mapped(void *arg, struct range pv, struct err *e)
{
	return skip_zero(arg, pv, e);
}

static int
hot_mapped(void *arg, struct range pv, struct err *e)
{
	return skip_hot(arg, pv, e);
}

static int
pass_on(struct volume *v, const struct rangeset *set,
    int (*fn)(void *arg, struct range pv, struct err *), struct err *e)
{
	for (size_t i = 0; i < rangeset_count(set); i++)
		if (lvm_map_each(&v->map, rangeset_get(set, i), fn, v->s->sink, e) != 0)
			return -1;
	return 0;
}

/* Open what this PV has of the volume from its beginning on, as a disk, and note whether it is
 * swap space with a suspended system, which its first page says. */
static int
open_volume(struct volume *v, struct disk **d, struct err *e)
{
	struct err ignored;

	v->map.disk = v->s->disk;
	v->map.base = v->s->part.off;
	if (v->elsewhere)
		v->map.sectors = v->map.segments[0].lv.len;
	if (lvm_map_open(&v->map, "a logical volume", d, e) != 0)
		return -1;
	int is = swap_is_suspended(*d, (struct range){ 0, v->map.sectors }, e);
	v->s->suspended |= is == 1;
	if (is < 0 && v->s->sink == NULL) {
		disk_close(*d, &ignored);
		return -1;
	}
	return 0;
}

/* Whatever else is made of the volume, such as a snapshot. */
static int
look_for_suspended(struct volume *v, struct err *e)
{
	struct disk *d;

	if (!v->plain || v->begins_elsewhere)
		return 0;
	return open_volume(v, &d, e) == 0 ? disk_close(d, e) : -1;
}

/* Scan a volume that is on this PV alone, with the module that recognises it. LVM in LVM
 * is stored completely, so volumes are not nested. */
static int
scan_inside(struct volume *v, struct lvm_text name, struct err *e)
{
	struct range all = { 0, v->map.sectors };
	struct err ignored;
	struct fs_scan fs;
	struct disk *d;

	if (open_volume(v, &d, e) != 0)
		return -1;
	const struct fsmod *mod = fsmods_probe(d, all, FS_IN_TABLE);
	if (mod == NULL || mod == &fsmod_lvm2) {
		note_kept(
		    v->s, name, mod == NULL ? recognise_content(d, all).text : "LVM inside LVM");
		return disk_close(d, e);
	}
	int rc = fsmods_scan(d, all, FS_IN_TABLE, &fs, e);
	if (rc == 0) {
		if (fs.warning[0] != '\0')
			note_kept(v->s, name, fs.warning);
		rc = pass_on(v, &fs.skip, skip_mapped, e);
		if (rc == 0)
			rc = pass_on(v, &fs.zero, zero_mapped, e);
		if (rc == 0)
			rc = pass_on(v, &fs.hot, hot_mapped, e);
		fs_scan_free(&fs);
	}
	disk_close(d, &ignored);
	return rc;
}

static int
scan_volume(struct scan *s, const struct lvm_item *lv, struct err *e)
{
	struct volume v = { .s = s, .plain = true };
	struct lvm_item status;
	unsigned seen;

	int rc = lvm_get(lv->text, "status", LVM_LIST, &status, e);
	int known = rc == 0 ? lvm_list_known(status.text, lv_states, &seen, e) : -1;
	rc = known < 0 ? -1 : each_segment(lv->text, read_segment, &v, e);
	if (rc == 0 && v.here && s->sink == NULL) {
		rc = look_for_suspended(&v, e);
	} else if (rc == 0 && v.here) {
		s->nvolumes++;
		const char *why = why_raw(&v, lv, known == 1 ? seen : 0);
		if (why != NULL)
			note_kept(s, lv->name, why);
		else
			rc = scan_inside(&v, lv->name, e);
	}
	lvm_map_free(&v.map);
	return rc;
}

/* Scan all volumes, after noting all references: any volume may be a part of any other. */
static int
scan_volumes(struct scan *s, struct err *e)
{
	struct lvm_text rest = s->volumes;
	struct lvm_item lv;
	int rc;

	while ((rc = lvm_next(&rest, &lv, e)) == 1)
		if (lv.kind == LVM_SECTION &&
		    each_segment(lv.text, note_refs, s, e) != 0)
			return -1;
	if (rc < 0)
		return -1;
	if (s->nrefs > 0)
		qsort(s->refs, s->nrefs, sizeof *s->refs, by_text);
	rest = s->volumes;
	while ((rc = lvm_next(&rest, &lv, e)) == 1)
		if (lv.kind == LVM_SECTION && scan_volume(s, &lv, e) != 0)
			return -1;
	return rc;
}

/* Skip the extents that no volume has. */
static int
skip_unused(struct scan *s, struct err *e)
{
	rangeset_seal(&s->used);
	if (rangeset_total(&s->used) != s->used_sum)
		return err_set(e, ERR_FORMAT, "two volumes have the same extent");
	if (rangeset_invert(&s->used, 0, s->pe_count, e) != 0)
		return -1;
	for (size_t i = 0; i < rangeset_count(&s->used); i++) {
		struct range r = rangeset_get(&s->used, i);
		if (skip_add(s->sink,
			(struct range){
			    s->pe_start + r.off * s->extent, r.len * s->extent },
			e) != 0)
			return -1;
	}
	return 0;
}

static int
lvm2_probe(struct disk *d, struct range part, struct err *e)
{
	struct lvm_pv pv;

	return lvm_label(d, part, &pv, e);
}

static int
scan_pv(struct scan *s, struct err *e)
{
	struct lvm_pv label;
	struct lvm_text vg;
	int rc = lvm_label(s->disk, s->part, &label, e);

	if (rc != 1)
		return rc < 0 ? -1
		              : err_set(e, ERR_FORMAT, "not an LVM2 physical volume");
	if (lvm_metadata(s->disk, s->part, &label, &s->text, &vg, e) != 0 ||
	    read_group(s, vg, &label, e) != 0)
		return -1;
	return scan_volumes(s, e);
}

static void
scan_free(struct scan *s)
{
	rangeset_free(&s->used);
	free(s->refs);
	free(s->text);
}

static int
lvm2_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct scan s = { .disk = d, .part = part, .sink = sink };

	rangeset_init(&s.used);
	int rc = scan_pv(&s, e);
	if (s.suspended)
		skip_suspended(sink);
	if (rc == 0)
		rc = skip_unused(&s, e);
	if (rc == 0 && s.nkept > 0)
		skip_warn(sink, "of %u logical volumes, kept: %s", s.nvolumes, s.kept);
	scan_free(&s);
	return rc;
}

int
lvm2_is_suspended(struct disk *d, struct range part, struct err *e)
{
	struct scan s = { .disk = d, .part = part };
	int rc = lvm2_probe(d, part, e);

	if (rc != 1)
		return rc;
	rangeset_init(&s.used);
	rc = scan_pv(&s, e);
	scan_free(&s);
	return s.suspended ? 1 : rc;
}

const struct fsmod fsmod_lvm2 = {
	.name = "lvm2",
	.title = "LVM2 physical volume",
	.probe = lvm2_probe,
	.scan = lvm2_scan,
};
