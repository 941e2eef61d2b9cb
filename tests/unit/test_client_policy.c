/* Policies are values: who is asked in which order, and when again, without a session. */
#include "frisbee/client/client_policy.h"
#include "tests/unit/client_bare.h"

static uint8_t pkt[WIRE_PACKET_MAX];
static size_t first_says, second_says;
static uint64_t first_at, second_at;
static unsigned asked;

static size_t
say_first(struct client *c, uint64_t now, void *to)
{
	(void)c, (void)now, (void)to;
	asked = asked * 10 + 1;
	return first_says;
}

static size_t
say_second(struct client *c, uint64_t now, void *to)
{
	(void)c, (void)now, (void)to;
	asked = asked * 10 + 2;
	return second_says;
}

static uint64_t
at_first(const struct client *c, uint64_t now)
{
	(void)c, (void)now;
	return first_at;
}

static uint64_t
at_second(const struct client *c, uint64_t now)
{
	(void)c, (void)now;
	return second_at;
}

/* A policy of our own: that is all there is to it. */
static const struct client_speaker speakers[] = {
	{ say_first, at_first },
	{ say_second, at_second },
	{ NULL, NULL },
};
static const struct client_policy policy = { "test", speakers };

static void
test_order(void)
{
	struct client *c = bare_client(false, false, 0);

	client_schedule_now(&c->schedule, 0);
	first_says = 5;
	asked = 0;
	T_CHECK(client_policy_say(&policy, c, 1 * S, pkt) == 5);
	T_CHECK(asked == 1);
	T_CHECK(c->schedule.at_us == 0); /* it may have more to say */
	first_says = 0;
	second_says = 6;
	asked = 0;
	T_CHECK(client_policy_say(&policy, c, 1 * S, pkt) == 6);
	T_CHECK(asked == 12);
	client_free(c);
}

static void
test_schedule(void)
{
	struct client *c = bare_client(false, false, 0);

	first_says = second_says = 0;
	first_at = second_at = 0; /* no such time */
	T_CHECK(client_policy_say(&policy, c, 1 * S, pkt) == 0);
	T_CHECK(c->schedule.at_us == 1 * S + 30 * MS);
	first_at = 1 * S + 20 * MS;
	second_at = 1 * S + 10 * MS;
	client_policy_say(&policy, c, 1 * S, pkt);
	T_CHECK(c->schedule.at_us == second_at);
	second_at = 1 * S; /* it has passed */
	client_policy_say(&policy, c, 1 * S, pkt);
	T_CHECK(c->schedule.at_us == first_at);
	client_free(c);
}

/* In both policies a chunk that somebody waits for goes first. */
static void
test_urgent_is_first(bool ext)
{
	struct client *c = bare_client(ext, false, 1);
	struct wire_msg m;
	struct err e;

	client_requests_begin_image(&c->requests, 0);
	bare_begin(c, 3, 1000);
	client_urgent_add(&c->urgent, 40);
	const struct client_policy *p = ext ? &client_ext_policy : &client_base_policy;
	size_t len = client_policy_say(p, c, 1 * S, pkt);
	T_CHECK(len > 0);
	T_CHECK(!wirext_is(pkt, len));
	T_CHECK(wire_get(&m, pkt, len, &e) == 0);
	T_CHECK((ext ? m.u.preq.chunk : m.u.req.chunk) == 40);
	client_free(c);
}

int
main(void)
{
	test_order();
	test_schedule();
	test_urgent_is_first(false);
	test_urgent_is_first(true);
	return t_done();
}
