/* How fast the server sends: bursts and their grid, and what changes the rate; what
 * clients make of its time signals. */
#include "frisbee/client/client_congestion.h"
#include "frisbeed/server/server_pace.h"
#include "frisbeed/server/server_rate.h"
#include "tests/t.h"

/* Blocks that may go in a second, when we come 70 us late each time. */
static uint32_t
in_a_second(struct pace *p, uint64_t *now)
{
	uint64_t end = *now + 1000000;
	uint32_t n = 0;

	for (; *now < end; *now = pace_deadline_us(p, *now) + 70)
		for (; pace_deadline_us(p, *now) <= *now; n++)
			pace_spend(p, *now, 1);
	return n;
}

static void
test_pace(void)
{
	static const double rates[] = { 8000, 7999, 4000, 1234, 500, 100, 7 };
	struct pace p;
	uint64_t now = 1000000;

	pace_init(&p, 16, 2000);
	T_CHECK(pace_cap(&p) == 8000);
	T_CHECK(in_a_second(&p, &now) == 8000);
	pace_refine(&p);
	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		pace_set(&p, rates[i]);
		in_a_second(&p, &now);
		uint32_t n = in_a_second(&p, &now);
		T_CHECK(n <= rates[i] + 9);
		T_CHECK(n >= rates[i] * 0.99 - 9);
	}
	pace_set(&p, 1e9);
	in_a_second(&p, &now);
	T_CHECK(in_a_second(&p, &now) <= 8009);
	/* At random times, but not faster. */
	pace_scatter(&p, 77);
	in_a_second(&p, &now);
	uint32_t n = in_a_second(&p, &now);
	T_CHECK(n <= 8020);
	T_CHECK(n >= 7900);
	/* Nothing is caught up. */
	now += 5000000;
	T_CHECK(in_a_second(&p, &now) <= 8020);
}

/* A busy machine that wakes the server 30 ms late each time: a low rate is kept all the same, so
 * that it can rise. */
static void
test_pace_on_a_busy_machine(void)
{
	struct pace p;
	uint64_t now = 7, end = 4000000;
	uint32_t n = 0;

	pace_init(&p, 31, 7000);
	pace_set(&p, 76);
	for (; now < end; now = pace_deadline_us(&p, now) + 30000)
		for (; pace_deadline_us(&p, now) <= now; n++)
			pace_spend(&p, now, 1);
	T_CHECK(n >= 4 * 74);
	T_CHECK(n <= 4 * 76 + 2);
}

/* Blocks of the bursts of a second, in packets of so many, when we come up to late_us late; the
 * longest burst. */
static uint32_t
longest(double rate, uint32_t packet, uint64_t late_us, uint32_t *sent)
{
	struct pace p;
	uint64_t now = 7, rng = 1;
	uint32_t most = 0;

	pace_init(&p, 1, 0);
	pace_limit(&p, rate);
	for (*sent = 0; now < 1000007; now = pace_deadline_us(&p, now) + rng % (late_us + 1)) {
		uint32_t n = 0;
		do
			n += pace_spend(&p, now, packet);
		while (pace_deadline_us(&p, now) <= now);
		most = n > most ? n : most;
		*sent += n;
		rng = rng * 6364136223846793005 + 1442695040888963407;
	}
	return most;
}

/* Bursts fit into short queues, also when we come late; packets stay whole, and the rate is
 * kept. */
static void
test_pace_bursts(void)
{
	uint32_t n;

	T_CHECK(longest(100000, 1, 0, &n) == 8);
	T_CHECK(n >= 99990 && n <= 100008);
	T_CHECK(longest(100000, 8, 0, &n) == 8);
	T_CHECK(longest(20000, 1, 0, &n) == 2);
	T_CHECK(longest(20000, 8, 0, &n) == 8);
	T_CHECK(n >= 19990 && n <= 20008);
	T_CHECK(longest(200000, 8, 0, &n) == 20);
	T_CHECK(longest(1000000, 8, 0, &n) == 64);
	T_CHECK(n >= 999900 && n <= 1000064);
	T_CHECK(longest(100000, 1, 200, &n) <= 25);
	T_CHECK(n >= 99000 && n <= 100025);
	T_CHECK(longest(10000, 1, 200, &n) <= 4);
	T_CHECK(n >= 9900 && n <= 10003);
	T_CHECK(longest(1000000, 1, 200, &n) <= 250);
	T_CHECK(n >= 990000);
}

