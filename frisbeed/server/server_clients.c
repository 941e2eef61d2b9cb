/* server_clients.c: which parts of the server's engine, besides the log, are notified
 * when a client is heard, leaves or falls silent.  The handlers of packets call this,
 * in the engine's thread. */
#include <string.h>

#include "frisbeed/server/server_impl.h"

static void
on_comes(void *arg, const struct server_client *c)
{
	struct server *s = arg;

	voters_come(&s->voters, c->ip, c->ext);
	rate_clients(&s->rate, s->now_us, s->voters.here);
	server_mtu_add(
	    &s->mtu, s->now_us, server_members_index(&s->members, c), c->ext);
	server_life_count(&s->life, server_members_count(&s->members));
}

static void
on_goes(void *arg, const struct server_client *c)
{
	struct server *s = arg;

	voters_go(&s->voters, c->ip, c->ext);
	rate_clients(&s->rate, s->now_us, s->voters.here);
	server_urgent_forget(&s->urgent, c->ip);
	if (s->members.waiting == 0)
		server_order_stop(&s->order);
	server_mtu_drop(&s->mtu, server_members_index(&s->members, c));
}

static void
note_left(struct server *s, uint64_t now_us)
{
	server_life_left(&s->life, now_us);
	if (s->members.ext == 0)
		server_announce_alone(&s->announce);
}

static void
on_silent(void *arg, const struct server_client *c, uint64_t silent_us)
{
	struct server *s = arg;

	server_count(&s->counters, COUNT_FORGOTTEN, 1);
	note_left(s, s->now_us);
	if (s->log.gone != NULL)
		s->log.gone(s->log.arg, c->ip, c->id, silent_us);
}

int
server_clients_init(struct server *s)
{
	const struct server_members_watch watch = { on_comes, on_goes, on_silent, s };
	uint64_t seed = (uint64_t)s->cfg.ext.session << 32 ^ s->now_us;
	uint32_t most = s->cfg.ext.on ? s->cfg.ext.pack_blocks : 0;

	if (server_members_init(
		&s->members, SERVER_CLIENTS_MAX, seed, s->now_us, &watch) != 0 ||
	    voters_init(&s->voters, SERVER_CLIENTS_MAX, seed + 1, &s->image) != 0)
		return -1;
	return server_mtu_init(&s->mtu, &s->image, most, SERVER_CLIENTS_MAX);
}

void
server_clients_fini(struct server *s)
{
	server_members_fini(&s->members);
	voters_fini(&s->voters);
	server_mtu_fini(&s->mtu);
}

static const struct server_client *
add(struct server *s, const uint8_t ip[4], uint32_t id, bool ext)
{
	return server_members_add(
	    &s->members, s->now_us, ip, id, ext, server_scheduled_join(&s->scheduled));
}

const struct server_client *
server_client_joined(
    struct server *s, const uint8_t ip[4], uint32_t id, bool ext, bool *known)
{
	const struct server_client *c = server_members_find(&s->members, ip, id);

	server_count(&s->counters, COUNT_JOINS, 1);
	*known = c != NULL;
	if (c != NULL) {
		/* Its last JOIN or the reply was lost, or it receives nothing on the
		 * second port. */
		server_members_heard(&s->members, s->now_us, c, false);
		server_mtu_again(
		    &s->mtu, s->now_us, server_members_index(&s->members, c));
		return c;
	}
	server_life_joined(&s->life, s->now_us);
	c = add(s, ip, id, ext);
	if (s->log.joined != NULL)
		s->log.joined(s->log.arg, ip, id);
	return c;
}

void
server_client_asks(struct server *s, const uint8_t ip[4])
{
	server_life_served(&s->life);
	/* A client of the base protocol takes the reply to the JOIN of another for its
	 * own. */
	if (!server_members_asks(&s->members, s->now_us, ip))
		add(s, ip, SERVER_MEMBERS_UNNAMED, false);
}

const struct server_client *
server_client_speaks(struct server *s, const uint8_t ip[4], uint32_t id)
{
	const struct server_client *c = server_members_find(&s->members, ip, id);
	bool known;

	if (server_members_has_left(&s->members, s->now_us, ip, id))
		return NULL;
	server_life_served(&s->life);
	/* It joined an earlier run of this server, was forgotten because there were too
	 * many clients, or took the reply to the JOIN of another for its own. */
	if (c == NULL) {
		c = server_client_joined(s, ip, id, true, &known);
		server_members_was_here(&s->members, c);
	}
	server_members_heard(&s->members, s->now_us, c, true);
	return c;
}

void
server_client_left(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	const struct wire_stats *stats = m->subtype == WIRE_LEAVE2 ? &m->u.leave2.stats
	                                                           : NULL;

	server_count(&s->counters, COUNT_LEAVES, 1);
	if (server_members_leave(&s->members, now_us, m->srcip, m->u.leave.clientid)) {
		/* It may have received all of a small image right after its JOIN. */
		if (stats != NULL && stats->bytes_covered > 0)
			server_life_served(&s->life);
		note_left(s, now_us);
	}
	if (s->log.left != NULL)
		s->log.left(s->log.arg, m->srcip, m->u.leave.clientid,
		    m->u.leave.elapsed_s, stats);
}

bool
server_is_aside(const struct server *s, const uint8_t ip[4], double *share_received)
{
	return voters_is_aside(&s->voters, ip, share_received);
}

static void
name(struct server *s, const struct voter *v, bool half)
{
	if (s->log.complains != NULL)
		s->log.complains(s->log.arg, v->ip, 1 - v->lost, half);
}

void
server_name_complainer(struct server *s, const uint8_t ip[4])
{
	struct voter *v = voters_find(&s->voters, ip);

	if (v != NULL && voters_name(v, s->now_us))
		name(s, v, false);
}

static void
name_contested(struct server *s, const uint8_t ip[4])
{
	struct voter *v = voters_find(&s->voters, ip);
	enum contest_verdict verdict = contest_verdict(&s->contest, s->now_us);

	if (v != NULL && verdict > CONTEST_AGREED && voters_name_contested(v, s->now_us))
		name(s, v, verdict == CONTEST_TIED);
}

bool
server_may_be_contested(const struct server *s)
{
	return s->voters.here > 1 && s->voters.ext > 0 && s->voters.ext < VOTERS_FEW;
}

static void
ask(struct server *s, uint64_t now_us)
{
	if (contest_asks(&s->contest, now_us))
		server_announce_ask(&s->announce);
}

bool
server_loss_counts(struct server *s, uint64_t now_us)
{
	if (!server_may_be_contested(s))
		return true;
	ask(s, now_us);
	return !contest_heard(&s->contest, now_us);
}

bool
server_complaint_counts(struct server *s, uint64_t now_us, const uint8_t ip[4])
{
	if (contest_complains(&s->contest, now_us, ip))
		rate_mark(&s->rate);
	if (!server_may_be_contested(s))
		return true;
	ask(s, now_us);
	if (!s->rate.split)
		return true;
	name_contested(s, ip);
	return contest_believes(&s->contest, now_us, s->rate.low);
}
