/* Records, names, numbers and recipes: round trips, and every truncation refused. */
#include <string.h>

#include "common/base/crc32c.h"
#include "emustore/store/recipe.h"
#include "tests/t.h"

static void
test_crc(void)
{
	static uint8_t bytes[1000];

	T_CHECK(crc32c("123456789", 9) == 0xe3069283);
	T_CHECK(crc32c("", 0) == 0);
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7);
	uint32_t whole = crc32c(bytes, sizeof bytes), parts = 0;
	bool same = true;
	for (unsigned i = 0; i <= sizeof bytes; i++) {
		parts = crc32c_more(crc32c(bytes, i), bytes + i, sizeof bytes - i);
		same = same && parts == whole;
	}
	T_CHECK(same);
}

static void
test_records(void)
{
	uint8_t bytes[RECORD_HEAD_BYTES], f[FRAGMENT_HEAD_BYTES];
	struct record_head h = { RECORD_FRAGMENT, 123456789012, 77, 88 }, back;
	struct fragment_head x = { .raw_bytes = 65536, .adler = 5 }, y;
	struct err e;
	bool found = true;

	record_put_head(&h, bytes);
	T_CHECK(record_get_head(&back, bytes, sizeof bytes));
	T_CHECK(back.type == h.type);
	T_CHECK(back.number == h.number);
	T_CHECK(back.body_bytes == 77);
	T_CHECK(back.body_crc == 88);
	for (size_t n = 0; n < sizeof bytes; n++)
		found = found && !record_get_head(&back, bytes, n);
	T_CHECK(found);
	for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		found = found && !record_get_head(&back, bytes, sizeof bytes);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	T_CHECK(found);
	memset(x.sha256, 3, sizeof x.sha256);
	fragment_put_head(&x, f);
	T_CHECK(fragment_get_head(&y, f, sizeof f, &e) == -1); /* no data behind it */
	T_CHECK(record_whole_bytes(0) == 32);
	T_CHECK(record_whole_bytes(1) == 40);
}

static void
test_names(void)
{
	static const char *const bad[] = { "", "..", "a/..", "/a", "a/", "a//b", ".a",
		"-a", "a b", "a:0", "a:x", "a:", ":1", "a:1:2", "a\n", "\303\244" };
	struct store_name n;
	struct err e;

	T_CHECK(store_name_get(&n, "ubuntu24:3", &e) == 0);
	T_CHECK(n.version == 3);
	T_CHECK(store_name_get(&n, "lab/x-1.2+b_c:latest", &e) == 0);
	T_CHECK(n.version == 0);
	T_CHECK(strcmp(n.name, "lab/x-1.2+b_c") == 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		T_CHECK(store_name_get(&n, bad[i], &e) == -1);
		T_CHECK(e.kind == ERR_USAGE);
	}
}

static void
test_numbers(void)
{
	static const uint64_t all[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX,
		INT64_MAX, UINT64_MAX };
	struct buf b = { 0 };
	bool same = true;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		buf_number(&b, all[i]);
	struct rd r = rd_from(b.base, b.len);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		same = same && rd_number(&r) == all[i];
	T_CHECK(same);
	T_CHECK(rd_done(&r));
	static const uint8_t too_long[] = { 255, 255, 255, 255, 255, 255, 255, 255, 255,
		2 };
	r = rd_from(too_long, sizeof too_long);
	rd_number(&r);
	T_CHECK(!rd_ok(&r));
	buf_free(&b);
}

static void
fill(struct recipe_chunk *c, enum ext_table table)
{
	static const uint8_t header[40] = { 1, 2, 3 }, rest[100] = { 9, 8, 7 };
	struct err e;

	*c = (struct recipe_chunk){ .codec = &codec_deflate,
		.table = table,
		.crc = 5,
		.stream_bytes = 5000,
		.header = header,
		.header_bytes = sizeof header,
		.rest = rest,
		.rest_bytes = sizeof rest,
		.table_at = 50 };
	recipe_add_piece(c, &(struct recipe_piece){ .number = 1000 }, &e);
	recipe_add_piece(c, &(struct recipe_piece){ .number = 1001 }, &e);
	recipe_add_piece(c,
	    &(struct recipe_piece){ .zero = true, .windows = 4, .raw_bytes = 262144 },
	    &e);
	recipe_add_piece(c, &(struct recipe_piece){ .number = 3 }, &e);
	recipe_add_piece(c, &(struct recipe_piece){ .number = UINT64_MAX >> 3 }, &e);
}

static void
test_chunk(enum ext_table table)
{
	struct recipe_chunk c, back = { 0 };
	struct buf b = { 0 };
	struct err e;
	bool refused = true;

	fill(&c, table);
	recipe_put_chunk(&b, &c);
	struct rd r = rd_from(b.base, b.len);
	T_CHECK(recipe_get_chunk(&back, &r, &e) == 0);
	T_CHECK(rd_done(&r));
	T_CHECK(back.npieces == 5);
	T_CHECK(memcmp(back.pieces, c.pieces, 5 * sizeof *c.pieces) == 0);
	T_CHECK(back.rest_bytes == 100);
	T_CHECK(back.table == table);
	T_CHECK(back.table_at == 50);
	T_CHECK(back.stream_bytes == 5000);
	T_CHECK(memcmp(back.header, c.header, 40) == 0);
	T_CHECK(memcmp(back.rest, c.rest, 100) == 0);
	for (size_t n = 0; n < b.len; n++) {
		r = rd_from(b.base, n);
		refused = refused && recipe_get_chunk(&back, &r, &e) == -1;
	}
	T_CHECK(refused);
	recipe_chunk_free(&c);
	recipe_chunk_free(&back);
	buf_free(&b);
}