/* From almost nothing to much: what was planned at the old rate is not waited for. */
static void
test_pace_faster(void)
{
	struct pace p;
	uint64_t now = 7;

	pace_init(&p, 16, 2000);
	pace_limit(&p, 2);
	pace_spend(&p, now, 1);
	T_CHECK(pace_deadline_us(&p, now) == now + 500000);
	pace_limit(&p, 1000);
	T_CHECK(pace_deadline_us(&p, now) == now + 1000);
	for (int i = 0; i < 50; i++)
		pace_set(&p, 1000);
	T_CHECK(pace_deadline_us(&p, now) == now + 1000);
	T_CHECK(in_a_second(&p, &now) <= 1001);
	/* Up and down all the time is not faster than the faster one. */
	uint32_t n = 0;
	for (uint64_t end = now + 1000000; now < end; now += 300) {
		pace_set(&p, now % 900 == 0 ? 1000 : 300);
		for (; pace_deadline_us(&p, now) <= now; n++)
			pace_spend(&p, now, 1);
	}
	T_CHECK(n <= 1001);
}

static void
test_unpaced(void)
{
	struct pace p;
	uint64_t now = 5;

	pace_init(&p, 16, 0);
	T_CHECK(pace_cap(&p) == 0);
	bool at_once = true;
	for (int i = 0; i < 100000; i++) {
		at_once = at_once && pace_deadline_us(&p, now) == now;
		pace_spend(&p, now, 1);
	}
	T_CHECK(at_once);
	pace_set(&p, 50000);
	uint32_t n = in_a_second(&p, &now);
	T_CHECK(n >= 49500);
	T_CHECK(n <= 50100);
}

/* One that sends all that it may. */
struct sender {
	struct rate r;
	uint64_t now;
	double sent; /* blocks */
};

static void
run(struct sender *s, double seconds)
{
	for (uint64_t end = s->now + (uint64_t)(seconds * 1e6); s->now < end;
	     s->now += 1000) {
		rate_judge(&s->r, s->now, (uint64_t)s->sent, false);
		s->sent += s->r.now / 1000;
	}
}

/* Somebody has lost so many of 100 just now. */
static bool
complain(struct sender *s, uint32_t lost, bool queue)
{
	return rate_complain(
	    &s->r, s->now, (uint64_t)s->sent, s->r.epoch, lost, 100, queue);
}

/* ... again and again, 0.1 s apart; the slowest that it became. */
static double
complain_times(struct sender *s, int times, uint32_t lost, bool queue)
{
	double least = s->r.now;

	for (int i = 0; i < times; i++) {
		complain(s, lost, queue);
		run(s, 0.1);
		least = s->r.now < least ? s->r.now : least;
	}
	return least;
}

static void
test_rate(void)
{
	struct sender s = { 0 };

	rate_init(&s.r, 10000, &rate_usual);
	rate_judge(&s.r, s.now, 0, false);
	T_CHECK(s.r.now == 1000);
	run(&s, 2);
	T_CHECK(s.r.now == 10000); /* nobody has complained */
	uint32_t epoch = s.r.epoch;
	T_CHECK(rate_complain(&s.r, s.now, (uint64_t)s.sent, epoch, 1, 100, true));
	T_CHECK(s.r.now < 7251);
	T_CHECK(s.r.now > 7249);
	/* What comes of the time before is known. */
	T_CHECK(!rate_complain(&s.r, s.now, (uint64_t)s.sent, epoch, 1, 100, true));
	run(&s, 0.55);
	T_CHECK(s.r.now > 7900);
	T_CHECK(s.r.now <= 8400);
	T_CHECK(complain(&s, 60, true));
	T_CHECK(s.r.now < 4551);
	/* What is not sent tells nothing: no faster. */
	double before = s.r.now;
	for (int i = 0; i < 1000; i++)
		rate_judge(&s.r, s.now += 1000, (uint64_t)s.sent, false);
	T_CHECK(s.r.now == before);
	for (int i = 0; i < 1000; i++)
		complain(&s, 100, true);
	T_CHECK(s.r.now >= 10000 / 64.0);
	T_CHECK(s.r.now < 200);
}

/* So many complaints that tell of `ago` epochs before: how much faster it gets in a
 * second after them. */
static double
climb_after(int times, uint32_t ago)
{
	struct sender s = { 0 };

	rate_init(&s.r, 10000, &rate_usual);
	for (int i = 0; i < times; i++) {
		run(&s, 0.6);
		T_CHECK(rate_complain(
		    &s.r, s.now, (uint64_t)s.sent, s.r.epoch - ago, 1, 100, true));
	}
	double before = s.r.now;
	run(&s, 1);
	return s.r.now - before;
}

