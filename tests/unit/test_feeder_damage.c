/* A chunk that comes damaged: what comes again, how often, and that nothing of it is
 * written. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "common/image/read/partial.h"
#include "tests/unit/feeder_news.h"
#include "tests/unit/feeder_onto.h"
#include "tests/unit/one_chunk.h"
#include "tests/unit/scratch.h"

enum { BUFFERS = 4 };

static struct destination onto;

static struct feeder *
begin(const char *target)
{
	struct feeder *s;
	struct err e;

	onto = (struct destination){ .name = target };
	T_CHECK(mailbox_new(&box, BUFFERS + FEEDER_EVENTS, &e) == 0);
	s = feeder_onto(&onto, BUFFERS, box);
	feeder_expect(s, 1);
	memcpy(feeder_buffer(s, 1), good, sizeof good);
	return s;
}

/* The number of blocks that are to come again; 0: none. */
static uint32_t
put(struct feeder *s)
{
	feed(s, 0, 1, NDZ_CHUNK_BYTES);
	return hears(FEEDER_DAMAGED, 1) ? blockmap_count(&feeder_back(s, 1)->bad) : 0;
}

/* Damage that the fragments explain, and then some that they do not. */
static void
test_mended(void)
{
	struct feeder *s = begin(in_scratch("mended"));
	struct err e = { 0 };

	feeder_buffer(s, 1)[200000] ^= 4;
	uint32_t n = put(s);
	T_CHECK(n > 0);
	T_CHECK(n < 100);
	T_CHECK(blockmap_test(&feeder_back(s, 1)->bad, 200000 / 1024));
	T_CHECK(put(s) == WIRE_CHUNK_BLOCKS);
	T_CHECK(put(s) == n); /* what came anew is as good as what came first */
	memcpy(feeder_buffer(s, 1), good, sizeof good);
	feed(s, 0, 1, NDZ_CHUNK_BYTES);
	T_CHECK(hears(FEEDER_FREE, 1));
	feeder_end(s);
	T_CHECK(hears(FEEDER_DONE, 0));
	T_CHECK(feeder_close(s, NULL, &e) == 0);
	T_CHECK(onto.stats.chunks == 1);
	mailbox_free(box);
}

/* Of what comes again something is damaged each time, but ever less. */
static void
test_ever_less(void)
{
	struct feeder *s = begin(in_scratch("less"));
	uint32_t first;

	feeder_buffer(s, 1)[100000] ^= 4;
	feeder_buffer(s, 1)[200000] ^= 4;
	feeder_buffer(s, 1)[300000] ^= 4;
	uint32_t last = first = put(s);
	for (uint32_t at = 100000; at <= 200000; at += 100000) {
		feeder_buffer(s, 1)[at] ^= 4;
		uint32_t n = put(s);
		T_CHECK(n > 0 && n < last);
		T_CHECK(!blockmap_test(&feeder_back(s, 1)->bad, at / WIRE_BLOCK_BYTES));
		last = n;
	}
	T_CHECK(first < WIRE_CHUNK_BLOCKS);
	T_CHECK(feeder_close(s, NULL, &(struct err){ 0 }) == -1);
	mailbox_free(box);
}

