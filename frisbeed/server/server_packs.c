#include "frisbeed/server/server_packs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "frisbeed/server/server_impl.h"

enum {
	/* Who has joined opens the second port first; who does not answer is asked
	 * again, ever more rarely. */
	FIRST_US = 20000,
	AGAIN_US = 100000,
	DOUBLED = 7, /* times */
	ROUND_US = 50000,
	/* What did not fit then may do so now. */
	LATER_US = 10000000,
	LATE_ROUNDS = 4, /* answers to a round so long ago count */
};

int
server_packs_init(struct server *s)
{
	struct server_packs *p = &s->ext.packs;
	uint32_t most = s->cfg.ext.pack_blocks;

	p->next_us = SERVER_NEVER;
	if (most == 0)
		return 0;
	p->max = WIREXT_PACK_BLOCKS;
	while (p->max > most)
		p->max /= 2;
	p->content = calloc(s->image.chunks, sizeof *p->content);
	return p->content != NULL ? 0 : -1;
}

void
server_packs_fini(struct server *s)
{
	free(s->ext.packs.content);
}

static void
judge(struct server *s)
{
	struct server_packs *p = &s->ext.packs;
	uint32_t least = 0;

	while (least < p->max && p->fits[least] == 0)
		least++;
	/* With no clients at all nobody listens to the second port. */
	p->now = s->ext.clients > 0 ? least : 0;
	while ((p->now & (p->now - 1)) != 0)
		p->now &= p->now - 1;
}

static void
ask_at(struct server *s, struct server_client *c, uint64_t at_us)
{
	c->try_us = at_us;
	if (c->ext && s->ext.packs.max > 0 && at_us < s->ext.packs.next_us)
		s->ext.packs.next_us = at_us;
}

static void
set_fits(struct server *s, struct server_client *c, uint32_t blocks)
{
	s->ext.packs.fits[c->fits]--;
	c->fits = (uint8_t)blocks;
	s->ext.packs.fits[c->fits]++;
	judge(s);
}

void
server_packs_add(struct server *s, struct server_client *c)
{
	s->ext.packs.fits[c->fits]++;
	judge(s);
	ask_at(s, c, s->now_us + FIRST_US);
}

void
server_packs_again(struct server *s, struct server_client *c)
{
	set_fits(s, c, 0);
	c->tries = 0;
	ask_at(s, c, s->now_us + FIRST_US);
}

void
server_packs_drop(struct server *s, const struct server_client *c)
{
	s->ext.packs.fits[c->fits]--;
	judge(s);
}

void
server_packs_hear(struct server *s, const struct wirext_msg *m)
{
	struct server_packs *p = &s->ext.packs;
	uint32_t number = m->u.fits.number, blocks = m->u.fits.blocks;

	if (!server_client_speaks(s, m->srcip, m->u.fits.clientid))
		return;
	struct server_client *c = server_client_find(s, m->srcip, m->u.fits.clientid);
	s->stats.fits++;
	if (number == 0 ? blocks >= c->fits : p->number - number >= LATE_ROUNDS)
		return;
	set_fits(s, c, blocks);
	ask_at(s, c, s->now_us + LATER_US);
}

/* Who is to be asked now. */
static void
begin_round(struct server *s)
{
	struct server_packs *p = &s->ext.packs;

	p->n = 0;
	p->round_us = s->now_us;
	p->next_us = SERVER_NEVER;
	for (int dear = 0; dear < 2; dear++) {
		for (uint32_t i = lru_newest(&s->roll, dear); i != LRU_NONE;
		     i = lru_older(&s->roll, i)) {
			struct server_client *c = &s->clients[i];
			if (!c->ext || c->fits >= p->max)
				continue;
			if (c->try_us <= s->now_us && p->n < WIREXT_TRY_IDS) {
				p->id[p->n++] = c->id;
				c->try_us = s->now_us + (AGAIN_US << c->tries);
				c->tries += c->tries < DOUBLED;
			}
			ask_at(s, c, c->try_us);
		}
	}
	p->number += p->n > 0;
	p->size = p->n > 0 ? p->max : 0;
}

uint64_t
server_packs_due_us(const struct server *s)
{
	const struct server_packs *p = &s->ext.packs;

	if (p->size > 0)
		return 0;
	if (p->next_us == SERVER_NEVER)
		return SERVER_NEVER;
	return p->next_us > p->round_us + ROUND_US ? p->next_us
	                                           : p->round_us + ROUND_US;
}

bool
server_packs_put_try(struct server *s, struct server_out *out)
{
	struct server_packs *p = &s->ext.packs;
	struct wirext_msg m = { .kind = WIREXT_TRY, .session = s->cfg.ext.session };

	if (p->size == 0)
		begin_round(s);
	if (p->size == 0)
		return false;
	memcpy(m.srcip, s->cfg.srcip, 4);
	m.u.trial.number = p->number;
	m.u.trial.blocks = p->size;
	m.u.trial.n = p->n;
	memcpy(m.u.trial.id, p->id, p->n * sizeof p->id[0]);
	/* The shortest one comes last: it says that the others were sent. */
	p->size /= 2;
	out->kind = SERVER_OUT_PACKET;
	out->len = wirext_put(&m, out->pkt, sizeof out->pkt);
	assert(out->len > 0);
	s->stats.bytes_sent += out->len;
	return true;
}

uint32_t
server_packs_size(const struct server *s, const struct server_slot *slot)
{
	return slot->parity || slot->plain ? 0 : s->ext.packs.now;
}

uint32_t
server_packs_content(const struct server *s, uint32_t chunk)
{
	uint32_t known = s->ext.packs.content != NULL ? s->ext.packs.content[chunk] : 0;

	return known != 0 ? known : server_chunk_blocks(s, chunk);
}

void
server_content(struct server *s, uint32_t chunk, uint32_t blocks)
{
	assert(chunk < s->image.chunks && blocks <= WIRE_CHUNK_BLOCKS);
	/* Of a chunk without anything, one block tells so. */
	if (s->ext.packs.content != NULL)
		s->ext.packs.content[chunk] = (uint16_t)(blocks + (blocks == 0));
}

void
server_pack_limit(struct server *s, uint32_t blocks)
{
	assert(blocks > 0);
	while (s->ext.packs.max > blocks)
		s->ext.packs.max /= 2;
	judge(s);
}
