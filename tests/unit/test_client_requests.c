/* What is asked for by requests of the base protocol, and when, without a session. */
#include "tests/unit/client_bare.h"

static uint8_t pkt[WIRE_PACKET_MAX];

typedef size_t (*say)(struct client *, uint64_t now_us, void *pkt);

/* What is said; subtype 0: nothing. */
static struct wire_msg
said(struct client *c, uint64_t now, say policy)
{
	struct wire_msg m = { 0 };
	struct err e;
	size_t len = policy(c, now, pkt);

	T_CHECK(len == 0 || wire_get(&m, pkt, len, &e) == 0);
	return m;
}

static struct client *
begun(void)
{
	struct client *c = bare_client(false, false, 0);

	client_requests_begin_image(&c->requests, 0);
	return c;
}

static void
test_silence(void)
{
	struct client *c = begun();
	struct client_requests *r = &c->requests;

	T_CHECK(client_requests_idle_at_us(r) == 90 * MS);
	T_CHECK(client_requests_redo_us(r) == 1 * S);
	client_requests_silence(r, 100 * MS);
	T_CHECK(client_requests_idle_at_us(r) == 100 * MS + 120 * MS);
	T_CHECK(client_requests_redo_us(r) == UINT64_MAX);
	for (unsigned i = 0; i < 100; i++)
		client_requests_silence(r, 0);
	T_CHECK(client_requests_idle_at_us(r) == 36 * 30 * MS);
	client_requests_alive(r, 1 * S);
	T_CHECK(client_requests_idle_at_us(r) == 1 * S + 36 * 30 * MS);
	client_requests_block(r, 2 * S);
	T_CHECK(client_requests_idle_at_us(r) == 2 * S + 90 * MS);
	client_free(c);
}

static void
test_backlog(void)
{
	struct client *c = begun();
	struct client_requests *r = &c->requests;

	T_CHECK(r->backlog == 3 * 1024); /* readahead and one */
	client_requests_lost(r, 64);     /* that may happen */
	T_CHECK(r->backlog == 3 * 1024);
	client_requests_lost(r, 65);
	T_CHECK(r->backlog == 3 * 512);
	for (unsigned i = 0; i < 10; i++)
		client_requests_lost(r, 1024);
	T_CHECK(r->backlog == 128);
	client_requests_lost(r, 0);
	T_CHECK(r->backlog == 128 + 64);
	for (unsigned i = 0; i < 100; i++)
		client_requests_lost(r, 0);
	T_CHECK(r->backlog == 3 * 1024);
	client_free(c);
}

static void
test_ahead(void)
{
	struct client *c = begun();

	struct wire_msg m = said(c, 1, client_requests_say_ahead);
	T_CHECK(m.subtype == WIRE_REQ);
	T_CHECK(m.u.req.chunk == 0);
	T_CHECK(m.u.req.count == WIRE_CHUNK_BLOCKS);
	T_CHECK(said(c, 1, client_requests_say_ahead).u.req.chunk == 1);
	T_CHECK(
	    said(c, 1, client_requests_say_ahead).subtype == 0); /* two are queued */
	struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	client_requests_hear(c, 2, 9, &all); /* another one's will do, too */
	bare_begin(c, 0, 10);
	T_CHECK(said(c, 2, client_requests_say_ahead).subtype == 0);
	client_free(c);
}

static void
test_missing(void)
{
	struct client *c = begun();

	struct client_buffer *b = bare_begin(c, 5, 1000);
	client_buffer_passed(b, 0, 3 * MS);
	T_CHECK(said(c, 3 * MS - 1, client_requests_say_missing).subtype == 0);
	struct wire_msg m = said(c, 3 * MS, client_requests_say_missing);
	T_CHECK(m.subtype == WIRE_PREQ);
	T_CHECK(m.u.preq.chunk == 5);
	struct blockmap asked = blockmap_get(m.u.preq.map);
	T_CHECK(blockmap_count(&asked) == 24);
	T_CHECK(blockmap_test(&asked, 1000));
	T_CHECK(said(c, 4 * MS, client_requests_say_missing).subtype == 0);
	/* The server is not known to be anywhere: four times as long as usual. */
	T_CHECK(said(c, 4 * S, client_requests_say_missing).subtype == 0);
	T_CHECK(
	    said(c, 4 * S + 4 * MS, client_requests_say_missing).subtype == WIRE_PREQ);
	client_free(c);
}

static void
test_another_asked(void)
{
	struct client *c = begun();
	struct blockmap few = blockmap_range(1000, 5), many = blockmap_range(1000, 6);

	bare_begin(c, 5, 1000);
	client_requests_hear(c, 1, 5, &few); /* not a quarter of what is missing */
	T_CHECK(said(c, 2, client_requests_say_missing).subtype == WIRE_PREQ);
	bare_begin(c, 6, 1000);
	client_requests_hear(c, 3, 6, &many);
	T_CHECK(said(c, 4, client_requests_say_missing).subtype == 0);
	client_free(c);
}

/* With others about, a request is held back for up to 20 ms, and less on a fast network. */
static void
test_jitter(void)
{
	struct client *c = begun();
	uint64_t most = 0;

	T_CHECK(client_jitter_us(c, 0) == 0);
	client_requests_crowd(&c->requests, 0);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t us = client_jitter_us(c, 1 * S);
		most = us > most ? us : most;
	}
	T_CHECK(most <= 20 * MS);
	T_CHECK(most > 15 * MS);
	T_CHECK(client_jitter_us(c, 5 * S) == 0);
	client_free(c);
}

static void
test_schedule(void)
{
	struct client_schedule s = { 0 };

	client_schedule_next(&s, 100);
	client_schedule_by(&s, 200);
	T_CHECK(s.at_us == 100);
	client_schedule_by(&s, 50);
	T_CHECK(s.at_us == 50);
	client_schedule_now(&s, 60);
	T_CHECK(s.at_us == 60);
}

int
main(void)
{
	test_silence();
	test_backlog();
	test_ahead();
	test_missing();
	test_another_asked();
	test_jitter();
	test_schedule();
	return t_done();
}
