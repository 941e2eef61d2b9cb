#include "frisbeed/server/server_impl.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* Of one address; more of them are not real. */
	CLIENTS_AN_ADDRESS = 64,
	LEFT_US = 1000000, /* who left so long ago and speaks has not really left */
	/* A client that lacks anything speaks every few seconds at least.  When all are
	 * silent at once, it is more likely the network that is gone. */
	SILENT_US = 60000000,
	ALL_SILENT_US = 300000000,
	OTHERS_US = 10000000, /* others are heard: within so long */
	FORGET_EVERY_US = 1000000,
};

/* No client has this id: theirs have 31 bits. */
#define UNNAMED UINT32_MAX

static uint64_t
key_of(const uint8_t ip[4])
{
	return (uint64_t)ip[0] << 24 | (uint64_t)ip[1] << 16 | (uint64_t)ip[2] << 8 |
	       ip[3];
}

int
server_roll_init(struct server *s)
{
	s->clients = calloc(SERVER_CLIENTS_MAX, sizeof *s->clients);
	if (s->clients == NULL)
		return -1;
	uint64_t seed = (uint64_t)s->cfg.ext.session << 32 ^ s->now_us;
	if (lru_init(&s->roll, SERVER_CLIENTS_MAX, seed) != 0)
		return -1;
	return voters_init(&s->voters, SERVER_CLIENTS_MAX, seed + 1);
}

void
server_roll_fini(struct server *s)
{
	lru_fini(&s->roll);
	voters_fini(&s->voters);
	free(s->clients);
}

static uint32_t
find(const struct server *s, const uint8_t ip[4], uint32_t id)
{
	uint32_t i = lru_first(&s->roll, key_of(ip));

	while (i != LRU_NONE &&
	       (s->clients[i].id != id || memcmp(s->clients[i].ip, ip, 4) != 0))
		i = lru_next(&s->roll, i);
	return i;
}

struct server_client *
server_client_find(struct server *s, const uint8_t ip[4], uint32_t id)
{
	uint32_t i = find(s, ip, id);

	return i != LRU_NONE ? &s->clients[i] : NULL;
}

static void
discount(struct server *s, const struct server_client *c)
{
	s->ext.clients -= c->ext;
	voters_go(&s->voters, c->ip, c->ext);
	s->ext.no_sets -= c->no_sets;
	server_packs_drop(s, c);
}

static void
strike(struct server *s, uint32_t i)
{
	discount(s, &s->clients[i]);
	lru_remove(&s->roll, i);
	s->stats.clients = s->roll.n;
}

static void
touch(struct server *s, uint32_t i, bool dear)
{
	lru_touch(&s->roll, i, dear);
	s->clients[i].heard_us = s->heard_us = s->now_us;
}

/* An address that has too many already loses the one that came first. */
static void
make_room(struct server *s, const uint8_t ip[4])
{
	uint32_t n = 0, last = LRU_NONE;

	for (uint32_t i = lru_first(&s->roll, key_of(ip)); i != LRU_NONE;
	     i = lru_next(&s->roll, i))
		if (memcmp(s->clients[i].ip, ip, 4) == 0) {
			n++;
			last = i;
		}
	if (n >= CLIENTS_AN_ADDRESS)
		strike(s, last);
}

/* Somebody of this address was heard, but had not joined. */
static void
strike_unnamed(struct server *s, const uint8_t ip[4])
{
	uint32_t i = find(s, ip, UNNAMED);

	if (i != LRU_NONE)
		strike(s, i);
}

static void
enrol(struct server *s, const uint8_t ip[4], uint32_t id, bool ext)
{
	bool old;

	strike_unnamed(s, ip);
	make_room(s, ip);
	uint32_t i = lru_add(&s->roll, key_of(ip), &old);
	if (old)
		discount(s, &s->clients[i]);
	s->clients[i] = (struct server_client){ .id = id,
		.ext = ext,
		.heard_us = s->now_us,
		.joined_in = server_given_join(&s->given),
		.joined_ms = (uint32_t)(s->now_us / 1000) };
	s->heard_us = s->now_us;
	memcpy(s->clients[i].ip, ip, 4);
	s->ext.clients += ext;
	voters_come(&s->voters, ip, ext);
	server_packs_add(s, &s->clients[i]);
	s->stats.clients = s->roll.n;
	if (s->stats.clients > s->stats.clients_max)
		s->stats.clients_max = s->stats.clients;
	s->begun |= s->stats.clients >= s->cfg.wait_clients;
}

void
server_client_joined(struct server *s, const uint8_t ip[4], uint32_t id, bool ext)
{
	uint32_t i = find(s, ip, id);

	s->stats.joins++;
	if (i != LRU_NONE) {
		touch(s, i, false);
		/* ... or it hears nothing on the second port. */
		server_packs_again(s, &s->clients[i]);
		return; /* its last join or our reply was lost */
	}
	s->joined_us = s->now_us;
	enrol(s, ip, id, ext);
	if (s->log.joined != NULL)
		s->log.joined(s->log.arg, ip, id);
}

void
server_client_resumes(struct server *s, const uint8_t ip[4], uint32_t id)
{
	struct server_client *c = server_client_find(s, ip, id);

	if (c != NULL)
		c->resumes = true;
}

