/* The client's engine: never more chunks than there are buffers. */
#include "frisbee/client/client_chunks.h"
#include "tests/t.h"
#include "tests/unit/client_talk.h"

/* A chunk whose beginning found no buffer makes room for one that begins. */
static void
test_dubious(void)
{
	struct client *c = loading(1, 3);
	uint32_t chunk, buf, bytes;

	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(is_silent(c, 0));
	blocks(c, 1, 0, 0, 1023);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(blocks(c, 2, 1, 0, 499) == 0);
	client_release(c, 3, buf);
	T_CHECK(blocks(c, 4, 1, 500, 599) == 100);
	T_CHECK(blocks(c, 5, 2, 7, 9) == 0); /* not its first block */
	T_CHECK(blocks(c, 5, 2, 0, 1023) == 1024);
	T_CHECK(client_counters(c).wire.partial_drops == 1);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(chunk == 2);
	client_release(c, 6, buf);
	T_CHECK(blocks(c, 7, 1, 500, 599) == 100); /* from the beginning again */
	client_free(c);
}

/* A shell that keeps chunks for a while, by its own book-keeping. */
struct shell {
	uint32_t buffers, in_use, most;
	struct {
		bool used, ours;
		uint32_t chunk;
	} buf[8];
	bool wrong;
};

static void
shell_stores(struct shell *s, const struct client_store *st)
{
	if (st->buf >= s->buffers || s->buf[st->buf].ours) {
		s->wrong = true;
		return;
	}
	if (!s->buf[st->buf].used) {
		s->buf[st->buf].used = true;
		s->in_use++;
	}
	s->buf[st->buf].chunk = st->chunk; /* another one, if that was dropped */
	for (uint32_t i = 0; i < s->buffers; i++)
		s->wrong |= i != st->buf && s->buf[i].used &&
		            s->buf[i].chunk == st->chunk;
	if (s->most < s->in_use)
		s->most = s->in_use;
}

/* Take what is complete; give back about every fourth that we have. */
static void
shell_works(struct shell *s, struct client *c, uint64_t now, uint64_t *rng)
{
	uint32_t chunk, buf, bytes;

	while (client_take(c, &chunk, &buf, &bytes)) {
		s->wrong |= s->buf[buf].ours || s->buf[buf].chunk != chunk;
		s->buf[buf].ours = true;
	}
	for (uint32_t i = 0; i < s->buffers; i++) {
		if (!s->buf[i].ours || client_random(rng) % 4 != 0)
			continue;
		s->buf[i].used = s->buf[i].ours = false;
		s->in_use--;
		client_release(c, now, i);
	}
}

/* Whatever the server sends, asked for or not, in whatever order: chunks are only
 * ever in as many buffers as there are, and no more are asked for at once. */
static void
check_memory(uint32_t buffers, bool shuffled)
{
	enum { CHUNKS = 40, STRETCH = 256 };
	struct client *c = loading(buffers, CHUNKS);
	struct shell s = { .buffers = buffers };
	struct wire_msg m;
	uint64_t rng = buffers, now = 0;

	for (; client_state(c) == CLIENT_LOADING && now < 1000000 * MS; now += 7 * MS) {
		uint32_t asked = 0, chunk = (uint32_t)(client_random(&rng) % CHUNKS);
		while (says(c, now, &m) && asked++ < 100)
			if (!shuffled && m.subtype == WIRE_REQ)
				chunk = m.u.req.chunk;
			else if (!shuffled)
				chunk = m.u.preq.chunk;
		s.wrong |= asked > buffers;
		uint32_t first = (uint32_t)(client_random(&rng) % 4) * STRETCH;
		for (uint32_t b = first; b < first + STRETCH; b++) {
			struct client_store st;
			if (block_from(c, now, chunk, b, server_ip, &st))
				shell_stores(&s, &st);
		}
		shell_works(&s, c, now, &rng);
	}
	printf(
	    "# %u buffers: %u at once, %.1f s\n", buffers, s.most, (double)now / 1e6);
	T_CHECK(client_state(c) == CLIENT_COMPLETE);
	T_CHECK(!s.wrong);
	T_CHECK(shuffled ? s.most == buffers : s.most <= buffers);
	T_CHECK(client_counters(c).wire.chunk_buffers == (int32_t)buffers);
	client_free(c);
}

static void
test_memory(void)
{
	for (uint32_t buffers = 1; buffers <= 8; buffers += buffers < 3 ? 1 : 5) {
		check_memory(buffers, false);
		check_memory(buffers, true);
	}
}

int
main(void)
{
	test_dubious();
	test_memory();
	return t_done();
}
