/* The record of a disk's tail: to bytes and back, cut short, impossible; what it says
 * of sectors; and in a chunk, where room was kept for it. */
#include "common/image/format/ext_tail.h"

#include <string.h>

#include "tests/unit/ext_in_chunk.h"

static const struct tail example = { .n = 3,
	.pieces = { { { 1000, 100 }, TAIL_UNKNOWN }, { { 1100, 20 }, TAIL_MD1 },
	    { { 1150, 50 }, 77 } },
	.disk_sectors = 1200,
	.needed = 900 };

static size_t
write(const struct tail *t, uint8_t *buf, size_t cap)
{
	struct wr w = wr_to(buf, cap);

	tail_put(t, &w);
	T_CHECK(wr_ok(&w));
	return wr_len(&w);
}

static bool
reads(const void *bytes, size_t n, struct tail *t)
{
	struct rd r = rd_from(bytes, n);
	struct err e;

	*t = (struct tail){ .n = 0 };
	return tail_get(t, &r, &e) == 0 && rd_ok(&r);
}

static void
test_round_trip(void)
{
	uint8_t buf[TAIL_HEAD_BYTES + TAIL_PIECES_MAX * TAIL_PIECE_BYTES];
	struct tail t = example, back;
	size_t n = write(&t, buf, sizeof buf);
	bool good = true;

	T_CHECK(n == TAIL_HEAD_BYTES + 3 * TAIL_PIECE_BYTES);
	T_CHECK(tail_record_bytes(&t) == 8 + n);
	T_CHECK(reads(buf, n, &back));
	T_CHECK(tail_same(&t, &back));
	for (size_t cut = 0; cut < n; cut++)
		good &= !reads(buf, cut, &back);
	T_CHECK(good);
	t.pieces[2].kind = 78;
	T_CHECK(!tail_same(&t, &back));
	T_CHECK(!tail_same(&example, &t));
	t = (struct tail){ .n = 0 };
	T_CHECK(tail_record_bytes(&t) == 0);
	t = (struct tail){ .n = TAIL_PIECES_MAX, .disk_sectors = 1200 };
	for (size_t i = 0; i < t.n; i++)
		t.pieces[i].sectors = (struct range){ 1000 + i, 1 };
	n = write(&t, buf, sizeof buf);
	T_CHECK(n == sizeof buf);
	T_CHECK(reads(buf, n, &back));
	T_CHECK(tail_same(&t, &back));
	buf[16]++; /* one piece too many */
	T_CHECK(!reads(buf, n, &back));
}

static void
test_impossible(void)
{
	static const struct range bad[][2] = {
		{ { 1000, 0 }, { 1100, 1 } },
		{ { 1000, 101 }, { 1100, 1 } },
		{ { 1100, 1 }, { 1000, 1 } },
		{ { 1000, 1 }, { 1199, 2 } },
		{ { 1000, 1 }, { UINT64_MAX, 2 } },
		{ { 1000, 1 }, { 1100, UINT64_MAX } },
	};
	uint8_t buf[TAIL_HEAD_BYTES + 2 * TAIL_PIECE_BYTES];
	struct tail back;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct tail t = { .n = 2, .disk_sectors = 1200 };
		for (size_t k = 0; k < 2; k++)
			t.pieces[k].sectors = bad[i][k];
		T_CHECK(!reads(buf, write(&t, buf, sizeof buf), &back));
	}
	struct tail t = { .n = 1, .pieces = { { { 5, 1 }, 0 } }, .disk_sectors = 10 };
	T_CHECK(reads(buf, write(&t, buf, sizeof buf), &back));
	t.needed = 11;
	T_CHECK(!reads(buf, write(&t, buf, sizeof buf), &back));
	t.needed = 0;
	t.disk_sectors = UINT64_MAX / 512 + 1;
	T_CHECK(!reads(buf, write(&t, buf, sizeof buf), &back));
	t = (struct tail){ .n = 0 };
	T_CHECK(!reads(buf, write(&t, buf, sizeof buf), &back));
}

static void
test_sectors(void)
{
	static const struct range some[] = { { 0, 10 }, { 850, 160 }, { 1099, 2 },
		{ 1110, 40 } };
	uint64_t sectors[TAIL_PIECES_MAX] = { 0 };
	const struct tail_piece *p;
	char text[200];

	T_CHECK(tail_run(&example, (struct range){ 0, 5 }, &p) == 5);
	T_CHECK(p == NULL);
	T_CHECK(tail_run(&example, (struct range){ 990, 50 }, &p) == 10);
	T_CHECK(p == NULL);
	T_CHECK(tail_run(&example, (struct range){ 1000, 500 }, &p) == 100);
	T_CHECK(p == &example.pieces[0]);
	T_CHECK(tail_run(&example, (struct range){ 1119, 500 }, &p) == 1);
	T_CHECK(p == &example.pieces[1]);
	T_CHECK(tail_run(&example, (struct range){ 1120, 500 }, &p) == 30);
	T_CHECK(p == NULL);
	T_CHECK(tail_run(&example, (struct range){ 1200, UINT64_MAX - 1200 }, &p) ==
		UINT64_MAX - 1200);
	T_CHECK(p == NULL);
	T_CHECK(tail_rest_end(&example, some, 4) == 1150);
	T_CHECK(tail_rest_end(&example, some, 3) == 1000);
	T_CHECK(tail_rest_end(&example, &some[2], 1) == 0);
	T_CHECK(!tail_touches(&example, some, 1));
	T_CHECK(tail_touches(&example, some, 2));
	tail_count(&example, some, 4, sectors);
	T_CHECK(sectors[0] == 11);
	T_CHECK(sectors[1] == 11);
	T_CHECK(sectors[2] == 0);
	T_CHECK(strcmp(tail_text(&example, sectors, text, sizeof text),
		    "5.6 kB of unknown data, 5.6 kB of a Linux RAID superblock "
		    "(version 1.0)") == 0);
	sectors[2] = 1;
	T_CHECK(strlen(tail_text(&example, sectors, text, 30)) == 29);
	T_CHECK(strstr(tail_text(&example, sectors, text, sizeof text),
		    " of metadata of an unknown kind") != NULL);
	for (uint32_t kind = 0; kind < TAIL_KINDS; kind++)
		T_CHECK(tail_kind_name(kind) != NULL);
}

/* In a chunk: twice is damage, and so is a chunk that reaches beyond the disk. */
static void
test_in_a_chunk(void)
{
	struct ext x = { .has_uuid = true, .tail = example }, back;
	struct err e;

	through_chunk(&x, &back);
	T_CHECK(tail_same(&back.tail, &example));
	ext_free(&back);
	ext_header.lastsect = 1201;
	T_CHECK(ext_get(&back, &ext_header, ext_chunk, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	struct rd r;
	uint8_t buf[200];
	size_t n = write(&example, buf, sizeof buf);
	r = rd_from(buf, n);
	back.tail = example;
	T_CHECK(tail_get(&back.tail, &r, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
}

int
main(void)
{
	test_round_trip();
	test_impossible();
	test_sectors();
	test_in_a_chunk();
	return t_done();
}
