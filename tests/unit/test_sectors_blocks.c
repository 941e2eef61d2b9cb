/* Which blocks of an image hold given sectors: with these blocks alone the sectors can be read,
 * and they are few where the chunk has a table that can be trusted. */
#include "common/image/read/sectors_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "common/image/format/ext.h"
#include "tests/unit/golden.h"
#include "tests/unit/known_file.h"

/* Find the blocks of the sectors, and let only these be read.  Returns how many there are, and 0
 * after an error, too. */
static uint32_t
find(struct sectors_blocks *b, struct range r)
{
	struct blockmap need;
	uint32_t chunk, n = 0;
	struct err e;
	int rc;

	file.limited = false;
	memset(file.known, 0, sizeof file.known);
	while ((rc = sectors_blocks_next(b, &r, &chunk, &need, &e)) == 1) {
		if (blockmap_empty(&need) || (chunk + 1) * NDZ_CHUNK_BYTES > file.mem.len)
			return 0;
		for (uint32_t i = blockmap_next(&need, 0); i < WIRE_CHUNK_BLOCKS;
		     i = blockmap_next(&need, i + 1))
			n += know(chunk, i);
	}
	if (rc != 0)
		printf("# %s\n", e.text);
	return rc == 0 ? n : 0;
}

static bool
stores_any(const struct model *m, struct range r)
{
	bool any = false;

	for (uint64_t i = r.off; i < range_end(r); i++)
		any |= m->stored[i];
	return any;
}

static void
test_any(const struct model *m)
{
	struct sectors *s = open_file();
	struct sectors_blocks *b;
	struct err e;
	bool good = true;

	T_CHECK(sectors_blocks_new(&b, s, &e) == 0);
	for (unsigned i = 0; i < 60; i++) {
		struct range r = { draw(m->total), 1 + draw(READ_MOST) };
		if (r.len > m->total - r.off)
			r.len = m->total - r.off;
		uint32_t n = find(b, r);
		good &= (n > 0) == stores_any(m, r) && suffices(r, m);
	}
	T_CHECK(good);
	sectors_blocks_free(b);
	sectors_close(s);
}

/* A stored sector of chunk 1. */
static uint64_t
in_chunk_1(const struct sectors *s, const struct model *m)
{
	uint64_t end;

	for (uint64_t i = 0; i < m->total; i++)
		if (m->stored[i] && sectors_chunk_of(s, i, &end) == 1)
			return i;
	abort();
}

/* One sector needs few blocks; when the table is damaged, all of the chunk. */
static void
test_few(const struct model *m)
{
	struct sectors *s = open_file();
	struct range one = { in_chunk_1(s, m), 1 };
	struct sectors_blocks *b;
	struct ndz_header h;
	struct err e;

	T_CHECK(sectors_blocks_new(&b, s, &e) == 0);
	uint32_t n = find(b, one);
	T_CHECK(n > 0 && n < WIRE_CHUNK_BLOCKS / 2);
	sectors_blocks_free(b);
	uint8_t *chunk = file.mem.b + NDZ_CHUNK_BYTES;
	T_CHECK(ndz_header_get(&h, chunk, NDZ_CHUNK_BYTES, &e) == 0);
	chunk[ext_area_at(&h) + EXT_HEAD_BYTES] ^= 0x10;
	T_CHECK(sectors_blocks_new(&b, s, &e) == 0);
	T_CHECK(find(b, one) == WIRE_CHUNK_BLOCKS);
	sectors_blocks_free(b);
	sectors_close(s);
}

/* An image of Emulab's, which has no tables. */
static void
test_golden(void)
{
	struct sectors_blocks *b;
	struct err e;
	size_t len;
	uint8_t *bytes = golden_load("raw", &len);

	if (bytes == NULL || len > IMAGE_MOST)
		abort();
	memcpy(file.mem.b, bytes, len);
	file.mem.len = len;
	free(bytes);
	struct sectors *s = open_file();
	T_CHECK(sectors_blocks_new(&b, s, &e) == 0);
	T_CHECK(find(b, (struct range){ 3, 1 }) == WIRE_CHUNK_BLOCKS);
	sectors_blocks_free(b);
	sectors_close(s);
}

int
main(void)
{
	static const char *const names[] = { "deflate:1", "zstd:1" };
	struct model *m = malloc(sizeof *m);

	scratch_init();
	file.mem.b = malloc(IMAGE_MOST);
	if (m == NULL || file.mem.b == NULL)
		abort();
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct err e;
		if (codec_parse(&codec, names[i], &e) != 0) {
			printf("# %s\n", e.text);
			T_CHECK(e.kind == ERR_UNSUPPORTED);
			continue;
		}
		make_model(m, 40);
		write_image("a.ndz", m, false, NULL);
		load_file(in_scratch("a.ndz"));
		test_any(m);
		/* A fragment of zstd may hold as much noise as a chunk. */
		if (i == 0)
			test_few(m);
	}
	test_golden();
	free(file.mem.b);
	free(m);
	return t_done();
}
