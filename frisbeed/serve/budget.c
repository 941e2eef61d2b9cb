/* budget.c: the shares of one rate (budget.h).  serve.c makes the budget; streams ask for their
 * shares in their own threads, and a lock keeps the sums consistent. */
#include "frisbeed/serve/budget.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum {
	EPOCH_US = 80000,      /* a member's demand is judged over at least this time */
	RESERVED_PERCENT = 5,  /* kept for all members together that begin to send */
	/* a member that sends at least this part of its share could use more */
	GREEDY_PERCENT = 75,
	SLACK_BITS = 2 * 9000, /* a block more or less is no sign of anything */
};
static const uint64_t ALL = UINT64_MAX;

struct member {
	bool used;
	uint64_t grant, demand; /* bits a second */
	uint64_t at_us, sent;   /* when the member was judged last; bits it had sent by then */
	uint64_t rate;          /* at which it really sent until then, bits a second */
};

struct budget {
	pthread_mutex_t lock;
	uint64_t total;
	unsigned max, n;
	struct member member[];
};

struct budget *
budget_new(uint64_t bits_per_s, unsigned members_max)
{
	struct budget *b = calloc(1, sizeof *b + members_max * sizeof b->member[0]);

	if (b == NULL)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	b->total = bits_per_s;
	b->max = members_max;
	return b;
}

void
budget_free(struct budget *b)
{
	if (b == NULL)
		return;
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* The rate that a member keeps while it sends nothing, so that it is noticed when it
 * begins. */
static uint64_t
reserve(const struct budget *b)
{
	uint64_t bits = b->total * RESERVED_PERCENT / 100 / b->n;

	return bits > SHARE_LEAST_BITS ? bits : SHARE_LEAST_BITS;
}

/* Share `left` among n members: those that want less than an equal part get what they want,
 * and the others share the rest in the same way. */
static uint64_t
fair_share(const struct budget *b, uint64_t demand)
{
	uint64_t left = b->total, level = 0, below = 0;
	unsigned n = b->n;

	for (bool again = true; again && n > 0;) {
		again = false;
		level = left / n;
		uint64_t sum = 0;
		unsigned small = 0;
		for (unsigned i = 0; i < b->max; i++)
			if (b->member[i].used && b->member[i].demand <= level) {
				sum += b->member[i].demand;
				small++;
			}
		again = small != below;
		below = small;
		n = b->n - small;
		left = b->total > sum ? b->total - sum : 0;
	}
	/* When all members get what they want, the rest is shared equally, too. */
	if (n == 0)
		return demand + left / b->n;
	return demand < level ? demand : level;
}

static void
judge(struct budget *b, struct member *m, uint64_t now_us, uint64_t sent_bits)
{
	uint64_t us = now_us - m->at_us, sent = sent_bits - m->sent;
	double could = (double)m->grant * (double)us / 1e6;

	m->at_us = now_us;
	m->sent = sent_bits;
	m->rate = (uint64_t)(1e6 * (double)sent / (double)us);
	bool greedy = sent > 0 &&
	              (double)sent + SLACK_BITS >= could * GREEDY_PERCENT / 100;
	m->demand = greedy ? ALL : 2 * m->rate + reserve(b);
}

/* Grant a member as much of its fair share as no other member still uses. */
static void
settle(struct budget *b, struct member *m)
{
	uint64_t others = 0, want = fair_share(b, m->demand);

	for (unsigned i = 0; i < b->max; i++)
		if (b->member[i].used && &b->member[i] != m)
			others += b->member[i].grant;
	uint64_t room = b->total > others ? b->total - others : 0;
	m->grant = want < room ? want : room;
	if (m->grant < SHARE_LEAST_BITS)
		m->grant = SHARE_LEAST_BITS;
}

int
budget_enter(struct budget *b, uint64_t now_us)
{
	int found = -1;

	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->max && found < 0; i++)
		if (!b->member[i].used)
			found = (int)i;
	if (found >= 0) {
		struct member *m = &b->member[found];
		b->n++;
		*m = (struct member){ .used = true, .at_us = now_us };
		/* A new member is taken to want everything, until it shows otherwise. */
		m->demand = ALL;
		settle(b, m);
	}
	pthread_mutex_unlock(&b->lock);
	return found;
}

void
budget_leave(struct budget *b, int member)
{
	pthread_mutex_lock(&b->lock);
	assert(b->member[member].used);
	b->member[member].used = false;
	b->n--;
	pthread_mutex_unlock(&b->lock);
}

uint64_t
budget_share(struct budget *b, int member, uint64_t now_us, uint64_t sent_bits)
{
	struct member *m = &b->member[member];

	pthread_mutex_lock(&b->lock);
	assert(m->used);
	/* The member begins to send: how much it can use is not known yet. */
	bool begins = m->rate == 0 && sent_bits > m->sent;
	if (now_us - m->at_us >= EPOCH_US)
		judge(b, m, now_us, sent_bits);
	if (begins)
		m->demand = ALL;
	settle(b, m);
	uint64_t bits = m->grant;
	pthread_mutex_unlock(&b->lock);
	return bits;
}

uint64_t
budget_carried(struct budget *b, int member)
{
	uint64_t sum = 0;
	unsigned greedy = 0;

	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->max; i++) {
		const struct member *m = &b->member[i];
		if (!m->used)
			continue;
		sum += m->rate;
		greedy += m->demand == ALL || (int)i == member;
	}
	pthread_mutex_unlock(&b->lock);
	return greedy > 0 ? sum / greedy : 0;
}
