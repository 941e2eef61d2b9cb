/* client_policy.c: the policies. client_output() asks one of them, in the engine's
 * only thread. */
#include "frisbee/client/client_policy.h"

#include "frisbee/client/client_ext_impl.h"

static uint64_t
settled_at_us(const struct client *c, uint64_t now_us)
{
	return client_bufs_settled_before(&c->bufs, now_us, CLIENT_NEVER);
}

/* A chunk is settled, a request turns out to be lost, or silence ends a pass. */
static uint64_t
missing_at_us(const struct client *c, uint64_t now_us)
{
	uint64_t at = client_chunks_settle_at_us(&c->chunks);

	at = client_bufs_settled_before(&c->bufs, now_us, at);
	if (client_partial(c) && client_partial_quiet_us(c) < at)
		at = client_partial_quiet_us(c);
	return at;
}

static uint64_t
ahead_at_us(const struct client *c, uint64_t now_us)
{
	(void)now_us;
	return c->requests.ahead_at_us;
}

static uint64_t
first_at_us(const struct client *c, uint64_t now_us)
{
	(void)now_us;
	return c->requests.first_at_us;
}

static uint64_t
credit_at_us(const struct client *c, uint64_t now_us)
{
	(void)now_us;
	return c->credit.at_us;
}

static uint64_t
report_at_us(const struct client *c, uint64_t now_us)
{
	(void)now_us;
	return c->nack.report_at_us;
}

static uint64_t
want_at_us(const struct client *c, uint64_t now_us)
{
	(void)now_us;
	return c->nack.want_at_us;
}

static const struct client_speaker base_speakers[] = {
	{ client_urgent_say, NULL }, /* chunks that somebody waits for */
	{ client_requests_say_missing, missing_at_us },
	{ client_requests_say_ahead, ahead_at_us },
	{ NULL, NULL },
};

static const struct client_speaker ext_speakers[] = {
	{ client_urgent_say, client_urgent_at_us },
	{ client_credit_say, credit_at_us }, /* before the server has to stop */
	{ client_requests_say_first, first_at_us },
	{ client_requests_say_missing, settled_at_us },
	{ client_nack_say_report, report_at_us },
	{ client_nack_say_want, want_at_us },
	{ client_ext_join_again, NULL },
	{ NULL, NULL },
};

const struct client_policy client_base_policy = { "base", base_speakers },
			   client_ext_policy = { "extension", ext_speakers };

size_t
client_policy_say(
    const struct client_policy *policy, struct client *c, uint64_t now_us, void *pkt)
{
	uint64_t next = now_us + c->cfg.tick_us;

	for (const struct client_speaker *s = policy->speakers; s->say != NULL; s++) {
		size_t len = s->say(c, now_us, pkt);
		if (len > 0)
			return len;
	}
	for (const struct client_speaker *s = policy->speakers; s->say != NULL; s++) {
		uint64_t at = s->at_us != NULL ? s->at_us(c, now_us) : 0;
		if (at > now_us && at < next)
			next = at;
	}
	client_schedule_next(&c->schedule, next);
	return 0;
}
