/* Where the state of an installation may lie on its own target: only in space that
 * is free for certain. */
#include "imageunzip/install/state_slot.h"

#include <stdlib.h>
#include <string.h>

#include "tests/t.h"

static struct ndz_header
chunk(uint64_t first, uint64_t last, struct range *regions, unsigned n)
{
	struct ndz_header h = { .firstsect = first, .lastsect = last, .nregions = n };

	memcpy(h.regions, regions, n * sizeof *regions);
	return h;
}

static const struct maps as_is = { .n = 1, .map = { { { 0, 1 << 20 }, 0 } } };
static const struct state_slot_want want = { 16, { 2048, 98000 }, 0, &as_is };

static int
claim(struct state_slot *p, struct ndz_header h, const struct state_slot_want *w,
    uint64_t *off)
{
	struct range at = { 0, 0 };
	struct err e;
	int rc = state_slot_claim(p, &h, w, &at, &e);

	*off = at.off;
	T_CHECK(rc >= 0 || e.kind == ERR_FORMAT);
	T_CHECK(rc != 1 || at.len == w->sectors);
	return rc;
}

/* As state_slot_learn() would have found it. */
static void
begin(struct state_slot *p, struct range partition)
{
	struct err e;

	state_slot_init(p);
	p->known = true;
	T_CHECK(areas_add(
		    &p->areas, (struct area){ .sectors = partition, .number = 1 }, &e) ==
		0);
}

static void
test_gaps(void)
{
	struct range edge[] = { { 0, 8 }, { 2000, 8 }, { 2060, 8 } };
	struct range narrow[] = { { 3000, 100 }, { 3115, 100 } };
	struct range some[] = { { 5001, 10 }, { 5100, 10 } };
	struct range there[] = { { 5020, 100 } };
	struct state_slot p;
	uint64_t off;

	begin(&p, (struct range){ 2048, 90000 });
	T_CHECK(state_slot_is_open(&p));
	/* In front of the partition, or too near to the beginning; less than 16. */
	T_CHECK(claim(&p, chunk(0, 2068, edge, 3), &want, &off) == 0);
	T_CHECK(claim(&p, chunk(3000, 3215, narrow, 2), &want, &off) == 0);
	/* From a multiple of 4 KiB on, also of a disk whose partition begins at none.
	 */
	T_CHECK(claim(&p, chunk(5001, 5110, some, 2), &want, &off) == 1);
	T_CHECK(off == 5016);
	T_CHECK(!state_slot_is_open(&p));
	T_CHECK(claim(&p, chunk(6000, 9000, some, 0), &want, &off) == 0);
	/* Another chunk that stores something there. */
	T_CHECK(claim(&p, chunk(5020, 5120, there, 1), &want, &off) == -1);
	state_slot_free(&p);

	struct state_slot_want skewed = want;
	skewed.skew = 63;
	begin(&p, (struct range){ 2048, 90000 });
	T_CHECK(claim(&p, chunk(5001, 5110, some, 2), &skewed, &off) == 1);
	T_CHECK((off + 63) % 8 == 0);
	T_CHECK(off >= 5011);
	T_CHECK(off + 16 <= 5100);
	state_slot_free(&p);
}

/* What is stored by a chunk before is not free, whatever a later one says. */
static void
test_overlap(void)
{
	struct range all[] = { { 5000, 1000 } }, ends[] = { { 5000, 8 }, { 5992, 8 } };
	struct state_slot p;
	uint64_t off;

	begin(&p, (struct range){ 2048, 90000 });
	T_CHECK(claim(&p, chunk(5000, 6000, all, 1), &want, &off) == 0);
	T_CHECK(claim(&p, chunk(5000, 6000, ends, 2), &want, &off) == 0);
	state_slot_free(&p);
}

/* A partition of which nothing is stored may have been left out; when the
 * partitions are known late, gaps of chunks before count. */