/* A long queue tells late that it is full: the next time it is filled more slowly. */
static void
test_late(void)
{
	double soon = climb_after(20, 0), late = climb_after(20, 2);

	T_CHECK(soon > 500);
	T_CHECK(late > soon / 15);
	T_CHECK(late < soon * 2 / 3);
	/* The first time already, and the later the more. */
	soon = climb_after(1, 0);
	late = climb_after(1, 1);
	T_CHECK(soon > 500);
	T_CHECK(late < soon * 4 / 5);
	T_CHECK(climb_after(1, 2) < late * 4 / 5);
}

/* Who begins where others have sent just now need not climb; a complaint counts. */
static void
test_trust(void)
{
	struct sender s = { 0 };

	rate_init(&s.r, 100000, &rate_usual);
	rate_trust(&s.r, 20000);
	rate_judge(&s.r, s.now, 0, false);
	T_CHECK(s.r.now == 20000);
	rate_trust(&s.r, 30000);
	T_CHECK(s.r.now == 30000);
	rate_trust(&s.r, 1000000);
	T_CHECK(s.r.now == 100000); /* the cap holds */
	run(&s, 0.3);
	T_CHECK(complain(&s, 1, true));
	double before = s.r.now;
	rate_trust(&s.r, 100000);
	T_CHECK(s.r.now == before);
	T_CHECK(before < 100000);
	/* A cap that grows from next to nothing, as a share does. */
	rate_init(&s.r, 2, &rate_usual);
	rate_judge(&s.r, s.now, 0, false);
	T_CHECK(s.r.now <= 2);
	rate_limit(&s.r, 50000);
	rate_trust(&s.r, 40000);
	T_CHECK(s.r.now == 40000);
}

/* Losses of 30 % at any rate: they are not the rate's fault. */
static void
test_useless(void)
{
	struct sender s = { 0 };

	rate_init(&s.r, 10000, &rate_usual);
	run(&s, 2);
	double least = complain_times(&s, 120, 30, false);
	T_CHECK(least > 5000);
	T_CHECK(least < 8000);
	T_CHECK(s.r.now > 9500);
}

/* ... but what was lowered because of a queue since then is no test of that. */
static void
test_useless_queue(void)
{
	struct sender s = { 0 };

	rate_init(&s.r, 10000, &rate_usual);
	run(&s, 2);
	complain_times(&s, 6, 30, false);
	T_CHECK(s.r.now < 8500);
	complain_times(&s, 4, 1, true);
	T_CHECK(s.r.now < 5000);
	complain_times(&s, 6, 30, false);
	T_CHECK(s.r.now < 5000);
}

/* What clients lose that have gone is not usual any more.  Of one client alone, much is believed to
 * be lost at any rate only when a sixteenth of the rate has not helped. */
static void
test_gone(void)
{
	struct sender s = { 0 };

	rate_init(&s.r, 10000, &rate_usual);
	rate_clients(&s.r, s.now, 3);
	run(&s, 2);
	complain_times(&s, 120, 30, false);
	T_CHECK(complain_times(&s, 8, 30, false) > 9000);
	rate_clients(&s.r, s.now, 2);
	T_CHECK(s.r.since_us == s.now);
	T_CHECK(complain_times(&s, 8, 30, false) < 8500);
	for (uint32_t addresses = 1; addresses <= 2; addresses++) {
		rate_init(&s.r, 10000, &rate_usual);
		rate_clients(&s.r, s.now, addresses);
		run(&s, 2);
		double least = complain_times(&s, 60, 95, false);
		T_CHECK(addresses == 1 ? least < 700 : least > 4000);
		T_CHECK(s.r.now > 9500);
	}
}

/* How much faster a rate is after an epoch without a complaint, when the last one was at 100,000
 * blocks a second. */
static double
rises_by(double now)
{
	struct rate r;
	double sent = now / 4;

	rate_init(&r, 1114000, &rate_usual);
	rate_judge(&r, 1, 0, false);
	r.climbing = false;
	r.now = 100000;
	T_CHECK(rate_complain(&r, 50000, 5000, r.epoch, 1, 100, true));
	r.now = now;
	rate_judge(&r, 200000, (uint64_t)sent, false);
	return r.now - now;
}