static void
fill_redeflated(struct recipe_chunk *c)
{
	static const uint8_t header[40] = { 1, 2, 3 };
	struct err e;

	*c = (struct recipe_chunk){ .codec = &codec_deflate,
		.redeflated = true,
		.how = { REDEFLATE_FLUSHED, 4, 8, "1.2.13" },
		.adler = 77,
		.crc = 5,
		.stream_bytes = 5000,
		.header = header,
		.header_bytes = sizeof header };
	memset(c->sha256, 9, sizeof c->sha256);
	recipe_add_piece(c, &(struct recipe_piece){ .number = 1000 }, &e);
	recipe_add_piece(c,
	    &(struct recipe_piece){ .zero = true, .windows = 4, .raw_bytes = 262144 },
	    &e);
}

/* The same bytes with one of them changed must be refused. */
static void
check_refused(struct buf *b, size_t at, uint8_t value)
{
	struct recipe_chunk back = { 0 };
	struct err e;
	uint8_t before = b->base[at];

	b->base[at] = value;
	struct rd r = rd_from(b->base, b->len);
	T_CHECK(recipe_get_chunk(&back, &r, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	b->base[at] = before;
	recipe_chunk_free(&back);
}

static void
test_redeflated(void)
{
	struct recipe_chunk c, back = { 0 };
	struct buf b = { 0 };
	struct err e;
	bool refused = true;

	fill_redeflated(&c);
	recipe_put_chunk(&b, &c);
	struct rd r = rd_from(b.base, b.len);
	T_CHECK(recipe_get_chunk(&back, &r, &e) == 0);
	T_CHECK(rd_done(&r));
	T_CHECK(back.redeflated);
	T_CHECK(back.npieces == 2);
	T_CHECK(back.adler == 77);
	T_CHECK(back.crc == 5);
	T_CHECK(back.how.rule == REDEFLATE_FLUSHED);
	T_CHECK(back.how.level == 4);
	T_CHECK(back.how.memory == 8);
	T_CHECK(strcmp(back.how.zlib, "1.2.13") == 0);
	T_CHECK(memcmp(back.sha256, c.sha256, sizeof c.sha256) == 0);
	T_CHECK(back.rest_bytes == 0);
	T_CHECK(back.stream_bytes == 5000);
	for (size_t n = 0; n < b.len; n++) {
		r = rd_from(b.base, n);
		refused = refused && recipe_get_chunk(&back, &r, &e) == -1;
	}
	T_CHECK(refused);
	size_t how_at = b.len - SHA256_BYTES - 4 - 6 - 4;
	check_refused(&b, how_at, 0); /* rule */
	check_refused(&b, how_at, REDEFLATE_RULE_MAX + 1);
	check_refused(&b, how_at + 1, 10); /* level */
	check_refused(&b, how_at + 2, 0);  /* memory */
	check_refused(&b, how_at + 2, 10);
	check_refused(&b, how_at + 3, REDEFLATE_VERSION_MAX + 1);
	check_refused(&b, how_at + 5, '\n');
	check_refused(&b, 0, 64);           /* pieces of no codec */
	check_refused(&b, 0, 64 + 128 + 1); /* and a table */
	recipe_chunk_free(&c);
	recipe_chunk_free(&back);
	buf_free(&b);
}

static void
test_image(void)
{
	static struct recipe_image i = { .name = { "lab/x", 3 },
		.parent = "y:1",
		.put_at = 7,
		.data_bytes = 9,
		.chunks = 1,
		.nlabels = 1,
		.labels = { { "os", "none" } } },
				   back;
	struct recipe_block k;
	struct buf b = { 0 }, plain = { 0 }, out = { 0 };
	struct err e;
	bool refused = true;

	recipe_put_image(&b, &i);
	size_t head = b.len;
	buf_bytes(&plain, "some recipe", 11);
	T_CHECK(recipe_put_block(&b, 1, &plain, &e) == 0);
	struct rd r = rd_from(b.base, b.len);
	T_CHECK(recipe_get_image(&back, &r, &e) == 0);
	T_CHECK(strcmp(back.name.name, "lab/x") == 0);
	T_CHECK(back.name.version == 3);
	T_CHECK(strcmp(back.parent, "y:1") == 0);
	T_CHECK(strcmp(back.labels[0].value, "none") == 0);
	T_CHECK(recipe_get_block(&k, &r, &e) == 1);
	T_CHECK(recipe_unpack(&k, &out, &e) == 0);
	T_CHECK(out.len == 11);
	T_CHECK(memcmp(out.base, plain.base, 11) == 0);
	T_CHECK(recipe_get_block(&k, &r, &e) == 0);
	for (size_t n = 0; n < head; n++) {
		r = rd_from(b.base, n);
		refused = refused && recipe_get_image(&back, &r, &e) == -1;
	}
	for (size_t n = head + 1; n < b.len; n++) {
		r = rd_from(b.base + head, n - head);
		refused = refused && recipe_get_block(&k, &r, &e) == -1;
	}
	T_CHECK(refused);
	b.base[0] = 2;
	r = rd_from(b.base, b.len);
	T_CHECK(recipe_get_image(&back, &r, &e) == 0);
	T_CHECK(back.redeflated);
	b.base[0] = 9;
	r = rd_from(b.base, b.len);
	T_CHECK(recipe_get_image(&back, &r, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	buf_free(&b);
	buf_free(&plain);
	buf_free(&out);
}

int
main(void)
{
	test_crc();
	test_records();
	test_names();
	test_numbers();
	test_chunk(EXT_TABLE_WINDOWS);
	test_chunk(EXT_TABLE_SECTORS);
	test_redeflated();
	test_image();
	return t_done();
}
