/* Which chunks a slow client leaves out: the same ones as others, as many as needed. */
#include "frisbee/client/client_skip.h"

#include "tests/t.h"

enum { CHUNKS = 2000, BUFFERS = 64 };

/* A disk that takes own_us for a chunk, a stream that brings one in stream_us. */
static struct client_skip
measured(uint64_t own_us, uint64_t stream_us)
{
	struct client_skip s = { 0 };
	uint64_t now = 1000;

	for (int i = 0; i < 100; i++) {
		client_skip_released(&s, now += own_us, i < 99);
		client_skip_streamed(&s, stream_us);
	}
	/* What came after a pause tells nothing of the disk. */
	client_skip_released(&s, now + 100 * own_us, false);
	return s;
}

static unsigned
left_out(const struct client_skip *s, uint32_t nfree)
{
	unsigned n = 0;

	for (uint32_t c = 0; c < CHUNKS; c++)
		n += client_skip_leaves_out(s, c, nfree, BUFFERS);
	return n;
}

static void
test_share(void)
{
	struct client_skip s = measured(144000, 110000);

	T_CHECK(left_out(&s, BUFFERS) == 0);
	T_CHECK(left_out(&s, 7) == 0);
	T_CHECK(left_out(&s, 0) >= CHUNKS - 1);
	/* Half of the tenth is free: half of the chunks, evenly. */
	unsigned half = left_out(&s, 3), run = 0, longest = 0;
	T_CHECK(half > CHUNKS / 2);
	T_CHECK(half < CHUNKS * 6 / 10);
	for (uint32_t c = 0; c < CHUNKS; c++) {
		run = client_skip_leaves_out(&s, c, 3, BUFFERS) ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	T_CHECK(longest <= 2);
}

/* Another one, slower and with less room, leaves out these, too. */
static void
test_same(void)
{
	struct client_skip a = measured(144000, 110000), b = measured(500000, 110000);
	unsigned others = 0;

	for (uint32_t nfree = 0; nfree < 6; nfree++)
		for (uint32_t c = 0; c < CHUNKS; c++)
			others += client_skip_leaves_out(&a, c, nfree + 1, BUFFERS) &&
			          !client_skip_leaves_out(&b, c, nfree, BUFFERS);
	T_CHECK(others == 0);
}

static void
test_fast(void)
{
	struct client_skip nearly = measured(125000, 110000), none = { 0 };

	T_CHECK(left_out(&nearly, 0) == 0);
	T_CHECK(left_out(&none, 0) == 0);
}

int
main(void)
{
	test_share();
	test_same();
	test_fast();
	return t_done();
}
