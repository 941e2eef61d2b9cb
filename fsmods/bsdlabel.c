/* bsdlabel.c: a slice with a BSD disklabel: each of its partitions is scanned by the
 * module that recognises it. fsmods.c calls its functions, in the first thread of
 * imagezip.
 *
 * The boot area with the label, unused partitions and all space between partitions are
 * kept. BSD swap has no signature, so it is skipped only when the label proves to be
 * alive: some partition of the label has a filesystem that was understood, and no
 * partition has a filesystem that was not. A label can outlive its partitions: when a
 * filesystem begins where the slice does, it must be the filesystem of a partition and
 * fit into that partition, or nothing is skipped.
 * Swap with a hibernated system or a crash dump in it is kept.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/disk/bsdlabel.h"
#include "fsmods/fsmod.h"
#include "fsmods/recognise.h"

enum {
	SWAP_KEEP_SECTORS = 64, /* as many as swap.c keeps of Linux swap */
	SWAP_TAIL_SECTORS = 16,
};

#define HIBERNATE_MAGIC UINT32_C(0x0b5d0b5d) /* OpenBSD */
static const char dump_magic[] = "FreeBSD Kernel Dump";

struct scanned {
	struct fs_scan fs[BSDLABEL_PARTS_MAX];
	unsigned understood, doubtful;
};

/* Report sectors of partition p, counted from its start, as sectors of the slice, without
 * those that lie in the slice's boot area. */
static int
skip_part(struct skip_sink *sink, const struct bsdlabel_part *p, struct range r,
    struct err *e)
{
	struct range s = range_clip((struct range){ p->sectors.off + r.off, r.len },
	    BSDLABEL_BOOT_SECTORS, UINT64_MAX);

	return s.len != 0 ? skip_add(sink, s, e) : 0;
}

static int
pass_hot(struct skip_sink *sink, const struct bsdlabel_part *p, const struct rangeset *hot,
    struct err *e)
{
	for (size_t i = 0; i < rangeset_count(hot); i++) {
		struct range r = rangeset_get(hot, i);
		r.off += p->sectors.off;
		if (skip_hot(sink, r, e) != 0)
			return -1;
	}
	return 0;
}

static struct range
place_of(struct range slice, const struct bsdlabel_part *p)
{
	return (struct range){ slice.off + p->sectors.off, p->sectors.len };
}

static int
scan_parts(struct disk *d, struct range slice, const struct bsdlabel *l,
    struct scanned *x, struct err *e)
{
	for (unsigned i = 0; i < l->nparts; i++) {
		struct range at = place_of(slice, &l->parts[i]);
		if (fsmods_scan(d, at, FS_IN_CONTAINER, &x->fs[i], e) != 0)
			return -1;
		bool wrong = x->fs[i].warning[0] != '\0' ||
		             (x->fs[i].mod == NULL && l->parts[i].type == BSDLABEL_FFS);
		x->understood += x->fs[i].mod != NULL && !wrong;
		x->doubtful += wrong;
	}
	return 0;
}

/* Fails when the label may be older than a filesystem that fills the whole slice: mkfs
 * programs leave the sector of the label alone. */
static int
check_alive(struct disk *d, struct range slice, const struct bsdlabel *l,
    const struct scanned *x, struct err *e)
{
	const struct fsmod *mod = fsmods_probe(d, slice, FS_IN_CONTAINER);

	if (mod == NULL || (l->parts[0].sectors.off == 0 && x->fs[0].mod == mod &&
			       x->fs[0].warning[0] == '\0'))
		return 0;
	return err_set(e, ERR_FORMAT,
	    "a %s begins where its disklabel is, and does not belong to a "
	    "partition",
	    mod->title);
}

/* Does this swap hold something that a system wants at its next boot: a hibernated system
 * or a crash dump? The header of a dump is in the last sector, which may have 4 KiB. */
static int
swap_holds(struct disk *d, struct range at, bool *holds, struct err *e)
{
	uint8_t tail[SWAP_TAIL_SECTORS * SECTOR_BYTES];

	*holds = true;
	if (at.len < SWAP_TAIL_SECTORS)
		return 0;
	if (disk_read(d, tail, sizeof tail,
		(range_end(at) - SWAP_TAIL_SECTORS) * SECTOR_BYTES, e) != 0)
		return -1;
	*holds = false;
	for (size_t i = 0; i < sizeof tail; i += SECTOR_BYTES) {
		struct rd r = rd_from(tail + i, 4);
		*holds |= rd_le32(&r) == HIBERNATE_MAGIC ||
		          memcmp(tail + i, dump_magic, sizeof dump_magic - 1) == 0;
	}
	return 0;
}

static int
skip_swap(struct disk *d, struct range slice, const struct bsdlabel_part *p,
    struct skip_sink *sink, char *why, size_t cap, struct err *e)
{
	bool holds;