void
server_client_no_sets(struct server *s, const uint8_t ip[4], uint32_t id)
{
	uint32_t i = find(s, ip, id);

	if (i == LRU_NONE || s->clients[i].no_sets)
		return;
	s->clients[i].no_sets = true;
	s->ext.no_sets++;
}

/* The ports are read one after the other: what a client said on the second one may be
 * heard after its LEAVE. */
static bool
has_left(const struct server *s, const uint8_t ip[4], uint32_t id)
{
	uint32_t n = s->nleft < LEFT_KEPT ? s->nleft : LEFT_KEPT;

	for (uint32_t i = 0; i < n; i++)
		if (s->left[i].client.id == id &&
		    s->now_us - s->left[i].at_us < LEFT_US &&
		    memcmp(s->left[i].client.ip, ip, 4) == 0)
			return true;
	return false;
}

static bool
just_left(const struct server *s, const uint8_t ip[4])
{
	uint32_t n = s->nleft < LEFT_KEPT ? s->nleft : LEFT_KEPT;

	for (uint32_t i = 0; i < n; i++)
		if (s->now_us - s->left[i].at_us < LEFT_US &&
		    memcmp(s->left[i].client.ip, ip, 4) == 0)
			return true;
	return false;
}

void
server_client_asks(struct server *s, const uint8_t ip[4])
{
	bool known = false;

	s->served = true;
	for (uint32_t i = lru_first(&s->roll, key_of(ip)); i != LRU_NONE;
	     i = lru_next(&s->roll, i)) {
		if (memcmp(s->clients[i].ip, ip, 4) != 0)
			continue;
		touch(s, i, true);
		known = true;
	}
	/* An old client takes the reply to somebody else's JOIN for its own. */
	if (!known && !just_left(s, ip))
		enrol(s, ip, UNNAMED, false);
}

const struct server_client *
server_client_speaks(struct server *s, const uint8_t ip[4], uint32_t id)
{
	if (has_left(s, ip, id))
		return NULL;
	s->served = true;
	/* Of an earlier run of this server, or pushed out: we do not know it. */
	uint32_t i = find(s, ip, id);
	if (i == LRU_NONE) {
		server_client_joined(s, ip, id, true);
		i = find(s, ip, id);
		/* It took the reply to another's JOIN for its own. */
		s->clients[i].resumes = true;
		s->clients[i].joined_in = 1;
		s->clients[i].joined_ms = s->begun_ms;
	}
	touch(s, i, true);
	return &s->clients[i];
}

void
server_client_left(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	const struct wire_stats *stats = m->subtype == WIRE_LEAVE2 ? &m->u.leave2.stats
	                                                           : NULL;
	uint32_t i = find(s, m->srcip, m->u.leave.clientid);

	if (i == LRU_NONE)
		i = find(s, m->srcip, UNNAMED);
	s->stats.leaves++;
	if (i != LRU_NONE) {
		struct server_left *left = &s->left[s->nleft++ % LEFT_KEPT];
		left->client = s->clients[i];
		left->client.id = m->u.leave.clientid;
		left->at_us = s->left_us = now_us;
		/* Of a small image everything may have come with the join. */
		s->served |= stats != NULL && stats->bytes_covered > 0;
		strike(s, i);
		if (s->ext.clients == 0)
			server_announce_alone(&s->announce);
	}
	if (s->log.left != NULL)
		s->log.left(s->log.arg, m->srcip, m->u.leave.clientid,
		    m->u.leave.elapsed_s, stats);
}

/* A client of the base protocol may hear all that it lacks because others asked for it,
 * and say nothing as long as blocks come. */
static bool
is_dead(const struct server *s, const struct server_client *c, uint64_t now_us)
{
	bool others = now_us < s->heard_us + OTHERS_US;
	uint64_t since = c->heard_us;

	if (!c->ext && s->sent.last_us > since)
		since = s->sent.last_us;
	return now_us >= since + (others ? SILENT_US : ALL_SILENT_US);
}

static void
forget(struct server *s, uint32_t i, uint64_t now_us)
{
	struct server_client gone = s->clients[i];

	strike(s, i);
	s->stats.gone++;
	s->left_us = now_us;
	if (s->ext.clients == 0)
		server_announce_alone(&s->announce);
	if (s->log.gone != NULL)
		s->log.gone(s->log.arg, gone.ip, gone.id, now_us - gone.heard_us);
}

void
server_forget_silent(struct server *s, uint64_t now_us)
{
	if (now_us < s->forget_us)
		return;
	s->forget_us = now_us + FORGET_EVERY_US;
	for (int dear = 0; dear < 2; dear++) {
		uint32_t next;
		for (uint32_t i = lru_oldest(&s->roll, dear); i != LRU_NONE; i = next) {
			if (now_us < s->clients[i].heard_us + SILENT_US)
				break;
			next = lru_newer(&s->roll, i);
			if (is_dead(s, &s->clients[i], now_us))
				forget(s, i, now_us);
		}
	}
}

bool
server_is_aside(const struct server *s, const uint8_t ip[4], double *gets)
{
	return voters_is_aside(&s->voters, ip, gets);
}

void
server_name_complainer(struct server *s, const uint8_t ip[4])
{
	struct voter *v = voters_find(&s->voters, ip);

	if (v == NULL || !voters_name(v, s->now_us))
		return;
	if (s->log.complains != NULL)
		s->log.complains(s->log.arg, ip, 1 - v->lost);
}
