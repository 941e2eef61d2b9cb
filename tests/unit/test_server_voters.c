/* A part of the server's engine: how much a say each address has. */
#include "frisbeed/server/server_voters.h"
#include "tests/t.h"

enum { MAX = 100, MS = 1000 };

static const struct server_image image = { .blocks = 4096, .chunks = 4 };

static struct voters v;

static struct voter *
host(uint8_t n)
{
	uint8_t ip[4] = { 10, 0, 0, n };

	return voters_find(&v, ip);
}

static void
begin(uint8_t hosts)
{
	T_CHECK(voters_init(&v, MAX, 7, &image) == 0);
	for (uint8_t n = 1; n <= hosts; n++)
		voters_come(&v, (uint8_t[]){ 10, 0, 0, n }, true);
	T_CHECK(v.here == hosts);
	T_CHECK(v.ext == hosts);
}

static bool
complain(uint8_t n, uint64_t now_us, uint32_t *lost)
{
	uint32_t of = 100;

	return voters_complain(&v, host(n), now_us, true, lost, &of);
}

/* An address counts once, whatever number of clients it claims to be. */
static void
test_addresses(void)
{
	begin(3);
	voters_come(&v, (uint8_t[]){ 10, 0, 0, 1 }, true);
	T_CHECK(v.here == 3);
	voters_go(&v, (uint8_t[]){ 10, 0, 0, 1 }, true);
	T_CHECK(v.here == 3);
	voters_go(&v, (uint8_t[]){ 10, 0, 0, 1 }, true);
	T_CHECK(v.here == 2);
	T_CHECK(v.ext == 2);
	T_CHECK(host(1) != NULL); /* it is remembered */
	T_CHECK(host(9) == NULL);
	voters_fini(&v);
}

static void
test_complaints(void)
{
	uint32_t lost = 10;

	begin(3);
	T_CHECK(complain(1, 0, &lost)); /* few are believed alone */
	voters_fini(&v);
	begin(8);
	T_CHECK(!complain(1, 1000 * MS, &lost));
	T_CHECK(!complain(1, 1001 * MS, &lost));
	lost = 30;
	T_CHECK(!complain(2, 1002 * MS, &lost));
	lost = 20;
	T_CHECK(complain(3, 1003 * MS, &lost)); /* more than a quarter of eight */
	T_CHECK(lost == 10);                    /* the least that one of them lost */
	T_CHECK(!complain(4, 1500 * MS, &lost)); /* that is another ballot */
	voters_fini(&v);
}

/* How many of so many addresses must have lost something in step with bursts to be believed. */
static uint8_t
needed_in_step(uint8_t hosts)
{
	uint32_t lost = 10, of = 100;
	uint8_t n = 1;

	begin(hosts);
	while (n <= hosts && !voters_in_step(&v, host(n), 1000 * MS + n, &lost, &of))
		n++;
	T_CHECK(!voters_in_step(&v, host(1), 1500 * MS, &lost, &of) || hosts == 1);
	voters_fini(&v);
	return n;
}

/* More than half, also of few; five are enough. */
static void
test_in_step(void)
{
	T_CHECK(needed_in_step(1) == 1);
	T_CHECK(needed_in_step(2) == 2);
	T_CHECK(needed_in_step(3) == 2);
	T_CHECK(needed_in_step(7) == 4);
	T_CHECK(needed_in_step(8) == 5);
	T_CHECK(needed_in_step(80) == 5);
}

/* An address that complains alone again and again is set aside, and named once. */
static void
test_aside(void)
{
	uint32_t lost = 50;
	double share_received = 0;

	begin(8);
	for (unsigned i = 0; i < 10; i++)
		T_CHECK(!complain(1, (1000 + 300 * i) * MS, &lost));
	T_CHECK(voters_is_aside(&v, host(1)->ip, &share_received));
	T_CHECK(share_received > 0.4);
	T_CHECK(share_received < 0.8);
	T_CHECK(!voters_is_aside(&v, host(2)->ip, &share_received));
	T_CHECK(voters_name(host(1), 5000 * MS));
	T_CHECK(!voters_name(host(1), 6000 * MS));
	T_CHECK(!voters_name(host(2), 6000 * MS));
	voters_fini(&v);
}

