/* One partition out of an image: how chunks are cut to it, which chunks have something
 * of it, and where the image says that it lies. */
#include "common/image/read/only.h"

#include <string.h>

#include "common/image/read/imgtable.h"
#include "imageunzip/install/chunk_search.h"
#include "tests/random.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { CHUNKS_MAX = 300 };

static struct err e;

static bool
parses(const char *text, unsigned n)
{
	struct only_list l;

	return only_list_set(&l, text, &e) == 0 && l.n == n;
}

static void
test_list(void)
{
	static const char *const bad[] = { "", ",", "1,", ",1", "0", "129", "1,,2", "a",
		"vg/lv", "2a", " 1", "-1", "99999999999999999999",
		"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17" };
	struct only_list l;

	T_CHECK(parses("1", 1));
	T_CHECK(parses("128", 1));
	T_CHECK(parses("5,1,7", 3));
	T_CHECK(parses("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", ONLY_MAX));
	T_CHECK(only_list_set(&l, "5,1", &e) == 0);
	T_CHECK(l.number[0] == 5);
	T_CHECK(l.number[1] == 1);
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		T_CHECK(only_list_set(&l, bad[i], &e) != 0);
		T_CHECK(e.kind == ERR_USAGE);
	}
	T_CHECK(only_list_set(&l, "3,4,3", &e) != 0);
	T_CHECK(strstr(e.text, "twice") != NULL);
	T_CHECK(only_list_set(&l, "vg/root", &e) != 0);
	T_CHECK(strstr(e.text, "logical volume") != NULL);
}

static bool
stores(const struct ndz_header *h, uint64_t sector)
{
	for (unsigned i = 0; i < h->nregions; i++)
		if (range_clip(h->regions[i], sector, sector + 1).len != 0)
			return true;
	return false;
}

/* Every sector is in the cut chunk what it is in the whole one. */
static bool
cut_is_right(const struct ndz_header *h, struct range only)
{
	static struct ndz_header cut;
	uint64_t end = 0;

	only_header(h, only, &cut);
	for (uint64_t s = 0; s < only.len; s++) {
		uint64_t whole = only.off + s;
		bool answers = whole >= h->firstsect && whole < h->lastsect;
		if (answers != (s >= cut.firstsect && s < cut.lastsect) ||
		    stores(h, whole) != stores(&cut, s))
			return false;
		end = stores(h, whole) ? s + 1 : end;
	}
	for (unsigned i = 0; i < cut.nregions; i++)
		if (cut.regions[i].len == 0 ||
		    !range_within(cut.regions[i], cut.lastsect) ||
		    (i > 0 && cut.regions[i].off <= range_end(cut.regions[i - 1])))
			return false;
	return end == only_stored_end(h, only) && cut.nrelocs == 0 &&
	       only_touches(h, only) == (cut.lastsect > cut.firstsect);
}

static void
test_cut(void)
{
	static struct ndz_header h;
	bool right = true;

	for (unsigned round = 0; round < 500; round++) {
		h = (struct ndz_header){ .firstsect = draw(40), .nrelocs = 1 };
		uint64_t at = h.firstsect + draw(3);
		for (h.nregions = 0; h.nregions < 1 + draw(6); h.nregions++) {
			h.regions[h.nregions] = (struct range){ at, 1 + draw(9) };
			at += h.regions[h.nregions].len + 1 + draw(5);
		}
		h.lastsect = range_end(h.regions[h.nregions - 1]) + draw(4);
		right &= cut_is_right(&h, (struct range){ draw(90), 1 + draw(60) });
	}
	T_CHECK(right);
}

/* Chunks, and which of them were fetched. */
struct made {
	uint32_t n;
	struct range span[CHUNKS_MAX];
	bool fetched[CHUNKS_MAX];
	unsigned count;
};

static void
fetch(struct made *m, struct chunk_search *s, uint32_t i)
{
	m->count += !m->fetched[i];
	m->fetched[i] = true;
	chunk_search_note(s, i, m->span[i]);
}

