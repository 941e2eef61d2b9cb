/* A part of the server's engine: complaints to which others object. */
#include "frisbeed/server/server_contest.h"
#include "tests/t.h"

enum { MS = 1000, S = 1000 * MS };

static struct contest c;
static const uint8_t a[4] = { 10, 0, 0, 1 }, b[4] = { 10, 0, 0, 2 }, x[4] = { 10, 0, 0, 66 };

/* Without an objection there is nothing to decide. */
static void
test_complaint_alone(void)
{
	c = (struct contest){ 0 };
	T_CHECK(contest_verdict(&c, S) == CONTEST_OVER);
	T_CHECK(contest_complains(&c, S, a)); /* the first of this address */
	T_CHECK(!contest_complains(&c, S + 100 * MS, a));
	T_CHECK(contest_complains(&c, S + 100 * MS, b));
	T_CHECK(contest_verdict(&c, S + 200 * MS) == CONTEST_OVER);
	T_CHECK(contest_complained(&c, S + 200 * MS));
	T_CHECK(!contest_complained(&c, 3 * S));
	T_CHECK(contest_complains(&c, 3 * S, a));
}

/* One against one: in turns. */
static void
test_tie(void)
{
	unsigned turns = 0;

	c = (struct contest){ 0 };
	contest_complains(&c, S, x);
	contest_objects(&c, S + 20 * MS, a);
	T_CHECK(contest_verdict(&c, S + 30 * MS) == CONTEST_TIED);
	T_CHECK(contest_believes(&c, S + 30 * MS, true));
	T_CHECK(!contest_believes(&c, S + 30 * MS, false));
	for (uint64_t now = 0; now < 10 * S; now += 100 * MS)
		turns += contest_turn(now);
	T_CHECK(turns == 50);
	/* Both complain now, then it is over when one of them is silent. */
	contest_complains(&c, S + 40 * MS, a);
	T_CHECK(contest_verdict(&c, S + 50 * MS) == CONTEST_AGREED);
	T_CHECK(contest_believes(&c, S + 50 * MS, false));
	/* The last word of an address counts. */
	T_CHECK(!contest_heard(&c, S + 50 * MS));
	/* That it hears everything soon after it has complained is no objection: the rate may
	 * have been lowered meanwhile. */
	contest_objects(&c, S + 339 * MS, a);
	T_CHECK(contest_verdict(&c, S + 339 * MS) == CONTEST_AGREED);
	contest_objects(&c, S + 340 * MS, a);
	T_CHECK(contest_verdict(&c, S + 350 * MS) == CONTEST_TIED);
	T_CHECK(!contest_believes(&c, S + 350 * MS, false));
	T_CHECK(contest_heard(&c, S + 350 * MS));
	T_CHECK(!contest_heard(&c, S + 2 * S));
	T_CHECK(contest_verdict(&c, S + 2 * S) == CONTEST_OVER);
}

/* Two object to one, or one objects to two. */
static void
test_majority(void)
{
	c = (struct contest){ 0 };
	contest_complains(&c, S, x);
	contest_objects(&c, S + 20 * MS, a);
	contest_objects(&c, S + 20 * MS, b);
	T_CHECK(contest_verdict(&c, S + 30 * MS) == CONTEST_REJECTED);
	T_CHECK(!contest_believes(&c, S + 30 * MS, true));
	contest_complains(&c, S + 40 * MS, a);
	T_CHECK(contest_verdict(&c, S + 50 * MS) == CONTEST_AGREED);
	T_CHECK(contest_believes(&c, S + 50 * MS, false));
	/* Each lowering needs new complaints of most. */
	contest_lowered(&c, S + 50 * MS);
	contest_complains(&c, S + 60 * MS, x);
	T_CHECK(!contest_believes(&c, S + 70 * MS, true));
	contest_complains(&c, S + 80 * MS, b);
	T_CHECK(contest_believes(&c, S + 90 * MS, false));
}

static void
test_asks(void)
{
	c = (struct contest){ 0 };
	T_CHECK(contest_asks(&c, S));
	T_CHECK(!contest_asks(&c, S + 49 * MS));
	T_CHECK(contest_asks(&c, S + 50 * MS));
}

/* Many addresses that come and go push out the one that has said nothing for longest. */
static void
test_room(void)
{
	uint8_t ip[4] = { 10, 1, 0, 0 };

	c = (struct contest){ 0 };
	contest_objects(&c, S, a);
	for (ip[3] = 0; ip[3] < 3 * CONTEST_VOICES; ip[3]++) {
		contest_complains(&c, S + ip[3], ip);
		contest_objects(&c, S + ip[3], a);
	}
	T_CHECK(contest_verdict(&c, S + MS) == CONTEST_AGREED);
}

int
main(void)
{
	test_complaint_alone();
	test_tie();
	test_majority();
	test_asks();
	test_room();
	return t_done();
}