static void
test_partitions(void)
{
	struct range first[] = { { 4000, 8 } }, second[] = { { 60000, 8 } };
	struct err e;
	struct state_slot p;
	uint64_t off;

	begin(&p, (struct range){ 50000, 20000 });
	T_CHECK(claim(&p, chunk(4000, 55000, first, 1), &want, &off) == 0);
	T_CHECK(claim(&p, chunk(55000, 70000, second, 1), &want, &off) == 1);
	T_CHECK(off >= 55000);
	T_CHECK(off < 60000);
	state_slot_free(&p);

	state_slot_init(&p);
	T_CHECK(!state_slot_is_open(&p));
	T_CHECK(claim(&p, chunk(55000, 70000, second, 1), &want, &off) == 0);
	p.known = true;
	T_CHECK(areas_add(&p.areas,
		    (struct area){ .sectors = { 50000, 20000 }, .number = 1 }, &e) ==
		0);
	T_CHECK(claim(&p, chunk(4000, 5000, first, 1), &want, &off) == 1);
	T_CHECK(off >= 55000);
	T_CHECK(off < 60000);
	state_slot_free(&p);

	/* Nothing reaches behind what the target has. */
	begin(&p, (struct range){ 2048, UINT64_MAX >> 12 });
	struct state_slot_want small = want;
	small.within = (struct range){ 2048, 0 };
	T_CHECK(claim(&p, chunk(55000, 70000, second, 1), &small, &off) == 0);
	state_slot_free(&p);
}

/* A partition of which nothing is stored stays out, though the one in front of it ends
 * where it begins, and so does what a disklabel has inside, and what may have one. */
static void
test_left_out(void)
{
	struct range first[] = { { 4000, 8 } };
	struct err e;
	struct state_slot p;
	uint64_t off;

	begin(&p, (struct range){ 2048, 2952 });
	struct area next = { .sectors = { 5000, 20000 }, .number = 2 };
	T_CHECK(areas_add(&p.areas, next, &e) == 0);
	struct range gap[] = { { 4000, 990 } };
	T_CHECK(claim(&p, chunk(4000, 9000, gap, 1), &want, &off) == 0);
	T_CHECK(claim(&p, chunk(3900, 4000, first, 0), &want, &off) == 1);
	T_CHECK(off == 3904);
	state_slot_free(&p);

	begin(&p, (struct range){ 2048, 60000 });
	struct area inside = { .sectors = { 4100, 20000 }, .inside = true };
	T_CHECK(areas_add(&p.areas, inside, &e) == 0);
	T_CHECK(claim(&p, chunk(4000, 9000, first, 1), &want, &off) == 1);
	T_CHECK(off == 4008);
	state_slot_free(&p);
	begin(&p, (struct range){ 2048, 60000 });
	inside.sectors.off = 4008;
	T_CHECK(areas_add(&p.areas, inside, &e) == 0);
	T_CHECK(claim(&p, chunk(4000, 9000, first, 1), &want, &off) == 0);
	state_slot_free(&p);

	begin(&p, (struct range){ 2048, 60000 });
	p.areas.a[0].unsure = true;
	T_CHECK(claim(&p, chunk(4000, 9000, first, 1), &want, &off) == 0);
	state_slot_free(&p);
}

/* Where partitions move, the state lies in free space of the places that they have now. */
static void
test_moved(void)
{
	static const struct maps moved = { .n = 2,
		.map = { { { 0, 4000 }, 0 }, { { 4000, 1000 }, 20000 } } };
	struct range some[] = { { 3990, 20 }, { 4100, 900 } }, over[] = { { 4050, 8 } };
	struct state_slot_want fit = want;
	struct state_slot p;
	uint64_t off;

	fit.maps = &moved;
	begin(&p, (struct range){ 20000, 5000 });
	/* Of sectors 4010 to 4100. */
	T_CHECK(claim(&p, chunk(3990, 5000, some, 2), &fit, &off) == 1);
	T_CHECK(off == 20016);
	T_CHECK(claim(&p, chunk(4010, 4050, over, 0), &fit, &off) == 0);
	/* The place has sectors 4016 to 4032 of the image. */
	over[0].off = 4030;
	T_CHECK(claim(&p, chunk(4000, 4100, over, 1), &fit, &off) == -1);
	over[0].off = 4032;
	T_CHECK(claim(&p, chunk(4000, 4100, over, 1), &fit, &off) == 0);
	/* Sectors of the image that have the same numbers are elsewhere. */
	over[0].off = 20020;
	T_CHECK(claim(&p, chunk(20000, 20100, over, 1), &fit, &off) == 0);
	state_slot_free(&p);
	/* What goes nowhere is free nowhere. */
	begin(&p, (struct range){ 4000, 50000 });
	T_CHECK(claim(&p, chunk(5000, 9000, over, 0), &fit, &off) == 0);
	state_slot_free(&p);
}

int
main(void)
{
	test_gaps();
	test_overlap();
	test_partitions();
	test_left_out();
	test_moved();
	return t_done();
}
