/* A client whose server's blocks somebody repeats: none of them brings anything, and none may put
 * off for ever what the client asks for. */
#include "frisbee/client/client_requests.h"
#include "tests/t.h"
#include "tests/unit/client_talk.h"

enum { CHUNKS = 6, LAST = 1023, STEP = 10 * MS, LONG = 30000 * MS };

/* What passes again, a packet each step, from the first of these blocks of chunks on. */
struct repeated {
	uint32_t chunk, block;
};

/* Takes what the client says at this time.  Returns how many packets that were. */
static unsigned
hush(struct client *c, uint64_t now)
{
	struct wire_msg m;
	unsigned n = 0;

	while (says(c, now, &m))
		n++;
	return n;
}

/* Repeats these blocks for a long time.  Returns the longest silence of the client. */
static uint64_t
longest_silence(struct client *c, uint64_t now, const struct repeated *what, unsigned n)
{
	uint64_t said = now, longest = 0, end = now + LONG;
	uint32_t brought = 0;

	for (unsigned i = 0; now < end; i++, now += STEP) {
		const struct repeated *r = &what[i % n];
		brought += blocks(c, now, r->chunk, r->block, r->block);
		if (hush(c, now) > 0)
			said = now;
		longest = now - said > longest ? now - said : longest;
	}
	T_CHECK(brought == 0);
	return longest;
}

static void
takes_all(struct client *c)
{
	uint32_t chunk, buf, bytes;

	while (client_take(c, &chunk, &buf, &bytes))
		client_release(c, 10 * MS, buf);
}

/* It has chunk 0; of those up to `lacks` all but the first blocks; and those from `more` on. */
static struct client *
has_some(uint32_t lacks, uint32_t more)
{
	struct client *c = loading(8, CHUNKS);

	hush(c, 1 * MS);
	T_CHECK(blocks(c, 10 * MS, 0, 0, LAST) == LAST + 1);
	for (uint32_t i = 1; i <= lacks; i++)
		T_CHECK(blocks(c, 10 * MS, i, 10, LAST) == LAST - 9);
	for (uint32_t i = more; i < CHUNKS; i++)
		T_CHECK(blocks(c, 10 * MS, i, 0, LAST) == LAST + 1);
	takes_all(c);
	hush(c, 10 * MS);
	return c;
}

static void
check(struct client *c, const struct repeated *what, unsigned n)
{
	T_CHECK(longest_silence(c, 20 * MS, what, n) <= CLIENT_PATIENCE_US + TICK);
	client_free(c);
}

/* What was requested is lost, and a chunk that is whole passes again. */
static void
test_whole_chunk(void)
{
	check(has_some(0, CHUNKS), (const struct repeated[]){ { 0, 5 } }, 1);
}

/* A chunk that lacks something seems to be sent for ever. */
static void
test_endless_pass(void)
{
	check(has_some(1, CHUNKS), (const struct repeated[]){ { 1, 20 } }, 1);
	check(has_some(1, 2), (const struct repeated[]){ { 1, 20 } }, 1);
}

/* Two that lack something seem to be sent in turns. */
static void
test_turns(void)
{
	check(has_some(2, CHUNKS), (const struct repeated[]){ { 1, 20 }, { 2, 20 } }, 2);
}

/* The chunk is needed now. */
static void
test_urgent(void)
{
	struct client *c = has_some(1, 2);

	client_urgent(c, 20 * MS, 1);
	check(c, (const struct repeated[]){ { 1, 20 } }, 1);
}

/* A chunk of which something comes is waited for. */
static void
test_comes_slowly(void)
{
	struct client *c = has_some(1, 2);
	uint64_t now = 20 * MS;
	uint32_t first = 0;

	hush(c, now);
	for (; first < 10; now += CLIENT_PATIENCE_US / 2) {
		struct wire_msg m;
		T_CHECK(blocks(c, now, 1, first, first) == 1);
		for (first++; says(c, now, &m);)
			T_CHECK(m.subtype != WIRE_PREQ || m.u.preq.chunk != 1);
	}
	client_free(c);
}

int
main(void)
{
	test_whole_chunk();
	test_endless_pass();
	test_turns();
	test_urgent();
	test_comes_slowly();
	return t_done();
}