/* A network of 1 Gbit/s behind a faster card: soon back, then slowly, and soon beyond. */
static void
test_near(void)
{
	T_CHECK(rises_by(60000) > 5000);
	T_CHECK(rises_by(90000) > 1900);
	T_CHECK(rises_by(90000) < 2100);
	T_CHECK(rises_by(110000) < 2400);
	T_CHECK(rises_by(120000) > 7000);
}

/* More than half have just lost so many of 100 in step with bursts. */
static bool
in_step(struct sender *s, uint32_t lost)
{
	return rate_in_step(&s->r, s->now, (uint64_t)s->sent, s->r.epoch, lost, 100);
}

/* What is lost in step with bursts lowers the rate at once; where a rate of six tenths loses as
 * much, it was not the cause, and the rate is what it was.  Later it may be again. */
static void
test_in_step(void)
{
	struct sender s = { 0 };

	rate_init(&s.r, 10000, &rate_usual);
	run(&s, 2);
	T_CHECK(in_step(&s, 10));
	T_CHECK(s.r.now < 7300);
	run(&s, 0.1);
	T_CHECK(in_step(&s, 10));
	T_CHECK(s.r.now < 6000);
	run(&s, 0.05);
	T_CHECK(in_step(&s, 10));
	T_CHECK(s.r.now == 10000);
	T_CHECK(!in_step(&s, 11)); /* it is known */
	T_CHECK(in_step(&s, 20));
	T_CHECK(s.r.now < 7300);
	/* Lower rates help. */
	rate_init(&s.r, 10000, &rate_usual);
	run(&s, 2);
	for (int i = 0; i < 6; i++) {
		double before = s.r.now;
		T_CHECK(in_step(&s, 20u >> i | 1));
		T_CHECK(s.r.now < before);
		run(&s, 0.1);
	}
	T_CHECK(s.r.now < 4000);
	/* ... and so they did each time, when the rate has risen since. */
	rate_init(&s.r, 10000, &rate_usual);
	run(&s, 2);
	for (int i = 0; i < 8; i++) {
		T_CHECK(in_step(&s, 10));
		T_CHECK(s.r.now < 9900);
		run(&s, 0.5);
	}
	T_CHECK(s.r.now < 7000);
}

/* A full queue is complained about, and what it lost is asked for again: that is one
 * reason to slow down, not two. */
static void
test_once(void)
{
	struct sender s = { 0 };

	rate_init(&s.r, 10000, &rate_usual);
	run(&s, 2.3);
	for (int i = 0; i < 10; i++)
		rate_asked_again(&s.r, 100, 100);
	T_CHECK(complain(&s, 10, true));
	run(&s, 1);
	T_CHECK(s.r.steps == 1);
	/* Nobody complains. */
	for (int i = 0; i < 10; i++)
		rate_asked_again(&s.r, 100, 100);
	run(&s, 1);
	T_CHECK(s.r.steps == 2);
}

/* What is allowed is little: no time is lost with beginning at less. */
static void
test_low_cap(void)
{
	struct rate r;

	for (double cap = 20; cap < 1000; cap += 90) {
		rate_init(&r, cap, &rate_usual);
		rate_judge(&r, 5, 0, false);
		T_CHECK(r.now == cap);
	}
	rate_init(&r, 100000, &rate_usual);
	rate_judge(&r, 5, 0, false);
	T_CHECK(r.now > 8899);
	T_CHECK(r.now < 8901);
	/* However fast the card, the network may not be: 89 Mbit/s with a card of 2.5 Gbit/s. */
	rate_init(&r, 278500, &rate_usual);
	rate_judge(&r, 5, 0, false);
	T_CHECK(r.now > 9900);
	T_CHECK(r.now < 10000);
	/* A card of 10 Gbit/s: 156 Mbit/s. */
	rate_init(&r, 1114000, &rate_usual);
	rate_judge(&r, 5, 0, false);
	T_CHECK(r.now > 17400);
	T_CHECK(r.now < 17410);
	/* Clients of the base protocol are late to complain. */
	rate_init(&r, 1114000, &rate_usual);
	rate_judge(&r, 5, 0, true);
	T_CHECK(r.now == 8000);
	/* The network behind a faster card may be slower. */
	rate_init(&r, 1e8, &rate_usual);
	rate_judge(&r, 5, 0, false);
	T_CHECK(r.now > 17400);
	T_CHECK(r.now < 17410);
}

