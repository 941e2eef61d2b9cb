/* The extension area: round trip, and records put together by hand as
 * docs/image-format.md has them: unknown, cut short, contradictory. */
#include "common/image/format/ext.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/wr.h"
#include "tests/t.h"

static uint8_t chunk[NDZ_CHUNK_BYTES];

/* Sectors 0..299 and 1000..1009: windows 0, 1, 2 and 7. */
static struct ndz_header header = { .version = 3,
	.size = 8 + 100 + 30,
	.lastsect = 2000,
	.nregions = 2,
	.regions = { { 0, 300 }, { 1000, 10 } } };

static size_t
area_at(void)
{
	return (NDZ_HEADER_BYTES + header.size + 7) / 8 * 8;
}

/* Records go behind the head, which end_area() fills in. */
static struct wr
begin_area(void)
{
	memset(chunk, 0, sizeof chunk);
	struct wr w = wr_to(chunk + area_at(), NDZ_CHUNK_BYTES - area_at());
	wr_zero(&w, 16);
	return w;
}

static void
end_area(const struct wr *w)
{
	struct wr head = wr_to(w->base, 16);

	wr_bytes(&head, "NDZ-EXT1", 8);
	wr_le32(&head, (uint32_t)wr_len(w));
	wr_le32(&head, (uint32_t)crc32(0, w->base + 16, (uInt)(wr_len(w) - 16)));
}

static void
put_record(struct wr *w, unsigned type, const void *body, size_t len)
{
	wr_le16(w, (uint16_t)type);
	wr_le16(w, 0);
	wr_le32(w, (uint32_t)len);
	wr_bytes(w, body, len);
	wr_zero(w, (8 - len % 8) % 8);
}

/* Read what is in chunk[]: 0 and *x, or -1. */
static int
get(struct ext *x)
{
	struct err e;
	int rc = ext_get(x, &header, chunk, &e);

	if (rc != 0)
		T_CHECK(e.kind == ERR_FORMAT);
	return rc;
}

static bool
refused(void)
{
	struct ext x;

	if (get(&x) != 0)
		return true;
	ext_free(&x);
	return false;
}

static void
test_round_trip(void)
{
	struct ext_fragment table[] = {
		{ .bytes = 100, .windows = 1, .digest = "0123456789abcde" },
		{ .bytes = 30, .windows = 3, .zero = true },
	};
	struct ext x = { .has_uuid = true,
		.uuid = "fedcba987654321",
		.has_digest = true,
		.has_header_digest = true,
		.header_digest = { 9, 8, 7 },
		.digest = "a digest",
		.last = true,
		.nchunks = 77,
		.has_image = true,
		.image = { EXT_KIND_PARTITION, 123456789012345, 4096, 1700000000,
		    "imagezip 9", "1:ext4 2:swap", EXT_IMAGE_LIVE | 0x80,
		    241126541040 },
		.table = EXT_TABLE_WINDOWS,
		.nfragments = 2,
		.fragments = table };
	struct ext back;
	struct err e;

	memset(chunk, 0, sizeof chunk);
	T_CHECK(ext_put(&x, &header, chunk, &e) == 0);
	T_CHECK(get(&back) == 0);
	T_CHECK(back.present);
	T_CHECK(back.has_uuid);
	T_CHECK(memcmp(back.uuid, x.uuid, sizeof x.uuid) == 0);
	T_CHECK(back.has_digest);
	T_CHECK(memcmp(back.digest, x.digest, sizeof x.digest) == 0);
	T_CHECK(back.has_header_digest);
	T_CHECK(memcmp(back.header_digest, x.header_digest,
		sizeof x.header_digest) == 0);
	T_CHECK(back.last);
	T_CHECK(back.nchunks == 77);
	T_CHECK(back.has_image);
	T_CHECK(back.image.kind == EXT_KIND_PARTITION);
	T_CHECK(back.image.sector_bytes == 4096);
	T_CHECK(back.image.source_bytes == 123456789012345);
	T_CHECK(back.image.needed_sectors == 241126541040);
	T_CHECK(back.image.made_at == 1700000000);
	T_CHECK(back.image.flags == (EXT_IMAGE_LIVE | 0x80));
	T_CHECK(strcmp(back.image.tool, "imagezip 9") == 0);
	T_CHECK(strcmp(back.image.filesystems, "1:ext4 2:swap") == 0);
	T_CHECK(back.table == EXT_TABLE_WINDOWS);
	T_CHECK(back.nfragments == 2);
	T_CHECK(back.fragments[0].bytes == 100);
	T_CHECK(!back.fragments[0].zero);
	T_CHECK(memcmp(back.fragments[0].digest, table[0].digest, 16) == 0);
	T_CHECK(back.fragments[1].bytes == 30);
	T_CHECK(back.fragments[1].zero);
	T_CHECK(back.fragments[1].windows == 3);
	T_CHECK(back.fragments[0].sectors == 128);
	T_CHECK(back.fragments[1].sectors == 300 - 128 + 10);
	size_t used = NDZ_CHUNK_BYTES;
	while (chunk[used - 1] == 0)
		used--;
	T_CHECK(used - area_at() <= ext_need(2, true));
	ext_free(&back);
	/* A damaged byte anywhere behind the magic is noticed. */
	bool good = true;
	for (size_t at = area_at() + 8; at < used; at++) {
		chunk[at] ^= 0x10;
		good &= refused();
		chunk[at] ^= 0x10;
	}
	T_CHECK(good);
}

