/* How a client finds out that packets wait in a queue: from time signals that take longer,
 * whatever its clock says, and that what is lost then is to be told. */
#include "frisbee/client/client_congestion.h"

#include "tests/t.h"

enum { SIGNALS = 40, EACH = 100, PERIOD_US = 20000 };

/* The clock of the server is ahead of the client's by this.  From the 20th signal on, each is
 * later than the one before by late_us; the 25th comes with 10 blocks less than were sent.
 * Returns whether there is something to tell, and of a queue. */
static bool
tells_queue(int64_t ahead_us, int64_t late_us, struct client_congestion *l)
{
	uint64_t sent = 0, received = 0, now_us = 1000000000;
	bool tells = false;

	*l = (struct client_congestion){ 0 };
	client_congestion_clients(l, 1);
	for (int i = 0; i < SIGNALS; i++) {
		now_us += PERIOD_US;
		sent += EACH;
		received += i == 25 ? EACH - 10 : EACH;
		int64_t way_us = 500 + (i < 20 ? 0 : (i - 19) * late_us);
		client_congestion_signal(
		    l, now_us, now_us + (uint64_t)(ahead_us - way_us), 1, sent);
		if (client_congestion_judge(l, now_us + 1, received, 0))
			tells |= l->say_kind == CLIENT_CONGESTION_QUEUE;
	}
	return tells;
}

/* Does the client say that it hears everything, when it is asked after each signal?  Of
 * each stretch this number of blocks is lost. */
static unsigned
says_it_hears(uint64_t lost, int64_t late_us)
{
	uint64_t sent = 0, received = 0, now_us = 1000000000;
	struct client_congestion l = { 0 };
	unsigned n = 0;

	client_congestion_clients(&l, 2);
	for (int i = 0; i < SIGNALS; i++) {
		now_us += PERIOD_US;
		sent += EACH;
		received += EACH - lost;
		client_congestion_signal(
		    &l, now_us, now_us - 500 - (uint64_t)(i * late_us), 1, sent);
		client_congestion_judge(&l, now_us + 1, received, 0);
		client_congestion_asked(&l, now_us + 2);
		T_CHECK(!client_congestion_hears(&l, now_us + 1));
		T_CHECK(client_congestion_at_us(&l) <= now_us + 2);
		n += client_congestion_hears(&l, now_us + 2);
		T_CHECK(!client_congestion_hears(&l, now_us + 3)); /* once for each question */
	}
	return n;
}

static void
test_hears(void)
{
	T_CHECK(says_it_hears(0, 0) > SIGNALS - 5);
	T_CHECK(says_it_hears(0, 1000) > SIGNALS - 5);
	/* What the link itself loses is no congestion; what a queue loses is, and so is
	 * much. */
	T_CHECK(says_it_hears(1, 0) > SIGNALS - 5);
	T_CHECK(says_it_hears(1, 1000) < 5);
	T_CHECK(says_it_hears(50, 0) < 15);
}

int
main(void)
{
	static const int64_t ahead_us[] = { 0, 900000000, -900000000 };
	struct client_congestion l;

	for (unsigned i = 0; i < sizeof ahead_us / sizeof ahead_us[0]; i++) {
		T_CHECK(tells_queue(ahead_us[i], 1000, &l));
		T_CHECK(l.delay_us[0] == (SIGNALS - 20) * 1000);
		T_CHECK(!tells_queue(ahead_us[i], 0, &l));
		T_CHECK(l.delay_us[0] == 0);
	}
	test_hears();
	return t_done();
}