/* As parts_search.c does it; false: it does not come to an end. */
static bool
find(struct made *m, struct range want, bool out[CHUNKS_MAX])
{
	uint32_t chunk, probes[CHUNK_SEARCH_PROBES];
	struct chunk_search s;

	memset(out, 0, CHUNKS_MAX * sizeof *out);
	memset(m->fetched, 0, sizeof m->fetched);
	m->count = 0;
	chunk_search_begin(&s, m->n, want);
	fetch(m, &s, 0);
	for (unsigned round = 0; round < 2 * CHUNKS_MAX; round++) {
		while (chunk_search_next(&s, &chunk)) {
			out[chunk] = true;
			fetch(m, &s, chunk);
		}
		unsigned n = chunk_search_probe(&s, probes);
		if (n == 0)
			return true;
		for (unsigned i = 0; i < n; i++) {
			if (probes[i] >= m->n || m->fetched[probes[i]])
				return false;
			fetch(m, &s, probes[i]);
		}
	}
	return false;
}

static unsigned
log2_of(uint32_t n)
{
	unsigned bits = 0;

	for (; n > 0; n /= 2)
		bits++;
	return bits;
}

static void
test_search(void)
{
	static struct made m;
	bool right = true, few = true, found[CHUNKS_MAX];

	for (unsigned round = 0; round < 2000; round++) {
		uint64_t at = 0;
		m.n = 1 + (uint32_t)draw(CHUNKS_MAX);
		for (uint32_t i = 0; i < m.n; i++) {
			at += draw(10) == 0 ? draw(20) : 0; /* a hole, in old images */
			m.span[i] = (struct range){ at, 1 + draw(30) };
			at += m.span[i].len;
		}
		struct range want = { draw(at + 10), 1 + draw(at / 3 + 5) };
		right &= find(&m, want, found);
		unsigned have = 0;
		for (uint32_t i = 0; i < m.n; i++) {
			struct range r = range_clip(
			    m.span[i], want.off, range_end(want));
			have += r.len != 0;
			right &= found[i] == (r.len != 0);
		}
		few &= m.count <= have + 2 * log2_of(m.n) + 1;
	}
	T_CHECK(right);
	T_CHECK(few);
	/* Headers that contradict one another: it ends. */
	for (unsigned round = 0; round < 2000; round++) {
		m.n = 1 + (uint32_t)draw(CHUNKS_MAX);
		for (uint32_t i = 0; i < m.n; i++)
			m.span[i] = (struct range){ draw(100), 1 + draw(40) };
		right &= find(&m, (struct range){ draw(100), 1 + draw(50) }, found);
	}
	T_CHECK(right);
}

/* A chunk that stores these sectors of a disk, uncompressed in the sense of zlib. */
static void
make_chunk(uint8_t chunk[NDZ_CHUNK_BYTES], int32_t index, const struct mem *disk,
    struct range span, struct range stored)
{
	struct ndz_header h = { .version = 3,
		.index = index,
		.firstsect = span.off,
		.lastsect = range_end(span),
		.nregions = 1,
		.regions[0] = stored };
	uLongf n = NDZ_STREAM_MAX;

	memset(chunk, 0, NDZ_CHUNK_BYTES);
	T_CHECK(
	    compress(chunk + NDZ_HEADER_BYTES, &n, disk->b + stored.off * SECTOR_BYTES,
		stored.len * SECTOR_BYTES) == Z_OK);
	h.size = (uint32_t)n;
	T_CHECK(ndz_header_put(&h, chunk, &e) == 0);
}

static int
learn(struct imgtable *t, uint32_t number, const uint8_t *bytes)
{
	static struct chunk c;

	if (chunk_parse(&c, bytes, &e) != 0)
		return -1;
	int rc = imgtable_learn(t, number, &c, bytes, &e);
	chunk_free(&c);
	return rc;
}