/* What the writer counts on for its accounts, at the very end of a chunk. */
static void
test_room(void)
{
	enum { N = 500 };
	static struct ext_fragment table[N];
	struct ext x = { .has_uuid = true,
		.has_digest = true,
		.last = true,
		.nchunks = 1,
		.has_image = true,
		.table = EXT_TABLE_WINDOWS,
		.nfragments = N,
		.fragments = table };
	struct ndz_header h = header;
	struct err e;

	memset(x.image.tool, 'x', sizeof x.image.tool - 1);
	memset(x.image.filesystems, 'y', sizeof x.image.filesystems - 1);
	for (size_t i = 0; i < N; i++)
		table[i].bytes = 1;
	h.size = (uint32_t)(NDZ_STREAM_MAX - ext_need(N, true));
	memset(chunk, 0, sizeof chunk);
	T_CHECK(ext_put(&x, &h, chunk, &e) == 0);
	h.size = NDZ_STREAM_MAX - 40;
	T_CHECK(ext_put(&x, &h, chunk, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	h.size = NDZ_STREAM_MAX;
	T_CHECK(ext_put(&x, &h, chunk, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(ext_get(&x, &h, chunk, &e) == 0);
	T_CHECK(!x.present);
}

static void
test_unknown(void)
{
	struct ext x;
	struct wr w = begin_area();
	uint8_t later[40] = { 9 }; /* an algorithm of the future */

	T_CHECK(get(&x) == 0);
	T_CHECK(!x.present); /* nothing there */
	end_area(&w);
	T_CHECK(get(&x) == 0);
	T_CHECK(x.present);
	T_CHECK(!x.has_uuid);
	T_CHECK(x.table == EXT_TABLE_NONE);
	put_record(&w, 6, "signature", 9);
	put_record(&w, 999, "", 0);
	put_record(&w, 2, later, sizeof later);
	put_record(&w, 3, later, 8);
	put_record(&w, 1, "0123456789abcdef", 16);
	end_area(&w);
	T_CHECK(get(&x) == 0);
	T_CHECK(x.present);
	T_CHECK(x.has_uuid);
	T_CHECK(!x.has_digest);
	T_CHECK(x.table == EXT_TABLE_NONE);
	T_CHECK(x.fragments == NULL);
	ext_free(&x);
}

/* Records that end before their fields do, and areas that end in a record. */
static void
test_short(void)
{
	static const uint8_t body[400] = { 1 };
	bool good = true;

	for (unsigned type = 1; type <= 13; type++)
		for (size_t len = 0; len < sizeof body; len++) {
			struct wr w = begin_area();
			struct ext x;

			put_record(&w, type, body, len);
			end_area(&w);
			if (get(&x) == 0) {
				good &= x.fragments == NULL || x.nfragments > 0;
				ext_free(&x);
			}
			/* The record's end is cut off. */
			if (len > 0) {
				w.off -= (len + 7) / 8 * 8;
				end_area(&w);
				good &= refused();
			}
		}
	T_CHECK(good);
	struct wr w = begin_area();
	wr_zero(&w, 5);
	end_area(&w);
	T_CHECK(refused());
	w = begin_area();
	end_area(&w);
	struct wr total = wr_to(w.base + 8, 4);
	wr_le32(&total, 15);
	T_CHECK(refused());
	total = wr_to(w.base + 8, 4);
	wr_le32(&total, UINT32_MAX);
	T_CHECK(refused());
}

struct entry {
	uint32_t word;
	uint64_t windows;
};

/* A record of type 3 or 13, with the other one's twin behind it when it is to be so. */
static bool
record_is_good(unsigned type, uint32_t claimed, const struct entry *entries, unsigned n,
    bool twice)
{
	uint8_t body[400];
	struct wr w = begin_area(), b = wr_to(body, sizeof body);
	struct ext x;

	wr_bytes(&b, type == 3 ? "\1\1\20\20" : "\1\1\20\0", 4);
	wr_le32(&b, claimed);
	for (unsigned i = 0; i < n; i++) {
		wr_le32(&b, entries[i].word);
		wr_le64(&b, entries[i].windows);
		wr_zero(&b, 8);
	}
	put_record(&w, type, body, wr_len(&b));
	if (twice)
		put_record(&w, type, body, wr_len(&b));
	end_area(&w);
	if (get(&x) != 0)
		return false;
	ext_free(&x);
	return true;
}

static bool
table_is_good(uint32_t claimed, const struct entry *entries, unsigned n)
{
	return record_is_good(3, claimed, entries, n, false);
}

/* The header's regions have 310 sectors, and its stream 130 bytes of fragments. */
static void
test_sectors(void)
{
	const uint32_t zero = 1u << 31;
	const struct ndz_header before = header;
	const struct entry two[] = { { 100 | 199u << 20, 0 }, { 30 | 109u << 20, 0 } };
	const struct entry run[] = { { 100 | 19u << 20, 0 }, { zero | 30, 290 } };
	const struct entry too_few[] = { { 100 | 198u << 20, 0 }, { 30 | 109u << 20, 0 } };
	const struct entry too_many[] = { { 100 | 199u << 20, 0 }, { 30 | 110u << 20, 0 } };
	const struct entry wraps[] = { { 50 | 309u << 20, 0 }, { zero | 40, UINT64_MAX },
		{ zero | 40, 1 } };
	const struct entry none[] = { { 100 | 309u << 20, 0 }, { zero | 30, 0 } };
	const struct entry odd_bits[] = { { 100 | 19u << 20, 0 },
		{ zero | 30 | 1u << 20, 290 } };
	const struct entry no_bytes[] = { { 0 | 19u << 20, 0 }, { zero | 130, 290 } };
	const struct entry wrong_sum[] = { { 101 | 199u << 20, 0 }, { 30 | 109u << 20, 0 } };
	const struct entry most[] = { { 130 | 2047u << 20, 0 } };

	T_CHECK(record_is_good(13, 2, two, 2, false));
	T_CHECK(record_is_good(13, 2, run, 2, false));
	T_CHECK(!record_is_good(13, 2, two, 2, true));
	T_CHECK(!record_is_good(13, 1, two, 2, false));
	T_CHECK(!record_is_good(13, 3, two, 2, false));
	T_CHECK(!record_is_good(13, UINT32_MAX, two, 2, false));
	T_CHECK(!record_is_good(13, 2, too_few, 2, false));
	T_CHECK(!record_is_good(13, 2, too_many, 2, false));
	T_CHECK(!record_is_good(13, 3, wraps, 3, false));
	T_CHECK(!record_is_good(13, 2, none, 2, false));
	T_CHECK(!record_is_good(13, 2, odd_bits, 2, false));
	T_CHECK(!record_is_good(13, 2, no_bytes, 2, false));
	T_CHECK(!record_is_good(13, 2, wrong_sum, 2, false));
	header.nregions = 1;
	header.regions[0].len = 2048;
	header.lastsect = 3000;
	T_CHECK(record_is_good(13, 1, most, 1, false));
	header = before;
}

/* What is written is what is read, and every other length of the area is refused. */
static void
test_sectors_round_trip(void)
{
	struct ext_fragment table[] = {
		{ .bytes = 90, .sectors = 17, .digest = "0123456789abcde" },
		{ .bytes = 20, .sectors = 200, .zero = true },
		{ .bytes = 20, .sectors = 93, .digest = "edcba9876543210" },
	};
	struct ext x = { .table = EXT_TABLE_SECTORS, .nfragments = 3, .fragments = table };
	struct ext back;
	struct err e;
	bool good = true;

	memset(chunk, 0, sizeof chunk);
	T_CHECK(ext_put(&x, &header, chunk, &e) == 0);
	size_t bytes = ext_area_bytes(&header, chunk);
	if (!T_CHECK(get(&back) == 0))
		return;
	T_CHECK(back.table == EXT_TABLE_SECTORS);
	T_CHECK(back.nfragments == 3);
	for (size_t i = 0; i < 3; i++)
		good &= back.fragments[i].bytes == table[i].bytes &&
		        back.fragments[i].sectors == table[i].sectors &&
		        back.fragments[i].zero == table[i].zero &&
		        back.fragments[i].windows == 0 &&
		        memcmp(back.fragments[i].digest, table[i].digest, 16) == 0;
	T_CHECK(good);
	ext_free(&back);
	for (size_t n = 24; n < bytes; n++) {
		struct wr cut = { .base = chunk + area_at(), .cap = n, .off = n };
		end_area(&cut);
		good &= refused();
	}
	T_CHECK(good);
}

static void
test_tables(void)
{
	const uint32_t zero = 1u << 31;
	const struct entry four[] = { { 40, 0 }, { 30, 0 }, { 30, 0 }, { 30, 0 } };
	const struct entry run[] = { { 100, 0 }, { zero | 30, 3 } };
	const struct entry too_few[] = { { 100, 0 }, { zero | 30, 2 } };
	const struct entry too_many[] = { { 100, 0 }, { zero | 30, 4 } };
	const struct entry wraps[] = { { 50, 0 }, { zero | 30, UINT64_MAX },
		{ zero | 50, 4 } };
	const struct entry wrong_sum[] = { { 101, 0 }, { zero | 30, 3 } };
	const struct entry odd_bits[] = { { 100 | 1u << 24, 0 }, { zero | 30, 3 } };
	const struct entry empty[] = { { 100, 0 }, { zero | 30, 3 }, { zero, 0 } };
	const struct entry no_windows[] = { { 100, 0 }, { zero | 15, 3 },
		{ zero | 15, 0 } };
	const struct entry no_bytes[] = { { 0, 0 }, { zero | 130, 3 } };

	T_CHECK(table_is_good(4, four, 4));
	T_CHECK(table_is_good(2, run, 2));
	T_CHECK(!table_is_good(3, four, 4));
	T_CHECK(!table_is_good(5, four, 4));
	T_CHECK(!table_is_good(0, four, 0));
	T_CHECK(!table_is_good(UINT32_MAX, four, 4));
	T_CHECK(!table_is_good(EXT_FRAGMENTS_MAX + 1, four, 4));
	T_CHECK(!table_is_good(2, too_few, 2));
	T_CHECK(!table_is_good(2, too_many, 2));
	T_CHECK(!table_is_good(3, wraps, 3));
	T_CHECK(!table_is_good(2, wrong_sum, 2));
	T_CHECK(!table_is_good(2, odd_bits, 2));
	T_CHECK(!table_is_good(3, empty, 3));
	T_CHECK(!table_is_good(3, no_windows, 3));
	T_CHECK(!table_is_good(2, no_bytes, 2));
}

/* A fragment of several windows: as many as its bits say, and no more than 16. */
static void
test_windows(void)
{
	const struct ndz_header before = header;
	const struct entry most[] = { { 100 | 15u << 24, 0 } };
	const struct entry fewer[] = { { 100 | 14u << 24, 0 } };
	const struct entry too_many[] = { { 100 | 16u << 24, 0 } };

	header.size = 8 + 100;
	header.nregions = 1;
	header.regions[0] = (struct range){ 0, 16 * 128 };
	T_CHECK(table_is_good(1, most, 1));
	T_CHECK(!table_is_good(1, fewer, 1));
	T_CHECK(!table_is_good(1, too_many, 1));
	header.regions[0].len = 17 * 128;
	T_CHECK(!table_is_good(1, too_many, 1));
	T_CHECK(!table_is_good(1, most, 1));
	header = before;
}

/* Texts end up on terminals. */
static void
test_texts(void)
{
	uint8_t body[600] = { EXT_KIND_DISK, EXT_IMAGE_LIVE };
	struct wr b = wr_to(body + 24, sizeof body - 24), w = begin_area();
	struct ext x;

	wr_le16(&b, 9);
	wr_bytes(&b, "a\033[2J\n\177zb", 9);
	wr_le16(&b, 500);
	memset(body + 24 + 13, 'f', 500);
	put_record(&w, 5, body, 24 + 13 + 500);
	end_area(&w);
	T_CHECK(get(&x) == 0);
	T_CHECK(x.has_image);
	T_CHECK(x.image.flags == EXT_IMAGE_LIVE);
	T_CHECK(strcmp(x.image.tool, "a?[2J??zb") == 0);
	T_CHECK(strlen(x.image.filesystems) == sizeof x.image.filesystems - 1);
	ext_free(&x);
}

/* A delta's records: what it is, of what, and what is free. */
static void
test_delta(void)
{
	struct range freed[] = { { 300, 100 }, { 500, 500 }, { 1010, 990 } };
	struct ext x = { .has_state = true,
		.state = { .kind = EXT_STATE_UUID, .id = "new" },
		.base = { EXT_STATE_SIGNATURE, 2, 128,
		    "0123456789abcdef0123456789abcde" },
		.nfreed = 3,
		.freed = freed };
	struct ext back;
	struct err e;
	char text[128];

	memset(chunk, 0, sizeof chunk);
	T_CHECK(ext_put(&x, &header, chunk, &e) == 0);
	T_CHECK(get(&back) == 0);
	T_CHECK(back.has_state);
	T_CHECK(ext_is_delta(&back));
	T_CHECK(ext_state_same(&x.state, &back.state));
	T_CHECK(ext_state_same(&x.base, &back.base));
	T_CHECK(!ext_state_same(&x.base, &back.state));
	T_CHECK(back.nfreed == 3);
	T_CHECK(memcmp(back.freed, freed, sizeof freed) == 0);
	T_CHECK(strcmp(ext_state_text(&back.state, text, sizeof text),
		    "UUID 6e657700000000000000000000000000") == 0);
	ext_free(&back);
	/* Another kind of a later version is a delta all the same. */
	x.base.kind = 77;
	T_CHECK(ext_put(&x, &header, chunk, &e) == 0);
	T_CHECK(get(&back) == 0);
	T_CHECK(ext_is_delta(&back));
	ext_state_text(&back.base, text, 20);
	T_CHECK(strlen(text) < 20);
	ext_free(&back);
	x.base.kind = EXT_STATE_NONE;
	T_CHECK(!ext_is_delta(&x));
}

static void
put_freed(struct wr *w, const struct range *r, size_t n, size_t odd_bytes)
{
	uint8_t body[128] = { 0 };
	struct wr b = wr_to(body, sizeof body);

	for (size_t i = 0; i < n; i++) {
		wr_le64(&b, r[i].off);
		wr_le64(&b, r[i].len);
	}
	put_record(w, 8, body, n * 16 + odd_bytes);
}

static void
test_freed(void)
{
	static const struct range bad[][2] = {
		{ { 310, 10 }, { 300, 5 } }, /* descends */
		{ { 310, 10 }, { 319, 5 } }, /* overlaps */
		{ { 310, 0 }, { 319, 5 } },  /* empty */
		{ { 299, 2 }, { 400, 5 } },  /* stored */
		{ { 900, 101 }, { 1500, 5 } },
		{ { 900, 500 }, { 1500, 5 } },
		{ { 310, 10 }, { 1990, 11 } }, /* behind the chunk */
		{ { 310, 10 }, { 1990, UINT64_MAX } },
		{ { UINT64_MAX, 10 }, { 1990, 1 } },
	};
	static const struct range good[2] = { { 300, 700 }, { 1010, 990 } };
	struct wr w;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		w = begin_area();
		put_freed(&w, bad[i], 2, 0);
		end_area(&w);
		T_CHECK(refused());
	}
	for (int odd = 0; odd < 3; odd++) {
		w = begin_area();
		put_freed(&w, good, 2, odd == 1 ? 8 : 0);
		if (odd == 2)
			put_freed(&w, good, 2, 0); /* twice */
		end_area(&w);
		T_CHECK(refused() == (odd != 0));
	}
	for (size_t n = 0; n < 80; n += 7) { /* a state that is cut short */
		w = begin_area();
		put_record(&w, 7, good, n < sizeof good ? n : sizeof good);
		end_area(&w);
		T_CHECK(refused());
	}
}

int
main(void)
{
	test_delta();
	test_freed();
	test_round_trip();
	test_room();
	test_unknown();
	test_short();
	test_tables();
	test_sectors();
	test_sectors_round_trip();
	test_windows();
	test_texts();
	return t_done();
}
