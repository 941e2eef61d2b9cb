/* A chunk that comes damaged: what comes again, how often, and that nothing of it is
 * written. */
#include <poll.h>

#include "frisbee/partial.h"
#include "frisbee/sink.h"
#include "tests/unit/one_chunk.h"
#include "tests/unit/scratch.h"

enum { BUFFERS = 4 };

static struct mailbox *box;

/* What the sink says next; UINT32_MAX: nothing. */
static uint32_t
news(void)
{
	struct pollfd fd = { .fd = mailbox_fd(box), .events = POLLIN };
	uint32_t n;

	/* What was taken before may still make it readable. */
	while (!mailbox_take(box, &n))
		if (poll(&fd, 1, 20000) != 1)
			return UINT32_MAX;
	return n;
}

static struct sink *
begin(const char *target)
{
	struct sink_config cfg = { .target = target, .buffers = BUFFERS };
	struct sink *s;
	struct err e;

	T_CHECK(mailbox_new(&box, BUFFERS + SINK_NEWS, &e) == 0);
	T_CHECK(sink_new(&s, &cfg, box, &e) == 0);
	sink_expect(s, 1);
	memcpy(sink_buffer(s, 1), good, sizeof good);
	return s;
}

/* The number of blocks that are to come again; 0: none. */
static uint32_t
put(struct sink *s)
{
	sink_put(s, 0, 1, NDZ_CHUNK_BYTES, NULL);
	return news() == 2 * BUFFERS + 2 + 1 ? blockmap_count(sink_damaged(s, 1)) : 0;
}

/* Damage that the fragments explain, and then some that they do not. */
static void
test_mended(void)
{
	struct sink *s = begin(in_scratch("mended"));
	struct install_stats st;
	struct err e = { 0 };

	sink_buffer(s, 1)[200000] ^= 4;
	uint32_t n = put(s);
	T_CHECK(n > 0 && n < 100 && blockmap_test(sink_damaged(s, 1), 200000 / 1024));
	T_CHECK(put(s) == WIRE_CHUNK_BLOCKS);
	memcpy(sink_buffer(s, 1), good, sizeof good);
	sink_put(s, 0, 1, NDZ_CHUNK_BYTES, NULL);
	T_CHECK(news() == 1);
	sink_end(s);
	T_CHECK(news() == BUFFERS + 1);
	T_CHECK(sink_close(s, &st, &e) == 0 && st.chunks == 1);
	mailbox_free(box);
}

static void
test_given_up(void)
{
	struct sink *s = begin(in_scratch("bad"));
	struct install_stats st;
	struct err e = { 0 };

	sink_buffer(s, 1)[200000] ^= 4;
	T_CHECK(put(s) > 0 && put(s) > 0 && put(s) > 0);
	sink_put(s, 0, 1, NDZ_CHUNK_BYTES, NULL);
	T_CHECK(news() == 1 && news() == BUFFERS);
	T_CHECK(sink_close(s, &st, &e) == -1 && e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, "chunk 0, which came 4 times: ") != NULL);
	T_CHECK(access(in_scratch("bad"), F_OK) != 0);
	mailbox_free(box);
}

int
main(void)
{
	scratch_init();
	make_chunk();
	test_mended();
	test_given_up();
	return t_done();
}