	if (swap_holds(d, place_of(slice, p), &holds, e) != 0)
		return -1;
	if (holds) {
		snprintf(
		    why, cap,
		    "holds a suspended system or a crash dump: stored completely");
		return 0;
	}
	if (p->sectors.len <= SWAP_KEEP_SECTORS)
		return 0;
	return skip_part(sink, p,
	    (struct range){ SWAP_KEEP_SECTORS, p->sectors.len - SWAP_KEEP_SECTORS }, e);
}

/* Report what is skipped in one partition. why: "", or the reason why no more is skipped. */
static int
report_part(struct disk *d, struct range slice, const struct bsdlabel_part *p,
    struct scanned *x, struct fs_scan *fs, struct skip_sink *sink, char *why,
    size_t cap, struct err *e)
{
	if (fs->mod != NULL) {
		snprintf(why, cap, "%s", fs->warning);
		for (size_t i = 0; i < rangeset_count(&fs->skip); i++)
			if (skip_part(sink, p, rangeset_get(&fs->skip, i), e) != 0)
				return -1;
		return pass_hot(sink, p, &fs->hot, e);
	}
	if (p->type == BSDLABEL_SWAP && x->understood > 0 && x->doubtful == 0)
		return skip_swap(d, slice, p, sink, why, cap, e);
	if (p->type == BSDLABEL_SWAP)
		snprintf(why, cap,
		    "swap, which is stored because the disklabel is in doubt");
	else if (p->type != BSDLABEL_UNUSED)
		snprintf(why, cap, "%s", recognise_content(d, place_of(slice, p)).text);
	return 0;
}

static int
report(struct disk *d, struct range slice, const struct bsdlabel *l, struct scanned *x,
    struct skip_sink *sink, struct err *e)
{
	char all[512] = "", why[160];
	size_t n = 0;

	for (unsigned i = 0; i < l->nparts; i++) {
		why[0] = '\0';
		if (skip_zone(sink, l->parts[i].sectors, e) != 0)
			return -1;
		if (report_part(d, slice, &l->parts[i], x, &x->fs[i], sink, why,
			sizeof why, e) != 0)
			return -1;
		if (why[0] != '\0' && n < sizeof all)
			n += (size_t)snprintf(all + n, sizeof all - n, "%s%c: %s",
			    n > 0 ? "; " : "", l->parts[i].letter, why);
	}
	if (n > 0)
		skip_warn(sink, "%s", all);
	return 0;
}

static int
bsdlabel_scan(struct disk *d, struct range slice, struct skip_sink *sink, struct err *e)
{
	struct scanned x = { 0 };
	struct bsdlabel l;

	if (bsdlabel_read(&l, d, slice, e) != 0)
		return -1;
	if (l.nparts == 0)
		return err_set(e, ERR_FORMAT, "its disklabel has no partitions");
	int rc = scan_parts(d, slice, &l, &x, e);
	if (rc == 0)
		rc = check_alive(d, slice, &l, &x, e);
	if (rc == 0)
		rc = report(d, slice, &l, &x, sink, e);
	for (unsigned i = 0; i < l.nparts; i++)
		fs_scan_free(&x.fs[i]);
	return rc;
}

struct shifted {
	fs_records_fn fn;
	void *arg;
	uint64_t by_bytes;
};

static int
shift(void *arg, const struct fs_records *r, struct err *e)
{
	const struct shifted *s = arg;
	struct fs_records there = *r;

	there.at_bytes += s->by_bytes;
	return s->fn(s->arg, &there, e);
}

/* Report the free inodes of one partition; none when its scan failed, since the partition
 * is then stored completely. */
static int
part_inodes(struct disk *d, struct range at, struct shifted *s, struct err *e)
{
	struct fs_scan fs;

	if (fsmods_scan(d, at, FS_IN_CONTAINER, &fs, e) != 0)
		return -1;
	int rc = 0;
	if (fs.mod != NULL && !fs.failed && fs.mod->free_inodes != NULL)
		rc = fs.mod->free_inodes(d, at, shift, s, e);
	fs_scan_free(&fs);
	return rc;
}

static int
bsdlabel_free_inodes(
    struct disk *d, struct range slice, fs_records_fn fn, void *arg, struct err *e)
{
	struct bsdlabel l;

	if (bsdlabel_read(&l, d, slice, e) != 0)
		return -1;
	for (unsigned i = 0; i < l.nparts; i++) {
		struct shifted s = { fn, arg, l.parts[i].sectors.off * SECTOR_BYTES };
		if (part_inodes(d, place_of(slice, &l.parts[i]), &s, e) != 0)
			return -1;
	}
	return 0;
}

const struct fsmod fsmod_bsdlabel = {
	.name = "bsdlabel",
	.title = "BSD disklabel",
	.container = true,
	.probe = bsdlabel_found,
	.scan = bsdlabel_scan,
	.free_inodes = bsdlabel_free_inodes,
};
