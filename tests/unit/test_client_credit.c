/* How many blocks the server is told to send, and when, without a session. */
#include "tests/unit/client_bare.h"

static uint8_t pkt[WIRE_PACKET_MAX];

/* What is said; blocks 0: nothing. */
static struct wirext_msg
said(struct client *c, uint64_t now)
{
	struct wirext_msg m = { 0 };
	struct err e;
	size_t len = client_credit_say(c, now, pkt);

	T_CHECK(len == 0 || wirext_get(&m, pkt, len, &e) == 0);
	return m;
}

static void
test_counts(void)
{
	struct client_credit k = { 0 };

	client_credit_begin(&k, 0, false);
	client_credit_granted(&k, 1, 100, 8192, false);
	T_CHECK(k.granted == 8292);
	T_CHECK(k.more_at == 8292 - 1536);
	T_CHECK(!client_credit_came(&k, 2, k.more_at - 1));
	T_CHECK(client_credit_came(&k, 3, k.more_at));
	client_credit_granted(&k, 4, 200, 1024, false);
	T_CHECK(k.granted == 8292); /* somebody else has granted more */
	client_credit_granted(&k, 4, 200, 0, false);
	T_CHECK(k.seen_us == 4);
	client_credit_new_session(&k, 500);
	T_CHECK(k.granted == 500);
	client_credit_forget(&k);
	T_CHECK(k.granted == 0);
}

static void
test_window(void)
{
	struct client_credit k = { 0 };

	client_credit_begin(&k, 0, true);
	uint32_t before = k.window;
	client_credit_lost(&k, 0, 0);
	T_CHECK(k.window == before + 32);
	client_credit_lost(&k, 0, 40); /* parity makes that good */
	T_CHECK(k.window == before + 32);
	client_credit_lost(&k, 0, 100);
	T_CHECK(k.window == (before + 32) - (before + 32) / 4);
	uint32_t cut = k.window;
	client_credit_lost(&k, k.cut_till - 1, 100); /* it was on its way by then */
	T_CHECK(k.window == cut);
	for (unsigned i = 0; i < 100; i++)
		client_credit_lost(&k, k.cut_till, 1000);
	T_CHECK(k.window == 128);
	for (unsigned i = 0; i < 1000; i++)
		client_credit_lost(&k, 0, 0);
	T_CHECK(k.window >= 3 * 1024);
	T_CHECK(k.window < 3 * 1024 + 32);
}

static void
test_grants(void)
{
	struct client *c = bare_client(true, false, 1);

	T_CHECK(said(c, 1).u.credit.blocks == 0);   /* the first ones come proactive */
	struct wirext_msg m = said(c, 40 * MS); /* but they do not */
	T_CHECK(m.kind == WIREXT_CREDIT);
	T_CHECK(
	    m.u.credit.blocks == 1024); /* a fast network, of which nothing is known yet */
	T_CHECK(said(c, 41 * MS).u.credit.blocks == 0);
	T_CHECK(said(c, 40 * MS + 60 * MS - 1).u.credit.blocks == 0);
	T_CHECK(said(c, 40 * MS + 60 * MS).u.credit.blocks > 0); /* twice as long */
	client_free(c);
}

static void
test_waits_for_the_disk(void)
{
	struct client *c = bare_client(true, false, 20);

	for (uint32_t i = 0; i < 4; i++)
		bare_begin(c, i, WIRE_CHUNK_BLOCKS);
	T_CHECK(said(c, 10 * S).u.credit.blocks == 0); /* four wait to be written */
	client_free(c);
	c = bare_client(true, false, 20);
	for (uint32_t i = 0; i < 3; i++)
		bare_begin(c, i, WIRE_CHUNK_BLOCKS);
	said(c, 10 * S); /* is held back: others may say it */
	T_CHECK(c->credit.at_us >= 10 * S);
	T_CHECK(said(c, 11 * S).u.credit.blocks > 0);
	client_free(c);
}

