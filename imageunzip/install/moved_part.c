/* moved_part.c: adapts what depends on the place of a partition that is installed alone
 * (--only) to the place where the partition lands. job.c and job_cursor.c call this in
 * the threads that decode and write, several at a time, each with the data of its own
 * chunk.
 *
 * An image of a whole disk has no relocations (common/image/format/reloc.h), because an
 * image that is installed whole needs none. A partition that lands elsewhere does need
 * changes: a disklabel in its second sector is found by its magic numbers and its sum,
 * and is adapted here. LILO in its first sector leads to sectors all over the partition,
 * which are in chunks that came before or come later; this is not adapted, and the user
 * is warned.
 */
#include "imageunzip/install/moved_part.h"

#include <stdio.h>
#include <string.h>

#include "common/base/field.h"
#include "common/image/format/reloc.h"

enum {
	LABEL_SECTOR = 1,
	LABEL_VERSION_AT = 114, /* 1: OpenBSD */
	MBR_OPENBSD = 0xa6,
	MBR_NETBSD = 0xa9,
	LILO_SIGNATURE_AT = 6,
	LILO_STAGE_AT = 10,
	WHAT_BYTES = 400,
	WARNING_BYTES = 600,
};

static bool
moves(const struct target *t)
{
	return t->only.len > LABEL_SECTOR && t->only.off != t->slice.off;
}

/* The byte of the chunk's data where the n-th sector of the partition begins; UINT64_MAX:
 * the sector is not in the chunk, or the image has a relocation for it. */
static uint64_t
data_of(const struct target *t, const struct ndz_header *h, uint64_t nth)
{
	const struct ndz_reloc whole = { NDZ_RELOC_FREEBSD_LABEL, t->only.off + nth, 0,
		SECTOR_BYTES };

	for (unsigned i = 0; i < h->nrelocs; i++)
		if (h->relocs[i].sector == whole.sector &&
		    reloc_changes(&h->relocs[i], t->slice))
			return UINT64_MAX;
	return reloc_at(h, &whole);
}

bool
moved_part_looks_at(const struct target *t, const struct ndz_header *h)
{
	return moves(t) && (data_of(t, h, 0) != UINT64_MAX ||
			       data_of(t, h, LABEL_SECTOR) != UINT64_MAX);
}

/* Warn once, however often the data is looked at. */
static void
tell(struct target *t, const char *what)
{
	char text[WARNING_BYTES];

	if (t->cfg->warn == NULL || atomic_exchange(&t->warned_moved, true))
		return;
	snprintf(text, sizeof text,
	    "%.100s: the partition begins at another sector than it did in the image, "
	    "and %.400s",
	    disk_name(t->disk), what);
	t->cfg->warn(text);
}

static void
move_label(struct target *t, uint8_t *label)
{
	bool openbsd = t->only_mbr_type == MBR_OPENBSD ||
	               get_le16(label + LABEL_VERSION_AT) == 1;
	char what[WHAT_BYTES];
	struct err why;

	if (!reloc_is_label(label))
		return;
	if (t->only_mbr_type == MBR_NETBSD) {
		tell(t, "its NetBSD disklabel, which is valid only for the old place, "
		        "was not adapted");
		return;
	}
	if (reloc_label_follow(label,
		openbsd ? NDZ_RELOC_OPENBSD_LABEL : NDZ_RELOC_FREEBSD_LABEL, t->only,
		t->slice, &why) >= 0)
		return;
	snprintf(what, sizeof what,
	    "its disklabel, which is valid only for the old place, was not adapted: "
	    "%.300s",
	    why.text);
	tell(t, what);
}

static void
look_for_lilo(struct target *t, const uint8_t *boot)
{
	if (memcmp(boot + LILO_SIGNATURE_AT, "LILO", 4) == 0 &&
	    get_le16(boot + LILO_STAGE_AT) == 1)
		tell(t, "LILO in its boot sector looks for files at the old place: run "
		        "lilo again");
}

/* The sector that begins at byte `at` of the chunk's data, if it is in data[n]. */
static uint8_t *
sector_in(uint64_t at, uint64_t raw_at, uint8_t *data, size_t n)
{
	if (at == UINT64_MAX || at < raw_at || at - raw_at >= n ||
	    n - (at - raw_at) < SECTOR_BYTES)
		return NULL;
	return data + (at - raw_at);
}

void
moved_part_apply(struct target *t, const struct ndz_header *h, uint64_t raw_at,
    uint8_t *data, size_t n)
{
	if (!moves(t))
		return;
	uint8_t *boot = sector_in(data_of(t, h, 0), raw_at, data, n);
	uint8_t *label = sector_in(data_of(t, h, LABEL_SECTOR), raw_at, data, n);
	if (boot != NULL)
		look_for_lilo(t, boot);
	if (label != NULL)
		move_label(t, label);
}
