/* server_members.c: the clients of the session.  The server's engine notes each client
 * that it hears, and is notified of clients that come and go, for whatever reason; all
 * in its only thread. */
#include "frisbeed/server/server_members.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* A client that sends a message this long after its LEAVE has not really left.
	 */
	LEFT_US = 1000000,
	/* A client that lacks anything sends a message every few seconds.  If all are
	 * silent at once, the network has probably failed, so they are given the time
	 * that a switch needs to restart. */
	SILENT_US = 60000000,
	ALL_SILENT_US = 300000000,
	OTHERS_US =
	    10000000, /* if a client was heard within this time, not all are silent */
	FORGET_EVERY_US = 1000000,
};

static uint64_t
key_of(const uint8_t ip[4])
{
	return (uint64_t)ip[0] << 24 | (uint64_t)ip[1] << 16 | (uint64_t)ip[2] << 8 |
	       ip[3];
}

int
server_members_init(struct server_members *r, uint32_t max, uint64_t seed,
    uint64_t now_us, const struct server_members_watch *watch)
{
	memset(r, 0, sizeof *r);
	r->watch = *watch;
	r->begun_ms = (uint32_t)(now_us / 1000);
	r->client = calloc(max, sizeof *r->client);
	return r->client != NULL && lru_init(&r->lru, max, seed) == 0 ? 0 : -1;
}

void
server_members_fini(struct server_members *r)
{
	lru_fini(&r->lru);
	free(r->client);
	r->client = NULL;
}

static bool
is_of(const struct server_members *r, uint32_t i, const uint8_t ip[4])
{
	return memcmp(r->client[i].ip, ip, 4) == 0;
}

const struct server_client *
server_members_find(const struct server_members *r, const uint8_t ip[4], uint32_t id)
{
	uint32_t i = lru_first(&r->lru, key_of(ip));

	while (i != LRU_NONE && (r->client[i].id != id || !is_of(r, i, ip)))
		i = lru_next(&r->lru, i);
	return i != LRU_NONE ? &r->client[i] : NULL;
}

static void
count(struct server_members *r, const struct server_client *c, int step)
{
	r->ext += c->ext ? (uint32_t)step : 0;
	r->no_interleave += c->no_interleave ? (uint32_t)step : 0;
	r->waiting += c->waits ? (uint32_t)step : 0;
}

static void
tell_goes(struct server_members *r, const struct server_client *c)
{
	count(r, c, -1);
	r->watch.goes(r->watch.arg, c);
}

static void
strike(struct server_members *r, const struct server_client *c)
{
	lru_remove(&r->lru, server_members_index(r, c));
	tell_goes(r, c);
}

/* If the address has too many clients already, forget the one that came first. */
static void
make_room(struct server_members *r, const uint8_t ip[4])
{
	const struct server_client *first = NULL;
	uint32_t n = 0;

	for (uint32_t i = lru_first(&r->lru, key_of(ip)); i != LRU_NONE;
	     i = lru_next(&r->lru, i))
		if (is_of(r, i, ip)) {
			n++;
			first = &r->client[i];
		}
	if (n >= SERVER_MEMBERS_ADDRESS)
		strike(r, first);
}

const struct server_client *
server_members_add(struct server_members *r, uint64_t now_us, const uint8_t ip[4],
    uint32_t id, bool ext, uint32_t cohort)
{
	bool old;

	/* A client of this address that was heard without having joined was this one.
	 */
	const struct server_client *unnamed = server_members_find(
	    r, ip, SERVER_MEMBERS_UNNAMED);
	if (unnamed != NULL)
		strike(r, unnamed);
	make_room(r, ip);
	struct server_client *c = &r->client[lru_add(&r->lru, key_of(ip), &old)];
	if (old)
		tell_goes(r, c);
	*c = (struct server_client){ .id = id,
		.ext = ext,
		.heard_us = now_us,
		.cohort = cohort,
		.joined_ms = (uint32_t)(now_us / 1000) };
	memcpy(c->ip, ip, 4);
	r->heard_us = now_us;
	count(r, c, 1);
	if (r->most < server_members_count(r))
		r->most = server_members_count(r);
	r->watch.comes(r->watch.arg, c);
	return c;
}

