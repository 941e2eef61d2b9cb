/* A user's plan of partitions: any text.  One that is taken has every partition, and one
 * that may be used lies on the disk, in order. */
#include <assert.h>
#include <string.h>

#include "common/layout/fitplan.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { SECTORS = 1 << 20, PARTS = 3 };

static void
image_part(struct ptable *t, unsigned i)
{
	t->parts[i] = (struct partition){ .number = i + 1,
		.sectors = { 2048 + 8192 * i, 8192 },
		.mbr_type = 0x83 };
}

static void
check(const struct fitplan *p)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < p->n; i++) {
		assert(p->parts[i].is.off >= end && p->parts[i].is.len >= 8192);
		assert(range_within(p->parts[i].is, SECTORS));
		end = range_end(p->parts[i].is);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct ptable t = { .kind = PTABLE_MBR, .sector_bytes = 512, .nparts = PARTS };
	const struct fitplan_source s = { .table = &t, .sectors = SECTORS };
	static struct fitplan p;
	struct err e;

	for (unsigned i = 0; i < PARTS; i++)
		image_part(&t, i);
	int rc = fitplan_begin(&p, &s, SECTORS, 512, &e);
	assert(rc == 0);
	if (fitplan_take(&p, (const char *)data, len, "it", &e) != 0)
		assert(e.kind == ERR_FORMAT);
	else if (fitplan_check(&p, false, &e) != 0)
		assert(e.kind == ERR_REFUSED);
	else
		check(&p);
	return 0;
}