static void
test_table(void)
{
	static uint8_t bytes[400 * SECTOR_BYTES], first[NDZ_CHUNK_BYTES],
	    second[NDZ_CHUNK_BYTES];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct imgtable *t;
	uint64_t sector;

	mbr_put(&m, 0, 0, 0x83, 10, 50);
	mbr_put(&m, 0, 1, 0x05, 100, 250);
	mbr_put(&m, 100, 0, 0x83, 10, 50); /* 5: at 110 */
	mbr_put(&m, 100, 1, 0x05, 100, 100);
	mbr_put(&m, 200, 0, 0x83, 10, 60); /* 6: at 210 */
	make_chunk(first, 0, &m, (struct range){ 0, 150 }, (struct range){ 0, 120 });
	make_chunk(
	    second, 1, &m, (struct range){ 150, 250 }, (struct range){ 200, 100 });
	T_CHECK(imgtable_new(&t, &e) == 0);
	T_CHECK(imgtable_needs(t, &sector));
	T_CHECK(sector == 0);
	T_CHECK(learn(t, 0, first) == 0);
	T_CHECK(imgtable_find(t, 1) != NULL);
	T_CHECK(imgtable_find(t, 1)->sectors.off == 10);
	T_CHECK(imgtable_find(t, 5) != NULL);
	T_CHECK(imgtable_find(t, 5)->sectors.off == 110);
	T_CHECK(imgtable_find(t, 6) == NULL);
	T_CHECK(imgtable_needs(t, &sector));
	T_CHECK(sector == 200);
	T_CHECK(learn(t, 1, second) == 0);
	T_CHECK(imgtable_find(t, 6) != NULL);
	T_CHECK(imgtable_find(t, 6)->sectors.len == 60);
	T_CHECK(!imgtable_needs(t, &sector));
	T_CHECK(imgtable_refuse(t, 2, &e) != 0);
	T_CHECK(e.kind == ERR_ABSENT);
	T_CHECK(strstr(e.text, "no partition 2: it has partitions 1, 5, 6") != NULL);
	imgtable_free(t);
	/* The chunk with the second EBR is to be had nowhere. */
	T_CHECK(imgtable_new(&t, &e) == 0);
	T_CHECK(learn(t, 0, first) == 0);
	T_CHECK(imgtable_cannot(t, 200, &e) == 0);
	T_CHECK(!imgtable_needs(t, &sector));
	imgtable_free(t);
}

/* With any byte of the tables changed there is an error, or a table, and an end. */
static void
test_damaged_table(void)
{
	static uint8_t bytes[400 * SECTOR_BYTES], chunk[NDZ_CHUNK_BYTES];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct imgtable *t;
	uint64_t sector;
	bool ended = true;

	mbr_put(&m, 0, 0, 0x83, 10, 50);
	mbr_put(&m, 0, 1, 0x05, 100, 250);
	mbr_put(&m, 100, 0, 0x83, 10, 50);
	for (unsigned i = 0; i < 2 * 66; i++) {
		uint8_t *at = &bytes[(i < 66 ? 0 : 100 * SECTOR_BYTES) + 446 + i % 66];
		*at ^= (uint8_t)(1 + i);
		make_chunk(
		    chunk, 0, &m, (struct range){ 0, 150 }, (struct range){ 0, 120 });
		*at ^= (uint8_t)(1 + i);
		ended &= imgtable_new(&t, &e) == 0;
		if (learn(t, 0, chunk) == 0)
			for (unsigned k = 0; k < 200 && imgtable_needs(t, &sector); k++)
				ended &= imgtable_cannot(t, sector, &e) == 0;
		ended &= !imgtable_needs(t, &sector);
		imgtable_free(t);
	}
	T_CHECK(ended);
}

int
main(void)
{
	test_list();
	test_cut();
	test_search();
	test_table();
	test_damaged_table();
	return t_done();
}
