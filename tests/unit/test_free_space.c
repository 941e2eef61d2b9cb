/* Whose the free space is, on disks of three partitions that adjoin or do not, with
 * chunks in any order and the image's table known before, between or after them: what is
 * free is filled, but for partitions of which no chunk stores anything. */
#include "imageunzip/install/free_space.h"

#include <string.h>

#include "tests/random.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { SECTORS = 4096, PARTS = 3, CHUNKS_MAX = 64, ROUNDS = 400, POISON = 0xa5 };

static uint8_t bytes[SECTORS * SECTOR_BYTES];
static struct range part[PARTS];
static struct ndz_header chunk[CHUNKS_MAX];
static unsigned nchunks;
static bool stored[SECTORS], some[PARTS];

static void
make_table(void)
{
	uint64_t at = 1;

	memset(bytes, POISON, sizeof bytes);
	memset(bytes, 0, SECTOR_BYTES);
	for (unsigned i = 0; i < PARTS; i++) {
		at += draw(2) * draw(300);
		part[i] = (struct range){ at, 200 + draw(900) };
		at = range_end(part[i]);
		struct wr w = wr_to(bytes + 446 + 16 * i, 16);
		wr_le32(&w, 0);
		wr_le32(&w, 0x83);
		wr_le32(&w, (uint32_t)part[i].off);
		wr_le32(&w, (uint32_t)part[i].len);
	}
	bytes[510] = 0x55;
	bytes[511] = 0xaa;
}

/* Chunks that answer for all up to some place in front of the end, with one to three
 * regions each. */
static void
make_chunks(void)
{
	uint64_t at = 0, end = SECTORS - 1 - draw(200);

	memset(stored, 0, sizeof stored);
	memset(some, 0, sizeof some);
	for (nchunks = 0; at < end && nchunks < CHUNKS_MAX; nchunks++) {
		struct ndz_header *h = &chunk[nchunks];
		*h = (struct ndz_header){ .firstsect = at };
		for (unsigned n = 1 + draw(3); h->nregions < n && at < end;) {
			at += nchunks + h->nregions > 0 ? 1 + draw(400) : 0;
			struct range r = range_clip(
			    (struct range){ at, 1 + draw(60) }, 0, end);
			if (r.len == 0)
				break;
			h->regions[h->nregions++] = r;
			at = range_end(r);
			memset(stored + r.off, true, r.len);
		}
		at = at > end ? end : at;
		h->lastsect = at;
		if (h->nregions == 0)
			break;
	}
	for (unsigned p = 0; p < PARTS; p++)
		for (uint64_t s = part[p].off; s < range_end(part[p]); s++)
			some[p] |= stored[s];
}

/* As areas_of_image() would have found them. */
static void
learn(struct free_space *c)
{
	struct err e;

	for (unsigned i = 0; i < PARTS; i++)
		T_CHECK(areas_add(&c->areas,
			    (struct area){ .sectors = part[i], .number = i + 1 },
			    &e) == 0);
	rangeset_seal(&c->stored);
	for (size_t i = 0; i < rangeset_count(&c->stored); i++)
		areas_note(&c->areas, rangeset_get(&c->stored, i));
	c->known = true;
}

static int
fill_chunk(struct free_space *c, struct target *t, const struct ndz_header *h, bool *owes)
{
	uint64_t from = h->firstsect;
	struct err e;
	int rc = 0;

	*owes = false;
	for (unsigned i = 0; i < h->nregions; i++) {
		rc |= free_space_fill(c, t, from, h->regions[i].off, owes, &e);
		from = range_end(h->regions[i]);
	}
	rc |= free_space_fill(c, t, from, h->lastsect, owes, &e);
	t->covered_end = h->lastsect > t->covered_end ? h->lastsect : t->covered_end;
	return rc;
}

/* What stands in each sector now: its old bytes, zeros where it was free. */
static unsigned
wrong_sectors(void)
{
	unsigned wrong = 0;

	for (unsigned s = 1; s < SECTORS; s++) {
		bool kept = stored[s];
		for (unsigned p = 0; p < PARTS; p++)
			kept |= !some[p] && s >= part[p].off && s < range_end(part[p]);
		for (unsigned i = 0; i < SECTOR_BYTES; i++)
			wrong += bytes[s * SECTOR_BYTES + i] != (kept ? POISON : 0);
	}
	return wrong;
}

static void
one_round(struct target *t, unsigned learn_at, unsigned *owing)
{
	struct rangeset left;
	struct areas areas;
	struct free_space c;
	uint64_t passed;
	struct err e;
	bool owes;

	make_table();
	make_chunks();
	t->covered_end = 0;
	free_space_init(&c);
	free_space_attach(&c, t);
	T_CHECK(c.asked);
	for (unsigned i = nchunks; i > 1; i--) {
		unsigned k = draw(i);
		struct ndz_header h = chunk[k];
		chunk[k] = chunk[i - 1];
		chunk[i - 1] = h;
	}
	int rc = 0;
	for (unsigned i = 0; i < nchunks; i++) {
		if (i == learn_at)
			learn(&c);
		for (unsigned k = 0; k < chunk[i].nregions; k++)
			rc |= free_space_note(&c, chunk[i].regions[k], &e);
		rc |= fill_chunk(&c, t, &chunk[i], &owes);
		*owing += owes;
	}
	areas_init(&areas);
	rangeset_init(&left);
	rc |= free_space_areas(&c, t, t->disk, 0, NULL, &areas, &e) != 1;
	rc |= areas_left_out(&areas, true, &left, &e);
	rangeset_seal(&left);
	rc |= free_space_fill_rest(&c, t, &left, &passed, &e);
	T_CHECK(rc == 0);
	T_CHECK(wrong_sectors() == 0);
	areas_free(&areas);
	rangeset_free(&left);
	free_space_free(&c);
}

/* A label that cannot be read may tell of partitions inside. */
static void
test_unsure(struct target *t)
{
	struct area a = { .sectors = { 100, 100 }, .number = 1, .unsure = true };
	struct rangeset left;
	struct free_space c;
	struct err e;
	bool owes = false;

	free_space_init(&c);
	free_space_attach(&c, t);
	c.known = true;
	T_CHECK(areas_add(&c.areas, a, &e) == 0);
	areas_note(&c.areas, (struct range){ 150, 1 });
	T_CHECK(free_space_fill(&c, t, 10, 90, &owes, &e) == 0);
	T_CHECK(!owes);
	T_CHECK(free_space_fill(&c, t, 160, 170, &owes, &e) == 0);
	T_CHECK(owes);
	rangeset_init(&left);
	T_CHECK(areas_left_out(&c.areas, false, &left, &e) == 0);
	rangeset_seal(&left);
	T_CHECK(rangeset_count(&left) == 0);
	free_space_free(&c);
}

int
main(void)
{
	struct mem m = mem_of(bytes, sizeof bytes);
	struct install_config cfg = { .zero = true };
	struct target t = { .cfg = &cfg,
		.disk = mem_disk(&m, DISK_FILE, 512),
		.room = SECTORS };
	unsigned early = 0, late = 0;
	struct err e;

	for (unsigned i = 0; i < ROUNDS; i++) /* every fourth time too late */
		one_round(&t, i % 4 == 0 ? CHUNKS_MAX : draw(8),
		    i % 4 == 0 ? &late : &early);
	T_CHECK(early > 0);
	T_CHECK(late > 0);
	test_unsure(&t);
	disk_close(t.disk, &e);
	return t_done();
}