/* What an address may cause grows with what is sent, and is bounded. */
static void
test_account(void)
{
	begin(3);
	T_CHECK(voters_may_cause(&v, host(1), 0, 0, true) == UINT32_MAX);
	voters_fini(&v);
	begin(10);
	T_CHECK(voters_may_cause(&v, host(1), 0, 0, true) == 256);
	voters_caused(host(1), 256);
	T_CHECK(voters_may_cause(&v, host(1), 0, 0, true) == 0);
	uint32_t most = voters_may_cause(&v, host(1), 0, 1000, true);
	T_CHECK(most >= 34);
	T_CHECK(most <= 35);
	T_CHECK(voters_may_cause(&v, host(1), 0, 1000000, true) == 256);
	voters_fini(&v);
}

/* Everything once; then as much as may wait at a time. */
static void
test_wanting(void)
{
	enum { MOST = 2000 };

	begin(2);
	for (uint32_t c = 0; c < 4; c++)
		T_CHECK(voters_want(&v, host(1), c, 1024, MOST));
	T_CHECK(voters_want(&v, host(1), 0, 1024, MOST));
	T_CHECK(voters_want(&v, host(1), 0, 0, MOST));
	T_CHECK(!voters_want(&v, host(1), 1, 1024, MOST));
	T_CHECK(voters_want(&v, host(1), 1, 976, MOST));
	T_CHECK(!voters_want(&v, host(1), 2, 1, MOST));
	/* What comes for the first time waits for none of that. */
	voters_gets(&v, 2);
	T_CHECK(!voters_want(&v, host(1), 2, 1, MOST));
	voters_gets(&v, 1);
	T_CHECK(!voters_want(&v, host(1), 2, 977, MOST));
	T_CHECK(voters_want(&v, host(1), 2, 976, MOST));
	/* Another one, which joins, has had everything by that, and counts for itself. */
	T_CHECK(voters_begin(&v, host(2)->ip, 5000 * MS, false));
	T_CHECK(voters_want(&v, host(2), 3, 1024, MOST));
	T_CHECK(!voters_want(&v, host(2), 1, 1024, MOST));
	voters_gets(&v, 3);
	T_CHECK(voters_want(&v, host(2), 1, 1024, MOST));
	T_CHECK(!voters_want(&v, host(1), 3, 1, MOST));
	voters_fini(&v);
}

static void
test_asking(void)
{
	begin(10);
	T_CHECK(voters_to_each_asker(&v, 0) == 1);
	voters_ask(&v, host(1), 1000 * MS);
	voters_ask(&v, host(1), 1001 * MS);
	voters_ask(&v, host(2), 1002 * MS);
	T_CHECK(voters_to_each_asker(&v, 1500 * MS) == 4);
	T_CHECK(voters_to_each_asker(&v, 9000 * MS) == 1);
	/* What one alone has lost is most likely its own link's. */
	T_CHECK(!voters_ask_again(&v, host(1), 9000 * MS));
	T_CHECK(!voters_ask_again(&v, host(1), 9100 * MS));
	T_CHECK(voters_ask_again(&v, host(2), 9200 * MS));
	voters_fini(&v);
}

/* An answer to JOIN may be lost, but not for ever. */
static void
test_beginning(void)
{
	const uint8_t one[4] = { 10, 0, 0, 1 }, two[4] = { 10, 0, 0, 2 };

	begin(2);
	T_CHECK(voters_begin(&v, one, 5000 * MS, true));
	T_CHECK(voters_begin(&v, one, 5249 * MS, false));
	T_CHECK(!voters_begin(&v, one, 5250 * MS, false));
	T_CHECK(voters_begin(&v, two, 9000 * MS, false));
	T_CHECK(!voters_begin(&v, one, 9001 * MS, false));
	T_CHECK(!voters_begin(&v, one, 9002 * MS, true));
	voters_go(&v, two, true);
	T_CHECK(!voters_begin(&v, one, 9003 * MS, false));
	/* It is alone, and nothing was to be sent. */
	T_CHECK(voters_begin(&v, one, 9004 * MS, true));
	voters_come(&v, two, true);
	T_CHECK(voters_begin(&v, two, 11000 * MS, false));
	T_CHECK(!voters_begin(&v, two, 11250 * MS, false));
	voters_fini(&v);
}

int
main(void)
{
	test_addresses();
	test_beginning();
	test_complaints();
	test_in_step();
	test_aside();
	test_account();
	test_wanting();
	test_asking();
	return t_done();
}