static void
test_unpaced(void)
{
	struct client *c = bare_client(true, true, 1);

	struct wirext_msg m = said(c, 1 * S);
	T_CHECK(m.kind == WIREXT_CREDIT); /* after a silence nothing is on its way */
	T_CHECK(m.u.credit.blocks == c->credit.window);
	uint32_t window = c->credit.window;
	client_position_came(&c->position, 1 * S, window / 2);
	client_credit_came(&c->credit, 1 * S, c->position.received);
	m = said(c, 1 * S + 1);
	T_CHECK(m.kind == WIREXT_CREDIT_AT);
	T_CHECK(m.u.credit.blocks == window);
	client_free(c);
}

/* Others have granted credit, and the server says that it has none. */
static void
test_held(void)
{
	static const uint8_t other[4] = { 10, 0, 0, 9 };
	struct client *c = bare_client(true, false, 2);
	struct client_credit *k = &c->credit;

	client_position_came(&c->position, 1 * S, 2048);
	client_credit_came(k, 1 * S, 2048);
	client_credit_heard(k, 1 * S, 2048, 1 << 20, false, other);
	client_credit_held(c, 1 * S + 29 * MS); /* it may be on its way */
	T_CHECK(k->granted == 2048 + (1 << 20));
	for (uint64_t now = 1 * S; now < 2 * S; now += 20 * MS) {
		client_credit_heard(k, now, 2048, 1 << 20, false, other);
		T_CHECK(said(c, now).u.credit.blocks == 0);
	}
	T_CHECK(said(c, 2 * S).u.credit.blocks == 0);
	client_credit_held(c, 2 * S);
	said(c, 2 * S); /* is held back: others may say it */
	T_CHECK(said(c, 2 * S + 200 * MS).u.credit.blocks > 0);
	/* Once, that may be the network's doing. */
	T_CHECK(!client_heed_ignores(&c->heed, 2 * S, other));
	client_credit_heard(k, 2 * S + 300 * MS, 2048, 1 << 20, false, other);
	client_credit_held(c, 3 * S);
	T_CHECK(client_heed_ignores(&c->heed, 3 * S, other));
	T_CHECK(client_heed_ignores(&c->heed, 62 * S, other));
	T_CHECK(!client_heed_ignores(&c->heed, 63 * S, other));
	/* What this client has granted itself is no reason to ignore anybody. */
	c->heed = (struct client_heed){ 0 };
	client_credit_held(c, 4 * S);
	T_CHECK(c->heed.ignored == 0);
	client_free(c);
}

/* Two clients grant in turn what the server does not act on, and neither hides the other.  A
 * third one grants less. */
static void
test_two_liars(void)
{
	static const uint8_t one[4] = { 10, 0, 0, 8 }, two[4] = { 10, 0, 0, 9 },
			     honest[4] = { 10, 0, 0, 7 };
	struct client *c = bare_client(true, false, 4);
	struct client_credit *k = &c->credit;

	client_credit_heard(k, 1 * S, 2047, 1 << 20, false, honest);
	client_position_came(&c->position, 1 * S, 2048);
	client_credit_came(k, 1 * S, 2048);
	client_credit_heard(k, 1 * S, 2048, 1 << 20, false, one);
	client_credit_heard(k, 1 * S, 2048, 1 << 20, false, two);
	client_credit_held(c, 2 * S);
	client_credit_heard(k, 2 * S, 2048, 1 << 20, false, two);
	client_credit_heard(k, 2 * S, 2048, 1 << 20, false, one);
	client_credit_heard(k, 2 * S, 2048, 4096, false, honest);
	client_credit_held(c, 3 * S);
	T_CHECK(client_heed_ignores(&c->heed, 3 * S, one));
	T_CHECK(client_heed_ignores(&c->heed, 3 * S, two));
	T_CHECK(!client_heed_ignores(&c->heed, 3 * S, honest));
	client_free(c);
}

int
main(void)
{
	test_counts();
	test_window();
	test_grants();
	test_waits_for_the_disk();
	test_unpaced();
	test_held();
	test_two_liars();
	return t_done();
}
