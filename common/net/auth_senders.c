/* auth_senders.c: what is remembered of senders: their keys, and which of their packets
 * were taken.  When there is no room, the sender heard longest ago is forgotten, and servers
 * last of all.  auth_open.c calls this for packets that are right, in the thread that has the
 * socket. */
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/auth_impl.h"

int
auth_senders_init(struct auth *a, struct err *e)
{
	a->last = LRU_NONE;
	/* The table is large, but a page of it takes memory only when it is used. */
	a->sender = calloc(a->cfg.senders, sizeof *a->sender);
	if (a->sender == NULL ||
	    lru_init(&a->order, a->cfg.senders, a->cfg.seed) != 0)
		return err_nomem(e, "senders of packets");
	return 0;
}

void
auth_senders_fini(struct auth *a)
{
	for (uint32_t i = 0; a->sender != NULL && i < a->order.fresh; i++)
		OPENSSL_cleanse(a->sender[i].key, sizeof a->sender[i].key);
	free(a->sender);
	lru_fini(&a->order);
}

static bool
is(const struct auth *a, uint32_t i, bool server, uint64_t id)
{
	return a->sender[i].id == id && a->sender[i].server == server;
}

struct auth_sender *
auth_find(struct auth *a, bool server, uint64_t id)
{
	uint32_t i;

	if (a->last != LRU_NONE && is(a, a->last, server, id))
		return &a->sender[a->last];
	for (i = lru_first(&a->order, id); i != LRU_NONE && !is(a, i, server, id);)
		i = lru_next(&a->order, i);
	if (i == LRU_NONE)
		return NULL;
	lru_touch(&a->order, i, server);
	a->last = i;
	return &a->sender[i];
}

struct auth_sender *
auth_remember(
    struct auth *a, bool server, uint64_t id, const uint8_t key[GMAC_KEY_BYTES])
{
	bool old;
	uint32_t i = lru_add(&a->order, id, &old);
	struct auth_sender *s = &a->sender[i];

	*s = (struct auth_sender){ .id = id, .server = server };
	memcpy(s->key, key, sizeof s->key);
	lru_touch(&a->order, i, server);
	a->last = i;
	return s;
}

void
auth_forget_all(struct auth *a)
{
	for (uint32_t i = 0; i < a->order.fresh; i++)
		if (a->order.link[i].used)
			lru_remove(&a->order, i);
	a->last = LRU_NONE;
}

int
auth_branch(struct auth **out, const struct auth *a, uint64_t id, struct err *e)
{
	struct auth_config c = a->cfg;

	c.key = auth_is_on(a) ? a->key : NULL;
	c.id = id;
	c.senders = 8; /* a branch has one sender */
	if (auth_new(out, &c, e) != 0)
		return -1;
	if (auth_is_on(a) && a->last != LRU_NONE) {
		const struct auth_sender *s = &a->sender[a->last];
		*auth_remember(*out, s->server, s->id, s->key) = *s;
	}
	return 0;
}

void
auth_merge(struct auth *a, const struct auth *branch)
{
	for (uint32_t i = 0; auth_is_on(a) && i < branch->order.fresh; i++) {
		const struct auth_sender *from = &branch->sender[i];
		struct auth_sender *to;
		if (!branch->order.link[i].used)
			continue;
		to = auth_find(a, from->server, from->id);
		if (to == NULL)
			to = auth_remember(a, from->server, from->id, from->key);
		for (unsigned p = 0; p < AUTH_PORTS; p++)
			if (to->taken[p].end < from->taken[p].end)
				to->taken[p] = from->taken[p];
	}
}
