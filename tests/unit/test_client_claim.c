/* Whose packets count, and what may end a load: the two parts alone, without a session. */
#include <string.h>

#include "frisbee/client/client_claim.h"
#include "frisbee/client/client_pin.h"
#include "tests/t.h"

enum { MS = 1000, S = 1000 * MS };

static const uint8_t server[4] = { 10, 0, 0, 1 }, other[4] = { 10, 0, 0, 8 };
static const char why[] = "serves something else";

static void
test_pin_is_provisional(void)
{
	struct client_pin p;

	client_pin_begin(&p, false, false, 0);
	T_CHECK(!client_pin_hears(&p, 0, server)); /* nobody is pinned */
	client_pin_set(&p, 0, server);
	T_CHECK(p.number == 1);
	T_CHECK(client_pin_hears(&p, 1, server));
	T_CHECK(!client_pin_hears(&p, 1, other));
	client_pin_block(&p, 100 * MS);
	T_CHECK(!client_pin_may_move(&p, 399 * MS, other));
	T_CHECK(client_pin_may_move(&p, 400 * MS, other));
	T_CHECK(client_pin_ask_at_us(&p) == 1100 * MS);
	client_pin_doubt(&p);
	T_CHECK(client_pin_may_move(&p, 101 * MS, other));
	T_CHECK(client_pin_ask_at_us(&p) == 0);
}

static void
test_pin_is_proved(void)
{
	struct client_pin p;

	client_pin_begin(&p, false, false, 5);
	client_pin_set(&p, 0, other);
	client_pin_set(&p, 0, server);
	client_pin_prove(&p, 1); /* that was the other one */
	T_CHECK(!p.proved);
	client_pin_prove(&p, 2);
	T_CHECK(p.proved);
	client_pin_begin(&p, false, false, 5);
	client_pin_set(&p, 0, server);
	client_pin_prove(&p, 1);
	T_CHECK(p.proved);
	client_pin_doubt(&p);
	T_CHECK(!p.doubted);
	T_CHECK(client_pin_hears(&p, 1 * S, server));
	client_pin_block(&p, 1 * S);
	T_CHECK(!client_pin_may_move(&p, 3 * S - 1, other));
	T_CHECK(client_pin_may_move(&p, 3 * S, other));
	T_CHECK(client_pin_ask_at_us(&p) == 3 * S + 5);
	client_pin_excuse(&p, 3 * S);
	T_CHECK(!client_pin_may_move(&p, 3 * S, other));
}

/* Beside another server of the same image, a proved one must send blocks, not only
 * talk. */
static void
test_pin_needs_blocks(void)
{
	struct client_pin p;

	client_pin_begin(&p, false, false, 5);
	client_pin_set(&p, 0, server);
	client_pin_prove(&p, 1);
	T_CHECK(client_pin_hears(&p, 5 * S, server));
	T_CHECK(!client_pin_may_move(&p, 5 * S, other)); /* it has not answered before */
	client_pin_rival(&p, other);
	T_CHECK(client_pin_has_rival(&p));
	T_CHECK(client_pin_ask_at_us(&p) == 2 * S + 5);
	T_CHECK(client_pin_may_move(&p, 5 * S, other));
	client_pin_block(&p, 4 * S);
	T_CHECK(!client_pin_may_move(&p, 5 * S, other));
	client_pin_excuse(&p, 10 * S); /* the client had no room */
	T_CHECK(!client_pin_may_move(&p, 11 * S, other));
	client_pin_doubt(&p);
	T_CHECK(client_pin_may_move(&p, 11 * S, other));
}

/* Whoever sends far more of what is lacking is more likely to be the server. */
static void
test_pin_is_outdone(void)
{
	static const uint8_t third[4] = { 10, 0, 0, 67 };
	struct client_pin p;

	client_pin_begin(&p, false, false, 5);
	client_pin_set(&p, 0, server);
	client_pin_prove(&p, 1);
	client_pin_missed(&p, other, 100000); /* nobody knows it */
	T_CHECK(!client_pin_has_rival(&p));
	client_pin_rival(&p, other);
	client_pin_rival(&p, third);
	client_pin_needed(&p, 100);
	client_pin_missed(&p, other, 400);
	T_CHECK(!client_pin_may_move(&p, S, other));
	client_pin_missed(&p, other, 1);
	T_CHECK(client_pin_may_move(&p, S, other));
	T_CHECK(!client_pin_may_move(&p, S, third));
	T_CHECK(client_pin_ask_at_us(&p) == 5);
	client_pin_needed(&p, 1);
	T_CHECK(!client_pin_may_move(&p, S, other));
	/* What was long ago counts less and less. */
	for (unsigned i = 0; i < 5000; i++)
		client_pin_missed(&p, third, 1);
	T_CHECK(client_pin_may_move(&p, S, third));
	/* The one that was given up does not come back as fast as others. */
	client_pin_set(&p, S, third);
	client_pin_block(&p, S);
	T_CHECK(client_pin_may_move(&p, S + 300 * MS, other));
	T_CHECK(!client_pin_may_move(&p, S + 300 * MS, server));
	T_CHECK(client_pin_may_move(&p, 3 * S, server));
}