void
server_members_heard(
    struct server_members *r, uint64_t now_us, const struct server_client *c, bool asks)
{
	uint32_t i = server_members_index(r, c);

	lru_touch(&r->lru, i, asks);
	r->client[i].heard_us = r->heard_us = now_us;
}

static bool
just_left(
    const struct server_members *r, uint32_t i, uint64_t now_us, const uint8_t ip[4])
{
	return now_us - r->left[i].at_us < LEFT_US && memcmp(r->left[i].ip, ip, 4) == 0;
}

static uint32_t
remembered(const struct server_members *r)
{
	return r->nleft < SERVER_MEMBERS_LEFT ? r->nleft : SERVER_MEMBERS_LEFT;
}

bool
server_members_asks(struct server_members *r, uint64_t now_us, const uint8_t ip[4])
{
	bool known = false;

	for (uint32_t i = lru_first(&r->lru, key_of(ip)); i != LRU_NONE;
	     i = lru_next(&r->lru, i)) {
		if (!is_of(r, i, ip))
			continue;
		server_members_heard(r, now_us, &r->client[i], true);
		known = true;
	}
	for (uint32_t i = 0; i < remembered(r); i++)
		known |= just_left(r, i, now_us, ip);
	return known;
}

void
server_members_resumes(struct server_members *r, const struct server_client *c)
{
	r->client[server_members_index(r, c)].resumes = true;
}

void
server_members_no_interleave(struct server_members *r, const struct server_client *c)
{
	r->no_interleave += !c->no_interleave;
	r->client[server_members_index(r, c)].no_interleave = true;
}

bool
server_members_waits(struct server_members *r, const struct server_client *c)
{
	bool first = !c->waits;

	r->waiting += first;
	r->client[server_members_index(r, c)].waits = true;
	return first;
}

void
server_members_was_here(struct server_members *r, const struct server_client *c)
{
	struct server_client *one = &r->client[server_members_index(r, c)];

	one->resumes = true;
	one->cohort = 1;
	one->joined_ms = r->begun_ms;
}

bool
server_members_leave(
    struct server_members *r, uint64_t now_us, const uint8_t ip[4], uint32_t id)
{
	const struct server_client *c = server_members_find(r, ip, id);
	uint32_t i = r->nleft % SERVER_MEMBERS_LEFT;

	if (c == NULL)
		c = server_members_find(r, ip, SERVER_MEMBERS_UNNAMED);
	if (c == NULL)
		return false;
	r->nleft++;
	memcpy(r->left[i].ip, ip, 4);
	r->left[i].id = id;
	r->left[i].at_us = now_us;
	strike(r, c);
	return true;
}

bool
server_members_has_left(
    const struct server_members *r, uint64_t now_us, const uint8_t ip[4], uint32_t id)
{
	for (uint32_t i = 0; i < remembered(r); i++)
		if (r->left[i].id == id && just_left(r, i, now_us, ip))
			return true;
	return false;
}

/* A client of the base protocol may receive all that it lacks because others requested
 * it.  So it may be silent as long as blocks are sent. */
static bool
is_dead(const struct server_members *r, const struct server_client *c, uint64_t now_us,
    uint64_t blocked_us)
{
	bool others = now_us < r->heard_us + OTHERS_US;
	uint64_t since = c->heard_us;

	if (!c->ext && blocked_us > since)
		since = blocked_us;
	return now_us >= since + (others ? SILENT_US : ALL_SILENT_US);
}

static void
forget(struct server_members *r, const struct server_client *c, uint64_t now_us)
{
	strike(r, c);
	r->watch.silent(r->watch.arg, c, now_us - c->heard_us);
}

void
server_members_forget(struct server_members *r, uint64_t now_us, uint64_t blocked_us)
{
	if (now_us < r->forget_us)
		return;
	r->forget_us = now_us + FORGET_EVERY_US;
	for (int protected = 0; protected < 2; protected ++) {
		uint32_t next;
		for (uint32_t i = lru_oldest(&r->lru, protected); i != LRU_NONE;
		     i = next) {
			if (now_us < r->client[i].heard_us + SILENT_US)
				break;
			next = lru_newer(&r->lru, i);
			if (is_dead(r, &r->client[i], now_us, blocked_us))
				forget(r, &r->client[i], now_us);
		}
	}
}
