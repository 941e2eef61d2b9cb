/* server_mtu.c: how many blocks a DATA packet may have.  The server's engine notes
 * which clients come and go and what they answer, and asks how large a packet may be,
 * in its only thread. */
#include "frisbeed/server/server_mtu.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* A client that has joined needs this time to open the second port.  If it does
	 * not answer, it is probed again at intervals that double up to 13 s. */
	FIRST_US = 20000,
	AGAIN_US = 100000,
	DOUBLED = 7, /* how often the interval is doubled */
	/* Clients that join shortly after each other are probed in one round. */
	ROUND_US = 50000,
	/* A packet length that did not arrive then may arrive now: a moment of loss is
	 * over, or the path has changed. */
	LATER_US = 10000000,
	/* An answer to a round counts until this many rounds later.  A client answers
	 * after 5 ms, and up to 100 ms later when the round names 200 clients; rounds are
	 * 50 ms apart. */
	LATE_ROUNDS = 4,
};

int
server_mtu_init(struct server_mtu *p, const struct server_image *image, uint32_t most,
    uint32_t clients)
{
	memset(p, 0, sizeof *p);
	p->image = *image;
	p->next_us = UINT64_MAX;
	p->client = calloc(clients, sizeof *p->client);
	if (most == 0)
		return p->client != NULL ? 0 : -1;
	p->max = WIREXT_DATA_BLOCKS;
	while (p->max > most)
		p->max /= 2;
	p->content = calloc(image->chunks, sizeof *p->content);
	return p->client != NULL && p->content != NULL ? 0 : -1;
}

void
server_mtu_fini(struct server_mtu *p)
{
	free(p->client);
	free(p->content);
	p->client = NULL;
	p->content = NULL;
}

static void
judge(struct server_mtu *p)
{
	uint32_t least = 0;

	while (least < p->max && p->by_largest[least] == 0)
		least++;
	/* Without clients nobody listens to the second port. */
	p->now = p->ext > 0 ? least : 0;
	while ((p->now & (p->now - 1)) != 0)
		p->now &= p->now - 1;
}

static void
ask_at(struct server_mtu *p, uint32_t i, uint64_t at_us)
{
	p->client[i].probe_us = at_us;
	if (p->client[i].ext && p->max > 0 && at_us < p->next_us)
		p->next_us = at_us;
}

static void
set_fits(struct server_mtu *p, uint32_t i, uint32_t blocks)
{
	p->by_largest[p->client[i].largest]--;
	p->client[i].largest = (uint8_t)blocks;
	p->by_largest[blocks]++;
	judge(p);
}

void
server_mtu_add(struct server_mtu *p, uint64_t now_us, uint32_t i, bool ext)
{
	p->client[i] = (struct server_mtu_client){ .ext = ext };
	p->by_largest[0]++;
	p->ext += ext;
	judge(p);
	ask_at(p, i, now_us + FIRST_US);
}

void
server_mtu_again(struct server_mtu *p, uint64_t now_us, uint32_t i)
{
	set_fits(p, i, 0);
	p->client[i].probes = 0;
	ask_at(p, i, now_us + FIRST_US);
}

void
server_mtu_drop(struct server_mtu *p, uint32_t i)
{
	p->by_largest[p->client[i].largest]--;
	p->ext -= p->client[i].ext;
	p->client[i].ext = false;
	judge(p);
}

void
server_mtu_hear(
    struct server_mtu *p, uint64_t now_us, uint32_t i, uint32_t number, uint32_t blocks)
{
	if (number == 0 ? blocks >= p->client[i].largest
			: p->number - number >= LATE_ROUNDS)
		return;
	set_fits(p, i, blocks);
	ask_at(p, i, now_us + LATER_US);
}

/* Is this client probed in the round that begins now?  If so, set when it is probed
 * next. */
static void
ask(struct server_mtu *p, uint64_t now_us, uint32_t i, uint32_t id)
{
	struct server_mtu_client *c = &p->client[i];

	if (!c->ext || c->largest >= p->max)
		return;
	if (c->probe_us <= now_us && p->n < WIREXT_MTU_PROBE_IDS) {
		p->id[p->n++] = id;
		c->probe_us = now_us + (AGAIN_US << c->probes);
		c->probes += c->probes < DOUBLED;
	}
	ask_at(p, i, c->probe_us);
}

static void
begin_round(struct server_mtu *p, uint64_t now_us, const struct server_members *r)
{
	p->n = 0;
	p->round_us = now_us;
	p->next_us = UINT64_MAX;
	for (int protected = 0; protected < 2; protected ++)
		for (uint32_t i = lru_newest(&r->lru, protected); i != LRU_NONE;
		     i = lru_older(&r->lru, i))
			ask(p, now_us, i, r->client[i].id);
	p->number += p->n > 0;
	p->size = p->n > 0 ? p->max : 0;
}

uint64_t
server_mtu_at(const struct server_mtu *p)
{
	if (p->size > 0)
		return 0;
	if (p->next_us == UINT64_MAX)
		return UINT64_MAX;
	return p->next_us > p->round_us + ROUND_US ? p->next_us
	                                           : p->round_us + ROUND_US;
}

bool
server_mtu_say(struct server_mtu *p, uint64_t now_us, const struct server_members *r,
    struct wirext_msg *m)
{
	if (now_us < server_mtu_at(p))
		return false;
	if (p->size == 0)
		begin_round(p, now_us, r);
	if (p->size == 0)
		return false;
	*m = (struct wirext_msg){ .kind = WIREXT_MTU_PROBE };
	m->u.mtu_probe.number = p->number;
	m->u.mtu_probe.blocks = p->size;
	m->u.mtu_probe.n = p->n;
	memcpy(m->u.mtu_probe.id, p->id, p->n * sizeof p->id[0]);
	/* The shortest probe is sent last: a client that receives it knows that the
	 * others were sent. */
	p->size /= 2;
	return true;
}

void
server_mtu_learn(struct server_mtu *p, uint32_t chunk, uint32_t blocks)
{
	if (p->content != NULL)
		p->content[chunk] = (uint16_t)blocks;
}

uint32_t
server_mtu_content(const struct server_mtu *p, uint32_t chunk)
{
	uint32_t known = p->content != NULL ? p->content[chunk] : 0;

	return known != 0 ? known : server_image_chunk(&p->image, chunk);
}

void
server_mtu_limit(struct server_mtu *p, uint32_t blocks)
{
	while (p->max > blocks)
		p->max /= 2;
	judge(p);
}