/* From there to 1 Gbit/s, and how much less is sent meanwhile. */
static void
test_climb(void)
{
	const double gigabit = 111400;
	struct sender s = { 0 };

	rate_init(&s.r, 1e6, &rate_usual);
	while (s.r.now < gigabit && s.now < 1000000)
		run(&s, 0.001);
	T_CHECK(s.now <= 310000);
	T_CHECK(gigabit * (double)s.now / 1e6 - s.sent < gigabit * 0.21);
	/* Clients of the base protocol are late to complain. */
	struct sender old = { 0 };
	rate_init(&old.r, 1e6, &rate_usual);
	for (; old.now < 410000; old.now += 1000) {
		rate_judge(&old.r, old.now, (uint64_t)old.sent, true);
		old.sent += old.r.now / 1000;
	}
	T_CHECK(old.r.now <= 8000 * 1.5);
}

/* The rate after a minute without a complaint, all of which is used. */
static double
after_a_minute(bool old)
{
	struct rate r;
	double sent = 0;

	rate_init(&r, 1e6, &rate_usual);
	for (uint64_t now = 5; now < 60000000; now += 10000) {
		rate_judge(&r, now, (uint64_t)sent, old);
		sent += r.now / 100;
	}
	return r.now;
}

/* At a complaint, what is left of a rate. */
static double
left_of(double rate)
{
	struct rate r;

	rate_init(&r, 10000, &rate_usual);
	rate_judge(&r, 5, 0, false);
	r.now = rate;
	r.climbing = false;
	T_CHECK(rate_complain(&r, 50000, 500, r.epoch, 1, 100, true));
	return r.now / rate;
}

/* Of two servers on a link, the faster one gives way more. */
static void
test_faster_gives_way(void)
{
	T_CHECK(left_of(8000) < left_of(2000) - 0.05);
	T_CHECK(left_of(2000) < 0.9);
	T_CHECK(left_of(10000) > 0.7);
}

/* Old clients say late that it is too much: with them, no more than 1 Gbit/s is tried. */
static void
test_old_cap(void)
{
	T_CHECK(after_a_minute(false) == 1e6);
	T_CHECK(after_a_minute(true) > 100000);
	T_CHECK(after_a_minute(true) < 112000);
}

/* Signals every 25 ms, 200 blocks between two; the clocks do not agree. */
struct feed {
	struct client_congestion l;
	uint64_t now, sent, seen;
	uint32_t epoch;
};

static bool
signal_after(struct feed *f, uint32_t lost, uint64_t queue_us)
{
	f->now += 25000;
	f->sent += 200;
	f->seen += 200 - lost;
	client_congestion_signal(
	    &f->l, f->now + queue_us, f->now - 123456789, f->epoch, f->sent);
	return client_congestion_judge(&f->l, f->now + queue_us + 1, f->seen, 0);
}

static void
test_load(void)
{
	struct feed f = { .now = 1000, .sent = 12345, .epoch = 3 };
	unsigned said = 0;

	for (int i = 0; i < 400; i++)
		said += signal_after(&f, i % 2, 50); /* 0.25 % by chance */
	T_CHECK(said == 0);
	for (int i = 0; i < 40; i++)
		said += signal_after(&f, 0, 100 * (unsigned)i); /* a queue, no loss */
	T_CHECK(said == 0);
	f.epoch = 4;
	T_CHECK(!signal_after(&f, 6, 3000)); /* perhaps they are only late */
	T_CHECK(signal_after(&f, 6, 3000));
	T_CHECK((f.l.say_kind == CLIENT_CONGESTION_QUEUE));
	T_CHECK(f.l.say_epoch == 3);
	T_CHECK(f.l.say_lost == 6);
	T_CHECK(f.l.say_of == 200);
	T_CHECK(signal_after(&f, 0, 100));
	T_CHECK(f.l.say_epoch == 4);
	for (int i = 0; i < 3; i++)
		signal_after(&f, 0, 100);
	T_CHECK(!signal_after(&f, 6, 100));
	T_CHECK(!signal_after(&f, 0, 100));
	/* Much, without a queue: not at once, and it is said that there is none. */
	for (int i = 0; i < 40; i++)
		said += signal_after(&f, 40, 60);
	T_CHECK(said > 30);
	T_CHECK(f.l.say_kind != CLIENT_CONGESTION_QUEUE);
	T_CHECK(f.l.say_lost > 30);
	T_CHECK(f.l.say_lost <= 40);
}

/* A link that loses 1 % loses it with a queue, too: only more than that is the
 * queue's.  Of `times` signals with a queue, how many are complained about. */
