/* Any bytes as a disk: a table that is accepted is sound, and a type that was set
 * is there.  Each input is tried with sectors of 512 and 4096 bytes, and again
 * with the checksums of both GPT copies mended, so that what they protect is
 * reached, too; and with sectors that are larger than any disk has. */
#include "common/disk/ptable.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/memdisk.h"

enum { LARGE_SECTOR_BYTES = 65536, LARGE_DISK_BYTES = 2 * LARGE_SECTOR_BYTES };

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
must(bool ok)
{
	if (!ok)
		abort();
}

static bool
overlap(struct range a, struct range b)
{
	return a.off < b.off + b.len && b.off < a.off + a.len;
}

static void
check_sound(struct ptable *t, uint64_t sectors)
{
	char buf[64];

	must(t->nparts <= PTABLE_PARTS_MAX && range_within(t->usable, sectors));
	for (unsigned i = 0; i < t->nparts; i++) {
		const struct partition *p = &t->parts[i];
		must(p->sectors.len > 0 && range_within(p->sectors, sectors));
		must(memchr(p->name, '\0', sizeof p->name) != NULL);
		must(strlen(ptable_type_name(t, p, buf, sizeof buf)) > 0);
		must(!p->empty || t->kind == PTABLE_MBR);
		for (unsigned k = 0; k < i; k++)
			must(p->empty || t->parts[k].empty ||
			     !overlap(p->sectors, t->parts[k].sectors));
		for (size_t k = 0; k < rangeset_count(&t->own); k++)
			must(p->empty || !overlap(p->sectors, rangeset_get(&t->own, k)));
	}
	for (size_t k = 0; k < rangeset_count(&t->own); k++)
		must(range_within(rangeset_get(&t->own, k), sectors));
}

static void
check_set_type(struct disk *d, const struct ptable *before)
{
	const struct partition *p = &before->parts[before->nparts - 1];
	struct ptable after;
	struct err e;

	if (ptable_set_type(d, p->number, 0x83, &e) != 0) {
		must(e.kind == ERR_UNSUPPORTED && p->empty);
		return;
	}
	must(ptable_read(&after, d, &e) == 0 && after.nparts == before->nparts);
	const struct partition *q = ptable_find(&after, p->number);
	must(q != NULL && q->sectors.off == p->sectors.off);
	must(after.kind == PTABLE_MBR ? q->mbr_type == 0x83
				      : strcmp(q->name, "Linux filesystem") == 0);
	ptable_free(&after);
}

/* The table made to fit, for these sectors or from the others: still sound, and no
 * partition lost or moved. */
static void
check_fit(
    struct disk *d, unsigned from_bytes, const struct ptable *before, uint64_t sectors)
{
	struct ptable_change done;
	struct ptable after;
	struct err e;

	if (ptable_fit(d, from_bytes, true, &done, &e) != 0) {
		must(e.kind == ERR_FORMAT || e.kind == ERR_UNSUPPORTED);
		return;
	}
	if (before == NULL)
		return;
	must(ptable_read(&after, d, &e) == 0 && after.nparts == before->nparts);
	check_sound(&after, sectors);
	for (unsigned i = 0; i < after.nparts; i++) {
		must(after.parts[i].sectors.off == before->parts[i].sectors.off);
		must(after.parts[i].sectors.len >= before->parts[i].sectors.len);
	}
	ptable_free(&after);
}

static void
try_disk(struct mem *m, enum disk_kind kind, unsigned sector_bytes)
{
	struct disk *d = mem_disk(m, kind, sector_bytes);
	struct ptable t;
	struct err e = { 0 };

	if (ptable_read(&t, d, &e) == 0) {
		check_sound(&t, m->len / 512);
		if (t.nparts > 0)
			check_set_type(d, &t);
		check_fit(d, sector_bytes, &t, m->len / 512);
	} else {
		must(e.kind == ERR_FORMAT || e.kind == ERR_UNSUPPORTED);
	}
	ptable_free(&t);
	check_fit(d, sector_bytes == 512 ? 4096 : 512, NULL, 0);
	disk_close(d, &e);
}

/* Only an image can say that its disk had such sectors.  The disk has two of them, and ends with
 * zeros where the input is shorter. */
static void
try_large_sectors(const uint8_t *data, size_t len)
{
	struct mem m = mem_of(calloc(1, LARGE_DISK_BYTES), LARGE_DISK_BYTES);

	memcpy(m.b, data, len < m.len ? len : m.len);
	try_disk(&m, DISK_FILE, LARGE_SECTOR_BYTES);
	free(m.b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct mem m = mem_of(malloc(len + 1), len);

	for (unsigned ss = 512; ss <= 4096; ss += 4096 - 512) {
		memcpy(m.b, data, len);
		try_disk(&m, ss == 512 ? DISK_FILE : DISK_BLOCK, ss);
		memcpy(m.b, data, len);
		gpt_mend(&m, ss, 1);
		if (len >= 4 * ss)
			gpt_mend(&m, ss, len / ss - 1);
		try_disk(&m, DISK_BLOCK, ss);
	}
	free(m.b);
	try_large_sectors(data, len);
	return 0;
}
