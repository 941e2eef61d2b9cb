/* server_mtu.c: packets of several blocks.  The server's engine tells it which clients
 * come and go and what they answer, and asks it how large a packet may be. */
#include "frisbeed/server/server_mtu.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* A client that has joined opens the second port first; one that does not answer
	 * is asked again, ever more rarely: after 13 s in the end. */
	FIRST_US = 20000,
	AGAIN_US = 100000,
	DOUBLED = 7, /* times */
	/* Clients that join one after the other are asked together. */
	ROUND_US = 50000,
	/* What did not fit then may do so now: a lossy moment is over, or a path has
	 * changed. */
	LATER_US = 10000000,
	/* Answers to a round so long ago count: they come within 5 ms, and rounds are
	 * 50 ms apart. */
	LATE_ROUNDS = 4,
};

int
server_packs_init(struct server_packs *p, const struct server_image *image,
    uint32_t most, uint32_t clients)
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
server_packs_fini(struct server_packs *p)
{
	free(p->client);
	free(p->content);
	p->client = NULL;
	p->content = NULL;
}

static void
judge(struct server_packs *p)
{
	uint32_t least = 0;

	while (least < p->max && p->fits[least] == 0)
		least++;
	/* With no clients at all nobody listens to the second port. */
	p->now = p->ext > 0 ? least : 0;
	while ((p->now & (p->now - 1)) != 0)
		p->now &= p->now - 1;
}

static void
ask_at(struct server_packs *p, uint32_t i, uint64_t at_us)
{
	p->client[i].try_us = at_us;
	if (p->client[i].ext && p->max > 0 && at_us < p->next_us)
		p->next_us = at_us;
}

static void
set_fits(struct server_packs *p, uint32_t i, uint32_t blocks)
{
	p->fits[p->client[i].fits]--;
	p->client[i].fits = (uint8_t)blocks;
	p->fits[blocks]++;
	judge(p);
}

void
server_packs_add(struct server_packs *p, uint64_t now_us, uint32_t i, bool ext)
{
	p->client[i] = (struct server_packs_client){ .ext = ext };
	p->fits[0]++;
	p->ext += ext;
	judge(p);
	ask_at(p, i, now_us + FIRST_US);
}

void
server_packs_again(struct server_packs *p, uint64_t now_us, uint32_t i)
{
	set_fits(p, i, 0);
	p->client[i].tries = 0;
	ask_at(p, i, now_us + FIRST_US);
}

void
server_packs_drop(struct server_packs *p, uint32_t i)
{
	p->fits[p->client[i].fits]--;
	p->ext -= p->client[i].ext;
	p->client[i].ext = false;
	judge(p);
}

void
server_packs_hear(struct server_packs *p, uint64_t now_us, uint32_t i, uint32_t number,
    uint32_t blocks)
{
	if (number == 0 ? blocks >= p->client[i].fits : p->number - number >= LATE_ROUNDS)
		return;
	set_fits(p, i, blocks);
	ask_at(p, i, now_us + LATER_US);
}

/* Is this client asked in the round that begins now?  When it is asked next. */
static void
ask(struct server_packs *p, uint64_t now_us, uint32_t i, uint32_t id)
{
	struct server_packs_client *c = &p->client[i];

	if (!c->ext || c->fits >= p->max)
		return;
	if (c->try_us <= now_us && p->n < WIREXT_MTU_PROBE_IDS) {
		p->id[p->n++] = id;
		c->try_us = now_us + (AGAIN_US << c->tries);
		c->tries += c->tries < DOUBLED;
	}
	ask_at(p, i, c->try_us);
}

static void
begin_round(struct server_packs *p, uint64_t now_us, const struct server_roll *r)
{
	p->n = 0;
	p->round_us = now_us;
	p->next_us = UINT64_MAX;
	for (int dear = 0; dear < 2; dear++)
		for (uint32_t i = lru_newest(&r->lru, dear); i != LRU_NONE;
		     i = lru_older(&r->lru, i))
			ask(p, now_us, i, r->client[i].id);
	p->number += p->n > 0;
	p->size = p->n > 0 ? p->max : 0;
}

uint64_t
server_packs_at(const struct server_packs *p)
{
	if (p->size > 0)
		return 0;
	if (p->next_us == UINT64_MAX)
		return UINT64_MAX;
	return p->next_us > p->round_us + ROUND_US ? p->next_us
	                                           : p->round_us + ROUND_US;
}

bool
server_packs_say(struct server_packs *p, uint64_t now_us, const struct server_roll *r,
    struct wirext_msg *m)
{
	if (now_us < server_packs_at(p))
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
	/* The shortest one comes last: it says that the others were sent. */
	p->size /= 2;
	return true;
}

void
server_packs_learn(struct server_packs *p, uint32_t chunk, uint32_t blocks)
{
	if (p->content != NULL)
		p->content[chunk] = (uint16_t)blocks;
}

uint32_t
server_packs_content(const struct server_packs *p, uint32_t chunk)
{
	uint32_t known = p->content != NULL ? p->content[chunk] : 0;

	return known != 0 ? known : server_image_chunk(&p->image, chunk);
}

void
server_packs_limit(struct server_packs *p, uint32_t blocks)
{
	while (p->max > blocks)
		p->max /= 2;
	judge(p);
}