static unsigned
complaints(struct feed *f, int times, uint32_t lost)
{
	unsigned said = 0;

	for (int i = 0; i < times; i++)
		said += signal_after(f, lost, 5000) && f->l.say_kind == CLIENT_CONGESTION_QUEUE;
	return said;
}

static void
test_load_usual(void)
{
	struct feed f = { .now = 1000, .l.clients = 1 };

	for (int i = 0; i < 200; i++)
		signal_after(&f, 2, 0);
	T_CHECK(complaints(&f, 400, 2) == 0);
	for (int i = 0; i < 200; i++)
		signal_after(&f, 2, 0);
	T_CHECK(complaints(&f, 20, 8) >= 5);
	/* Of 80 that count each, one is not believed so soon. */
	for (int i = 0; i < 200; i++)
		signal_after(&f, 2, 0);
	struct feed g = f;
	g.l.clients = 80;
	unsigned one = complaints(&f, 60, 7), each = complaints(&g, 60, 7);
	T_CHECK(each >= 10);
	T_CHECK(one > each + 5);
	/* What was lost while a queue was overlooked is not usual for that. */
	for (int i = 0; i < 400; i++)
		signal_after(&f, 80, 0);
	T_CHECK(complaints(&f, 20, 80) >= 15);
}

/* A client that begins when the queue is full does not see it, and takes its losses for usual ones, until
 * a signal comes sooner. */
static void
test_load_late_start(void)
{
	struct feed f = { .now = 1000, .l.clients = 1 };

	for (int i = 0; i < 40; i++)
		signal_after(&f, 10, 5000);
	for (int i = 0; i < 3; i++)
		signal_after(&f, 0, 2000);
	T_CHECK(complaints(&f, 20, 5) >= 15);
}

/* On a fast network many blocks pass between two signals: one of 2,500 is no reason to be
 * slower, one of 500 is, since a stream of TCP would be slower, too. */
static void
test_load_little(void)
{
	struct feed f = { .now = 1000 };
	unsigned said[2] = { 0, 0 };

	for (unsigned much = 0; much < 2; much++)
		for (unsigned i = 0; i < 100; i++) {
			f.now += 25000;
			f.sent += 2500;
			f.seen += 2500 - (much ? 5 : 1);
			client_congestion_signal(&f.l, f.now + 9000, f.now, 0, f.sent);
			said[much] += client_congestion_judge(&f.l, f.now + 9001, f.seen, 0);
			if (i % 10 == 0)
				client_congestion_signal(&f.l, f.now, f.now, 0, f.sent);
		}
	T_CHECK(said[0] == 0);
	T_CHECK(said[1] > 20);
}

/* Blocks are lost in so many places between two signals; no queue is seen. */
static bool
step_after(struct feed *f, uint32_t lost, uint32_t places, uint64_t *gaps)
{
	f->now += 25000;
	f->sent += 2500;
	f->seen += 2500 - lost;
	*gaps += places;
	client_congestion_signal(&f->l, f->now + 50, f->now, f->epoch, f->sent);
	return client_congestion_judge(&f->l, f->now + 51, f->seen, *gaps) &&
	       f->l.say_kind == CLIENT_CONGESTION_STEP;
}

/* A queue that is too short to be seen overflows: more is lost than usual, here and there.  A
 * disturbance takes all for a while; a bad cable loses always. */
static void
test_load_in_step(void)
{
	struct feed f = { .now = 1000 };
	uint64_t gaps = 0;
	unsigned said = 0;

	for (int i = 0; i < 20; i++)
		said += step_after(&f, 0, 0, &gaps);
	for (int i = 0; i < 4; i++)
		said += step_after(&f, 20, 20, &gaps); /* little */
	T_CHECK(said == 0);
	step_after(&f, 200, 200, &gaps);
	T_CHECK(step_after(&f, 200, 200, &gaps));
	T_CHECK(f.l.say_lost == 200);
	for (int i = 0; i < 100; i++)
		step_after(&f, 0, 0, &gaps);
	for (int i = 0; i < 4; i++)
		said += step_after(&f, 200, 1, &gaps); /* at one place */
	T_CHECK(said == 0);
	for (int i = 0; i < 800; i++)
		step_after(&f, 50, 50, &gaps);
	for (int i = 0; i < 20; i++)
		said += step_after(&f, 90, 90, &gaps);
	T_CHECK(said == 0);
}

