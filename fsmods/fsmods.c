#include "fsmods/fsmod.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first that recognises a partition has it. */
static const struct fsmod *const modules[] = { &fsmod_ext, &fsmod_swap,
	/* newfs leaves the place of the label alone, and UFS1 that of btrfs; mkfs.btrfs
	 * clears them all. */
	&fsmod_bsdlabel, &fsmod_ffs, &fsmod_btrfs };

enum { NMODULES = sizeof modules / sizeof modules[0] };

struct skip_sink {
	struct fs_scan *scan;
	uint64_t part_sectors;
};

int
skip_add(struct skip_sink *s, struct range r, struct err *e)
{
	if (!range_within(r, s->part_sectors))
		return err_set(e, ERR_FORMAT, "free space from sector %" PRIu64 " on lies outside the "
		    "partition", r.off);
	return rangeset_add(&s->scan->skip, r, e);
}

void
skip_warn(struct skip_sink *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->scan->warning, sizeof s->scan->warning, fmt, ap);
	va_end(ap);
}

void
skip_fs_end(struct skip_sink *s, uint64_t sectors)
{
	if (sectors < s->scan->fs_end)
		s->scan->fs_end = sectors;
}

static const struct fsmod *
probe(struct disk *d, struct range part, bool containers)
{
	struct err ignored;	/* what cannot be probed is kept whole */

	for (size_t i = 0; i < NMODULES; i++)
		if ((containers || !modules[i]->container) &&
		    modules[i]->probe(d, part, &ignored) == 1)
			return modules[i];
	return NULL;
}

const struct fsmod *
fsmods_probe(struct disk *d, struct range part)
{
	return probe(d, part, true);
}

const struct fsmod *
fsmods_probe_inside(struct disk *d, struct range part)
{
	return probe(d, part, false);
}

int
fsmods_scan(struct disk *d, struct range part, struct fs_scan *f, struct err *e)
{
	return fsmods_scan_as(fsmods_probe(d, part), d, part, f, e);
}

int
fsmods_scan_as(const struct fsmod *mod, struct disk *d, struct range part, struct fs_scan *f,
    struct err *e)
{
	struct skip_sink sink = { .scan = f, .part_sectors = part.len };

	memset(f, 0, sizeof *f);
	rangeset_init(&f->skip);
	f->fs_end = part.len;
	f->mod = mod;
	if (f->mod == NULL || f->mod->scan(d, part, &sink, e) == 0)
		return 0;
	rangeset_free(&f->skip);
	if (e->kind == ERR_NOMEM)
		return -1;
	f->fs_end = part.len;
	snprintf(f->warning, sizeof f->warning, "kept whole: %.490s", e->text);
	return 0;
}

void
fs_scan_free(struct fs_scan *f)
{
	rangeset_free(&f->skip);
}

const struct fsmod *
fsmods_for_mbr_type(unsigned mbr_type)
{
	switch (mbr_type) {
	case 0x82:
		return &fsmod_swap;
	case 0x83:
		return &fsmod_ext;
	case 0xa5:
	case 0xa6:
	case 0xa9:
		return &fsmod_bsdlabel;
	}
	return NULL;
}