static void
test_pin_identifies(void)
{
	static const uint8_t ours[WIREXT_IDENTITY_BYTES] = { 1 },
			     theirs[WIREXT_IDENTITY_BYTES] = { 2 };
	struct client_pin p;

	client_pin_begin(&p, false, false, 0);
	T_CHECK(!client_pin_other_image(&p, theirs)); /* nothing is known yet */
	T_CHECK(!client_pin_same_image(&p, ours));
	client_pin_identify(&p, ours);
	T_CHECK(client_pin_same_image(&p, ours));
	T_CHECK(!client_pin_same_image(&p, theirs));
	T_CHECK(!client_pin_same_image(&p, NULL));
	T_CHECK(client_pin_other_image(&p, theirs));
	T_CHECK(!client_pin_other_image(&p, NULL));
	client_pin_identify(&p, NULL);
	T_CHECK(!client_pin_other_image(&p, theirs));
}

/* Many strangers do not push out the one that sends. */
static void
test_pin_keeps_senders(void)
{
	struct client_pin p;
	uint8_t addr[4] = { 10, 9, 0, 0 };

	client_pin_begin(&p, false, false, 0);
	client_pin_set(&p, 0, server);
	client_pin_rival(&p, other);
	client_pin_missed(&p, other, 300);
	for (addr[3] = 1; addr[3] < 20; addr[3]++)
		client_pin_rival(&p, addr);
	T_CHECK(client_pin_may_move(&p, 1, other));
}

static void
test_pin_is_named(void)
{
	struct client_pin p;

	client_pin_begin(&p, true, false, 0);
	client_pin_set(&p, 0, server);
	T_CHECK(p.proved);
	T_CHECK(!client_pin_may_move(&p, 100 * S, other));
	T_CHECK(client_pin_ask_at_us(&p) == UINT64_MAX);
	client_pin_begin(&p, false, true, 0);
	client_pin_set(&p, 0, server);
	T_CHECK(p.proved); /* of any file */
	T_CHECK(client_pin_may_move(&p, 2 * S, other));
}

static void
test_claim_is_confirmed(void)
{
	struct client_claim k = { 0 };
	char text[80];

	T_CHECK(!client_claim_hear(&k, 0, server, why, false));
	T_CHECK(!client_claim_hear(&k, 999 * MS, server, why, false));
	T_CHECK(client_claim_hear(&k, 1000 * MS, server, why, false));
	T_CHECK(strcmp(client_claim_text(&k, text, sizeof text),
		    "10.0.0.1 serves something else") == 0);
	client_claim_forget(&k);
	T_CHECK(!client_claim_hear(&k, 2 * S, server, why, true));
	T_CHECK(client_claim_hear(&k, 2400 * MS, server, why, true));
}

static void
test_claim_is_denied(void)
{
	struct client_claim k = { 0 };

	client_claim_hear(&k, 0, server, why, false);
	client_claim_deny(&k, 900 * MS);
	T_CHECK(client_claim_ask_at_us(&k) == UINT64_MAX);
	T_CHECK(!client_claim_hear(&k, 1100 * MS, server, why, false));
	T_CHECK(k.why == NULL); /* not considered so shortly after */
	T_CHECK(!client_claim_hear(&k, 1200 * MS, server, why, false));
	T_CHECK(k.why == why);
	T_CHECK(k.since_us == 1200 * MS);
}

static void
test_claim_is_asked_about(void)
{
	struct client_claim k = { 0 };

	T_CHECK(!client_claim_asks(&k, 0));
	client_claim_hear(&k, 0, server, why, false);
	T_CHECK(client_claim_asks(&k, 0));
	T_CHECK(!client_claim_asks(&k, 199 * MS));
	T_CHECK(client_claim_ask_at_us(&k) == 200 * MS);
	T_CHECK(client_claim_asks(&k, 200 * MS));
	T_CHECK(!client_claim_asks(&k, 3 * S)); /* it was not repeated */
	T_CHECK(client_claim_ask_at_us(&k) == UINT64_MAX);
	T_CHECK(!client_claim_hear(&k, 10 * S, server, why, false));
	T_CHECK(k.since_us == 10 * S);
}

int
main(void)
{
	test_pin_is_provisional();
	test_pin_is_proved();
	test_pin_needs_blocks();
	test_pin_is_outdone();
	test_pin_keeps_senders();
	test_pin_identifies();
	test_pin_is_named();
	test_claim_is_confirmed();
	test_claim_is_denied();
	test_claim_is_asked_about();
	return t_done();
}