/* A stream of TCP takes a part of a small port, again and again: what that costs does not become
 * usual within seconds. */
static void
test_load_beside_tcp(void)
{
	struct feed f = { .now = 1000 };
	uint64_t gaps = 0;
	unsigned said = 0;

	for (int i = 0; i < 20; i++)
		step_after(&f, 0, 0, &gaps);
	for (int i = 0; i < 200; i++)
		said += step_after(&f, i % 4 < 2 ? 40 : 5, 10, &gaps);
	T_CHECK(said > 60);
}

/* Blocks are lost throughout this epoch, with a queue.  Two signals later that is judged: is
 * there anything to say about it? */
static bool
lossy(struct feed *f, uint32_t epoch)
{
	f->epoch = epoch;
	signal_after(f, 20, 9000);
	signal_after(f, 20, 9000);
	return signal_after(f, 20, 9000);
}

/* Whoever has complained about an epoch does not complain about it again; about the next one,
 * and about losses of another kind, he does. */
static void
test_load_once(void)
{
	struct feed f = { .now = 1000, .epoch = 3 };

	for (int i = 0; i < 20; i++)
		signal_after(&f, 0, 0);
	T_CHECK(lossy(&f, 3) && (f.l.say_kind == CLIENT_CONGESTION_QUEUE));
	T_CHECK(lossy(&f, 3)); /* it was not sent yet */
	client_congestion_say(&f.l, f.now, true);
	T_CHECK(client_congestion_says(&f.l, f.now));
	T_CHECK(!lossy(&f, 3));
	T_CHECK(!lossy(&f, 3));
	T_CHECK(lossy(&f, 4));
	T_CHECK(f.l.say_epoch == 4);
	client_congestion_say(&f.l, f.now, true);
	T_CHECK(client_congestion_says(&f.l, f.now));
	bool quiet = false;
	for (int i = 0; i < 40; i++)
		quiet |= signal_after(&f, 40, 0) && f.l.say_kind != CLIENT_CONGESTION_QUEUE;
	T_CHECK(quiet);
	client_congestion_forget(&f.l); /* another session begins with epoch 0 */
	for (int i = 0; i < 20; i++)
		signal_after(&f, 0, 0);
	T_CHECK(lossy(&f, 0));
}

/* Those who need not speak are silent about what others have said before or meanwhile, but not
 * because somebody complained about an epoch that was still to come, or about losses without a
 * queue. */
static void
test_load_heard(void)
{
	struct feed f = { .now = 1000, .epoch = 3 };

	for (int i = 0; i < 20; i++)
		signal_after(&f, 0, 0);
	T_CHECK(lossy(&f, 3));
	client_congestion_say(&f.l, f.now + 1000, false);
	client_congestion_heard(&f.l, 3, true);
	T_CHECK(client_congestion_at_us(&f.l) == UINT64_MAX);
	client_congestion_say(&f.l, f.now + 1000, false);
	T_CHECK(client_congestion_at_us(&f.l) == UINT64_MAX);
	client_congestion_say(&f.l, f.now + 1000, true);
	T_CHECK(client_congestion_at_us(&f.l) == f.now + 1000);
	client_congestion_heard(&f.l, 3, true);
	T_CHECK(client_congestion_says(&f.l, f.now + 1000));
	client_congestion_heard(&f.l, UINT32_MAX, true);
	T_CHECK(lossy(&f, 4));
	client_congestion_heard(&f.l, 4, false);
	client_congestion_say(&f.l, f.now + 1000000, false);
	T_CHECK(client_congestion_at_us(&f.l) == f.now + 1000000);
	/* Losses without a queue do not take its place. */
	for (int i = 0; i < 30; i++)
		T_CHECK(!signal_after(&f, 60, 0) || (f.l.say_kind == CLIENT_CONGESTION_QUEUE));
	T_CHECK((f.l.say_kind == CLIENT_CONGESTION_QUEUE));
}

/* So slow that few blocks pass between two signals. */
static unsigned
slow_complaints(struct feed *f, int times, uint32_t every, uint64_t queue_us)
{
	unsigned said = 0;

	for (int i = 0; i < times; i++) {
		f->now += 25000;
		f->sent += 5;
		f->seen += (uint32_t)i % every == 0 ? 4 : 5;
		client_congestion_signal(&f->l, f->now + queue_us, f->now, 0, f->sent);
		said += client_congestion_judge(&f->l, f->now + queue_us + 1, f->seen, 0) &&
		        f->l.say_kind == CLIENT_CONGESTION_QUEUE;
	}
	return said;
}

