/* How many blocks in one packet arrive, and what is said of it, without a session. */
#include "frisbee/client/client_mtu.h"
#include "tests/t.h"

enum { MS = 1000 };

static struct client_backoff hold;

static void
test_longest_is_said(void)
{
	struct client_mtu p = { 0 };

	client_mtu_probed(&p, 0, &hold, 3, 4, 1);
	client_mtu_probed(&p, 100, &hold, 3, 8, 1);
	client_mtu_probed(&p, 200, &hold, 3, 2, 1);
	uint64_t at = client_mtu_at_us(&p);
	T_CHECK(at >= 5 * MS);
	T_CHECK(at < 5 * MS + 500);
	T_CHECK(!client_mtu_says(&p, at - 1));
	T_CHECK(client_mtu_says(&p, at));
	T_CHECK(p.round == 3);
	T_CHECK(p.blocks == 8);
	T_CHECK(client_mtu_at_us(&p) == UINT64_MAX);
	T_CHECK(!client_mtu_says(&p, at + MS));
}

/* Many that are asked together do not answer together. */
static void
test_answers_are_spread(void)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (unsigned i = 0; i < 64; i++) {
		struct client_mtu p = { 0 };
		client_mtu_probed(&p, 0, &hold, 1, 1, 64);
		uint64_t at = client_mtu_at_us(&p);
		least = at < least ? at : least;
		most = at > most ? at : most;
	}
	T_CHECK(most <= 5 * MS + 64 * 500);
	T_CHECK(most - least > 64 * 500 / 2);
}

static void
test_doubts(void)
{
	struct client_mtu p = { 0 };

	for (unsigned i = 0; i < 10; i++)
		client_mtu_doubt(
		    &p, MS); /* nothing was said, so nothing is doubted */
	T_CHECK(client_mtu_at_us(&p) == UINT64_MAX);
	client_mtu_probed(&p, 0, &hold, 3, 8, 1);
	client_mtu_says(&p, 10 * MS);
	for (unsigned i = 0; i < 3; i++)
		client_mtu_doubt(&p, 20 * MS);
	client_mtu_came(&p, 4); /* a shorter one tells nothing */
	client_mtu_came(&p, 8);
	for (unsigned i = 0; i < 3; i++)
		client_mtu_doubt(&p, 30 * MS);
	T_CHECK(client_mtu_at_us(&p) == UINT64_MAX);
	client_mtu_came(&p, 4);
	client_mtu_doubt(&p, 40 * MS);
	T_CHECK(client_mtu_says(&p, 40 * MS));
	T_CHECK(p.round == 0);
	T_CHECK(p.blocks == 1);
	client_mtu_forget(&p);
	T_CHECK(p.said == 0);
}

int
main(void)
{
	client_backoff_begin(&hold, 1);
	test_longest_is_said();
	test_answers_are_spread();
	test_doubts();
	return t_done();
}