/* However often: whoever gave it decides when that is enough.  Nothing is written. */
static void
test_stays_damaged(void)
{
	struct feeder *s = begin(in_scratch("bad"));
	struct err e = { 0 };

	feeder_buffer(s, 1)[200000] ^= 4;
	for (int i = 0; i < 6; i++)
		T_CHECK(put(s) > 0);
	const struct err *why = &feeder_back(s, 1)->why;
	T_CHECK(feeder_back(s, 1)->came.number == 0);
	T_CHECK(why->kind == ERR_FORMAT);
	T_CHECK(strstr(why->text, "digest") != NULL);
	T_CHECK(feeder_close(s, NULL, &e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED);
	T_CHECK(access(in_scratch("bad"), F_OK) != 0);
	mailbox_free(box);
}

/* The disk fails when all that came is being written, and nothing else comes: the load
 * ends all the same. */
static void
test_cannot_be_written(void)
{
	const char *target = in_scratch("full");
	struct rlimit before, small;
	struct feeder *s;
	struct err e = { 0 };

	FILE *f = fopen(target, "wb");
	T_CHECK(fwrite(raw, sizeof raw, 1, f) == 1);
	T_CHECK(fclose(f) == 0);
	onto = (struct destination){ .name = target, .install.in_place = true };
	T_CHECK(mailbox_new(&box, BUFFERS + FEEDER_EVENTS, &e) == 0);
	s = feeder_onto(&onto, BUFFERS, box);
	feeder_expect(s, 2);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){ sizeof raw[0], before.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	memcpy(feeder_buffer(s, 1), good, sizeof good);
	feed(s, 0, 1, NDZ_CHUNK_BYTES);
	struct event ev = news();
	if (ev.what == FEEDER_FREE)
		ev = news();
	T_CHECK(ev.what == FEEDER_FAILED);
	T_CHECK(feeder_close(s, NULL, &e) == -1);
	T_CHECK(e.kind == ERR_IO);
	T_CHECK(strstr(e.text, "writing sector") != NULL);
	setrlimit(RLIMIT_FSIZE, &before);
	mailbox_free(box);
}

/* --- chunks of which only what differs from the disk comes --- */

static struct blockmap here;

static void
arrive(struct feeder *s, const struct blockmap *blocks)
{
	for (uint32_t b = blockmap_next(blocks, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(blocks, b + 1))
		memcpy(feeder_buffer(s, 1) + b * WIRE_BLOCK_BYTES,
		    good + b * WIRE_BLOCK_BYTES, WIRE_BLOCK_BYTES);
	blockmap_add(&here, blocks);
}

/* The disk has all but windows 3 and 17; what the plan needs comes.  The first block of
 * it that holds data is told. */
static struct feeder *
begin_parts(const char *target, uint32_t *data_block)
{
	struct blockmap need = blockmap_range(0, PARTIAL_FIRST_BLOCKS);
	struct feeder *s;
	struct err e;
	bool final = false;

	FILE *f = fopen(target, "wb");
	for (unsigned i = 0; i < WINDOWS; i++) {
		raw[i][5] ^= i == 3 || i == 17;
		T_CHECK(fwrite(raw[i], sizeof raw[i], 1, f) == 1);
		raw[i][5] ^= i == 3 || i == 17;
	}
	T_CHECK(fclose(f) == 0);
	onto = (struct destination){ .name = target,
		.install = { .skip_same = true, .in_place = true } };
	T_CHECK(mailbox_new(&box, BUFFERS + FEEDER_EVENTS, &e) == 0);
	s = feeder_onto(&onto, BUFFERS, box);
	T_CHECK(feeder_info(s)->takes_parts);
	feeder_expect(s, 1);
	here = (struct blockmap){ { 0 } };
	while (!final) {
		arrive(s, &need);
		feeder_plan(s, 1, &here);
		T_CHECK(hears(FEEDER_PLANNED, 1));
		need = feeder_planned(s, 1)->need;
		final = feeder_planned(s, 1)->final;
	}
	*data_block = blockmap_next(&need, PARTIAL_FIRST_BLOCKS);
	arrive(s, &need);
	T_CHECK(blockmap_count(&here) < WIRE_CHUNK_BLOCKS / 4);
	return s;
}

static void
put_here(struct feeder *s)
{
	feeder_put(s, 1,
	    &(struct feeder_chunk){ .length = NDZ_CHUNK_BYTES, .here = &here });
}

static uint32_t
put_part(struct feeder *s)
{
	put_here(s);
	return hears(FEEDER_DAMAGED, 1) ? blockmap_count(&feeder_back(s, 1)->bad) : 0;
}

static bool
is_right(const char *target)
{
	static uint8_t now[sizeof raw];
	FILE *f = fopen(target, "rb");
	bool right = fread(now, sizeof now, 1, f) == 1;

	fclose(f);
	return right && memcmp(now, raw, sizeof raw) == 0;
}

/* First the damaged fragment, then all; from then on the chunk's own digest counts, and which
 * fragment is damaged is still known. */
static void
test_part_mended(void)
{
	const char *target = in_scratch("parts");
	struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	struct err e = { 0 };
	uint32_t at;
	struct feeder *s = begin_parts(target, &at);

	feeder_buffer(s, 1)[at * WIRE_BLOCK_BYTES + 700] ^= 4;
	uint32_t n = put_part(s);
	T_CHECK(n > 0);
	T_CHECK(n < 100);
	T_CHECK(blockmap_test(&feeder_back(s, 1)->bad, at));
	T_CHECK(put_part(s) == WIRE_CHUNK_BLOCKS);
	arrive(s, &all);
	feeder_buffer(s, 1)[at * WIRE_BLOCK_BYTES + 700] ^= 4;
	uint32_t again = put_part(s);
	T_CHECK(again > 0);
	T_CHECK(again < 100);
	arrive(s, &feeder_back(s, 1)->bad);
	put_here(s);
	T_CHECK(hears(FEEDER_FREE, 1));
	feeder_end(s);
	T_CHECK(hears(FEEDER_DONE, 0));
	T_CHECK(feeder_close(s, NULL, &e) == 0);
	T_CHECK(onto.stats.bytes_written == 2 * sizeof raw[0]);
	T_CHECK(is_right(target));
	mailbox_free(box);
}

static void
test_part_stays_damaged(void)
{
	const char *target = in_scratch("bad_parts");
	struct err e = { 0 };
	uint32_t at;
	struct feeder *s = begin_parts(target, &at);

	feeder_buffer(s, 1)[at * WIRE_BLOCK_BYTES + 700] ^= 4;
	for (int i = 0; i < 6; i++)
		T_CHECK(put_part(s) > 0);
	T_CHECK(strstr(feeder_back(s, 1)->why.text, "digest") != NULL);
	T_CHECK(feeder_close(s, NULL, &e) == -1);
	mailbox_free(box);
}

int
main(void)
{
	scratch_init();
	make_chunk();
	test_mended();
	test_ever_less();
	test_stays_damaged();
	test_cannot_be_written();
	test_part_mended();
	test_part_stays_damaged();
	return t_done();
}
