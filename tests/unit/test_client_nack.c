/* What a client says that it lacks, and when another one's word is enough, without a session. */
#include "tests/unit/client_bare.h"

static uint8_t pkt[WIRE_PACKET_MAX];

typedef size_t (*say)(struct client *, uint64_t now_us, void *pkt);

/* What this policy says within 0.2 s; kind 0: nothing. */
static struct wirext_msg
says(struct client *c, uint64_t *now, say policy)
{
	struct wirext_msg m = { 0 };
	struct err e;
	size_t len = 0;

	for (uint64_t end = *now + 200 * MS; len == 0 && *now < end; *now += MS)
		len = policy(c, *now, pkt);
	T_CHECK(len == 0 || wirext_get(&m, pkt, len, &e) == 0);
	return m;
}

static void
test_coming(void)
{
	struct client *c = bare_client(true, false, 1);
	struct client_nack *k = &c->nack;
	uint8_t bits = 0x02;
	struct wirext_map map = { .first = 8, .count = 4, .bits = &bits };

	T_CHECK(!k->look);
	T_CHECK(client_nack_coming(k, 63));
	client_nack_hear_state(c, 0, &map);
	T_CHECK(k->look);
	T_CHECK(!client_nack_coming(k, 8));
	T_CHECK(client_nack_coming(k, 9));
	T_CHECK(!client_nack_coming(k, 11));
	T_CHECK(client_nack_coming(k, 12)); /* nothing was said of it */
	map.first = 62;
	client_nack_hear_state(c, 0, &map); /* more than there are */
	T_CHECK(!client_nack_coming(k, 62));
	client_nack_nothing_comes(k);
	T_CHECK(!client_nack_coming(k, 9));
	client_nack_forget(k);
	T_CHECK(k->coming == NULL);
	client_free(c);
}

static void
test_report(void)
{
	struct client *c = bare_client(true, false, 1);
	uint64_t now = 0;

	client_nack_nothing_comes(&c->nack);
	bare_begin(c, 3, 1020);
	struct wirext_msg m = says(c, &now, client_nack_say_report);
	T_CHECK(m.kind == WIREXT_NACK);
	T_CHECK(m.u.nack.n == 1);
	T_CHECK(m.u.nack.at[0].chunk == 3);
	T_CHECK(m.u.nack.at[0].lack[4] == 1);
	T_CHECK(m.u.nack.at[0].lack[0] == 0);
	uint64_t first = now;
	T_CHECK(says(c, &now, client_nack_say_report).kind == WIREXT_NACK);
	T_CHECK(now >= first + 49 * MS); /* a client that is alone repeats it soon */
	client_free(c);
}

/* A NACK that is held back is drawn anew when the server has nothing to send any more. */
static void
test_server_is_idle(void)
{
	struct client *c = bare_client(true, false, 1);

	client_nack_nothing_comes(&c->nack);
	bare_begin(c, 3, 1020);
	c->session.clients = 80;
	T_CHECK(client_nack_say_report(c, 0, pkt) == 0);
	T_CHECK(c->nack.report_at_us > 0);
	c->nack.report_at_us = 160 * MS;
	c->session.idle = true;
	client_nack_server_is_idle(&c->nack);
	T_CHECK(client_nack_say_report(c, 0, pkt) == 0);
	T_CHECK(c->nack.report_at_us > 0);
	T_CHECK(c->nack.report_at_us <= 40 * MS + 1);
	client_free(c);
}

static void
test_another_said_it(void)
{
	struct client *c = bare_client(true, false, 2);
	struct wirext_msg other = { .kind = WIREXT_NACK };
	uint64_t now = 0;

	client_nack_nothing_comes(&c->nack);
	struct client_buffer *b = bare_begin(c, 3, 1020);
	other.u.nack.n = 1;
	other.u.nack.at[0].chunk = 3;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		other.u.nack.at[0].lack[g] = 1;
	client_nack_hear_reports(c, now, &other);
	T_CHECK(b->nacked.most[0] == 1);
	T_CHECK(says(c, &now, client_nack_say_report).kind == 0);
	client_free(c);
}

static void
test_want(void)
{
	struct client *c = bare_client(true, false, 1);
	uint64_t now = 0;

	T_CHECK(says(c, &now, client_nack_say_want).kind == 0); /* all chunks come */
	client_nack_set_coming(&c->nack, 5, false);
	client_nack_look(&c->nack);
	struct wirext_msg m = says(c, &now, client_nack_say_want);
	T_CHECK(m.kind == WIREXT_WANT);
	T_CHECK(wirext_map_test(&m.u.want.map, 5));
	T_CHECK(!wirext_map_test(&m.u.want.map, 4));
	T_CHECK(client_nack_coming(&c->nack, 5)); /* it was asked for */
	T_CHECK(says(c, &now, client_nack_say_want).kind == 0);
	/* A chunk that lacks nearly everything is wanted, not repaired. */
	client_nack_set_coming(&c->nack, 6, false);
	client_nack_look(&c->nack);
	bare_begin(c, 6, 10);
	T_CHECK(says(c, &now, client_nack_say_report).kind == 0);
	m = says(c, &now, client_nack_say_want);
	T_CHECK(m.kind == WIREXT_WANT);
	T_CHECK(wirext_map_test(&m.u.want.map, 6));
	client_free(c);
}

/* Another client wants chunk 5.  Returns whether it is ignored after the server has announced at
 * this time that the chunk comes, or not. */
static bool
is_ignored(bool announced, bool sent, uint64_t announced_us)
{
	struct client *c = bare_client(true, false, 2);
	uint8_t wanted = 1 << 5, coming = announced ? 1 << 5 : 0;
	struct wirext_msg other = { .kind = WIREXT_WANT,
		.srcip = { 10, 0, 0, 9 },
		.u.want.map = { .count = 8, .bits = &wanted } };
	struct wirext_map state = { .count = 8, .bits = &coming };

	client_nack_set_coming(&c->nack, 5, false);
	client_nack_hear_want(c, 1 * S, &other);
	T_CHECK(client_nack_coming(&c->nack, 5));
	if (sent)
		client_nack_pass_begins(&c->nack, 5);
	client_nack_hear_state(c, announced_us, &state);
	T_CHECK(client_nack_coming(&c->nack, 5) == announced);
	bool is = client_heed_ignores(&c->heed, announced_us, other.srcip);
	client_free(c);
	return is;
}

/* A client says itself what it wants if the server does not act on what others want. */
static void
test_unheard_want(void)
{
	T_CHECK(is_ignored(false, false, 1 * S + 30 * MS));
	T_CHECK(!is_ignored(false, false, 1 * S + 29 * MS)); /* it may be on its way */
	T_CHECK(!is_ignored(true, false, 2 * S));
	T_CHECK(!is_ignored(false, true, 2 * S));
}

int
main(void)
{
	test_coming();
	test_report();
	test_server_is_idle();
	test_another_said_it();
	test_want();
	test_unheard_want();
	return t_done();
}
