/* Where the server is in the image, as a client sees it, without a session. */
#include "frisbee/client/client_position.h"
#include "tests/t.h"

enum { MS = 1000, CHUNKS = 20, GUARD = 3 * MS };

static struct client_position
begin(bool sets)
{
	struct client_position p;

	client_position_begin(&p, CHUNKS);
	client_position_interleave(&p, sets);
	return p;
}

static void
test_passes(void)
{
	struct client_position p = begin(false);
	struct client_passed passed;

	T_CHECK(!client_position_goes_on(&p, 3));
	T_CHECK(!client_position_pass_ends(&p, 0, &passed));
	client_position_pass_begins(&p, 0, 3, 100);
	T_CHECK(p.begun == 100);
	T_CHECK(client_position_goes_on(&p, 3));
	T_CHECK(!client_position_goes_on(&p, 4));
	T_CHECK(client_position_pass_ends(&p, 5 * MS, &passed));
	T_CHECK(passed.chunk == 3);
	T_CHECK(passed.first == 3);
	T_CHECK(passed.count == 1);
	T_CHECK(!client_position_in_pass(&p, 3));
}

static void
test_turns(void)
{
	struct client_position p = begin(true);
	struct client_passed passed;

	client_position_pass_begins(&p, 0, 9, 0);
	T_CHECK(client_position_goes_on(&p, 15));
	T_CHECK(p.current == 15);
	T_CHECK(client_position_in_pass(&p, 8));
	T_CHECK(!client_position_in_pass(&p, 7));
	T_CHECK(!client_position_in_pass(&p, 16));
	T_CHECK(client_position_pass_ends(&p, 1, &passed));
	T_CHECK(passed.chunk == 15);
	T_CHECK(passed.first == 8);
	T_CHECK(passed.count == 8);
	T_CHECK(!client_position_in_pass(&p, 8)); /* CHUNKS / 8 == 16 / 8 */
	T_CHECK(!client_position_in_pass(&p, 16));
}

static void
test_stragglers(void)
{
	struct client_position p = begin(false);
	struct client_passed passed;

	client_position_pass_begins(&p, 0, 3, 0);
	client_position_pass_ends(&p, 10 * MS, &passed);
	T_CHECK(client_position_may_be_late(&p, 10 * MS + GUARD - 1, 3));
	T_CHECK(!client_position_may_be_late(&p, 10 * MS + GUARD, 3));
	T_CHECK(!client_position_may_be_late(&p, 10 * MS, 4));
	client_position_straggler(&p, 1 * MS);
	T_CHECK(p.guard_us == GUARD);
	client_position_straggler(&p, 40 * MS);
	T_CHECK(p.guard_us == 80 * MS);
	client_position_straggler(&p, 900 * MS);
	T_CHECK(p.guard_us == 1000 * MS);
	for (unsigned i = 0; i < 2000; i++)
		client_position_pass_begins(&p, 0, 3, 0);
	T_CHECK(p.guard_us >= GUARD);
	T_CHECK(p.guard_us < GUARD + 64);
}

static void
test_speed(void)
{
	struct client_position p = begin(false);

	for (unsigned i = 1; i < 1024 / 8; i++)
		T_CHECK(!client_position_came(&p, i * MS, 8));
	T_CHECK(client_position_came(&p, 128 * MS, 8));
	T_CHECK(p.chunk_us == 128 * MS);
	T_CHECK(!client_position_came(&p, 150 * MS, 1023));
	T_CHECK(client_position_came(&p, 160 * MS, 2)); /* 2049 */
	T_CHECK(p.chunk_us == 32 * MS);
	T_CHECK(p.received == 2049);
	client_position_pass_begins(&p, 160 * MS, 7, 0);
	client_position_complete(&p, 180 * MS, 6);
	T_CHECK(p.chunk_us == 32 * MS);
	client_position_complete(&p, 180 * MS, 7);
	T_CHECK(p.chunk_us == 20 * MS);
	client_position_interleave(&p, true); /* others came meanwhile */
	client_position_complete(&p, 190 * MS, 7);
	T_CHECK(p.chunk_us == 20 * MS);
}

static void
test_last_block(void)
{
	struct client_position p = begin(false);

	client_position_at(&p, 5, 2, 77, 1);
	client_position_parity(&p);
	client_position_parity(&p);
	T_CHECK(p.block_us == 5);
	T_CHECK(p.at_chunk == 2);
	T_CHECK(p.at_block == 77);
	T_CHECK(p.since == 2);
	for (unsigned i = 0; i < 70000; i++)
		client_position_parity(&p);
	T_CHECK(p.since == UINT16_MAX);
	client_position_at(&p, 6, 2, 78, 1);
	T_CHECK(p.since == 0);
}

int
main(void)
{
	test_passes();
	test_turns();
	test_stragglers();
	test_speed();
	test_last_block();
	return t_done();
}