static void
test_load_slow(void)
{
	struct feed f = { .now = 1000 };

	T_CHECK(slow_complaints(&f, 300, 20, 0) == 0);
	T_CHECK(slow_complaints(&f, 100, 20, 9000) == 0);
	T_CHECK(slow_complaints(&f, 300, 20, 0) == 0);
	T_CHECK(slow_complaints(&f, 100, 1, 9000) > 10);
	/* One of five is not half of all. */
	T_CHECK(f.l.say_of >= 16);
	T_CHECK(f.l.say_lost * 2 < f.l.say_of);
}

/* Blocks and signals are not read in the order in which they were sent. */
static void
test_load_order(void)
{
	struct feed g = { .now = 1000 };

	for (int i = 0; i < 20; i++)
		signal_after(&g, 0, 0);
	/* Two signals at once, while a hundred blocks lie unread. */
	client_congestion_signal(&g.l, g.now + 50000, g.now, 0, g.sent + 200);
	client_congestion_signal(&g.l, g.now + 50000, g.now + 25000, 0, g.sent + 400);
	T_CHECK(!client_congestion_judge(&g.l, g.now + 50000, g.seen + 300, 0));
	T_CHECK(!client_congestion_judge(&g.l, g.now + 50100, g.seen + 400, 0));
	T_CHECK(!client_congestion_judge(&g.l, g.now + 50200, g.seen + 300, 0)); /* once */
	g.now += 50000;
	g.sent += 400;
	g.seen += 400;
	/* Some of the next stretch are read already. */
	g.seen += 50;
	T_CHECK(!signal_after(&g, 0, 9000));
	g.seen -= 50;
	T_CHECK(!signal_after(&g, 0, 9000));
	T_CHECK(!signal_after(&g, 0, 9000));
	/* A signal that nobody can have sent yet, and one that runs backwards. */
	g.sent = UINT64_MAX - 1000;
	T_CHECK(!signal_after(&g, 0, 9000));
	g.sent = 0;
	T_CHECK(!signal_after(&g, 200, 9000));
}

/* Complaints to which others object: a rate of their own, which takes turns with the
 * other. */
static void
test_contested(void)
{
	uint64_t now = 1000000, sent = 0;
	struct rate r;

	rate_init(&r, 100000, &rate_usual);
	T_CHECK(rate_judge(&r, now, 0, false));
	double first = r.now;
	rate_mark(&r);
	for (unsigned i = 0; i < 5; i++) {
		now += 10000;
		rate_complain(&r, now, sent, r.epoch, 50, 100, true);
	}
	double low = r.now;
	T_CHECK(low < first / 4);
	T_CHECK(rate_split(&r));
	T_CHECK(r.now == first);
	T_CHECK(r.climbing);
	T_CHECK(!rate_split(&r));
	rate_mark(&r); /* nothing new while there are two */
	T_CHECK(!rate_turn(&r, now, sent, false));
	uint32_t epoch = r.epoch;
	T_CHECK(rate_turn(&r, now, sent, true));
	T_CHECK(r.now == low);
	T_CHECK(!r.climbing);
	T_CHECK(!rate_complain(&r, now + 1, sent, epoch, 50, 100, true)); /* of the other */
	T_CHECK(rate_turn(&r, now, sent, false));
	T_CHECK(r.now == first);
	T_CHECK(rate_unite(&r, true)); /* nobody objects any more */
	T_CHECK(r.now == low);
	T_CHECK(!rate_unite(&r, false));
	T_CHECK(!rate_turn(&r, now, sent, true));
	rate_limit(&r, first / 2);
	rate_mark(&r);
	T_CHECK(rate_split(&r));
	T_CHECK(r.now <= first / 2);
}

int
main(void)
{
	test_contested();
	test_pace();
	test_pace_on_a_busy_machine();
	test_pace_bursts();
	test_pace_faster();
	test_unpaced();
	test_rate();
	test_late();
	test_trust();
	test_useless();
	test_useless_queue();
	test_gone();
	test_near();
	test_in_step();
	test_once();
	test_low_cap();
	test_climb();
	test_old_cap();
	test_faster_gives_way();
	test_load();
	test_load_order();
	test_load_in_step();
	test_load_beside_tcp();
	test_load_once();
	test_load_heard();
	test_load_usual();
	test_load_late_start();
	test_load_little();
	test_load_slow();
	return t_done();
}
