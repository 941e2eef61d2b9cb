/* server_slots.c: the runs that are being read or wait to be sent.  The server's engine
 * adds what the shell is to read, and removes at the front what it sends, in its only
 * thread. */
#include "frisbeed/server/server_slots.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t PARITY_ALL_USED = (1u << SERVER_PARITY_BUFFERS) - 1;

int
server_slots_init(struct server_slots *t, uint32_t ahead, uint32_t first_buf)
{
	*t = (struct server_slots){ .ahead = ahead, .first_buf = first_buf };
	t->ring = calloc(ahead, sizeof *t->ring);
	return t->ring != NULL ? 0 : -1;
}

void
server_slots_fini(struct server_slots *t)
{
	free(t->ring);
	t->ring = NULL;
}

static struct server_slot *
slot_at(const struct server_slots *t, uint32_t n)
{
	return &t->ring[(t->head + n) % t->ahead];
}

uint32_t
server_slots_left(const struct server_slots *t)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < t->used; i++) {
		const struct server_slot *slot = slot_at(t, i);
		left += slot->parity ? slot->left : slot->run.count - slot->at;
	}
	return left;
}

bool
server_slots_full(const struct server_slots *t)
{
	return t->used == t->ahead;
}

bool
server_slots_takes_parity(const struct server_slots *t)
{
	return !server_slots_full(t) && t->parity_used != PARITY_ALL_USED;
}

const struct server_run *
server_slots_add(struct server_slots *t, uint32_t chunk, uint32_t first, uint32_t count,
    bool plain)
{
	assert(!server_slots_full(t) && count > 0);
	struct server_slot *slot = slot_at(t, t->used++);
	*slot = (struct server_slot){ .run = { .buf = t->first_buf + (uint32_t)(slot - t->ring),
					  .chunk = chunk,
					  .first = first,
					  .count = count },
		.plain = plain };
	return &slot->run;
}

const struct server_run *
server_slots_add_parity(
    struct server_slots *t, uint32_t chunk, const uint8_t count[WIREXT_GROUPS])
{
	uint32_t buf = 0;

	assert(server_slots_takes_parity(t));
	while (t->parity_used >> buf & 1)
		buf++;
	t->parity_used |= 1u << buf;
	struct server_slot *slot = slot_at(t, t->used++);
	*slot = (struct server_slot){ .run = { .buf = t->ahead + buf,
					  .chunk = chunk,
					  .count = WIRE_CHUNK_BLOCKS },
		.parity = true };
	memcpy(slot->count, count, sizeof slot->count);
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		slot->left += count[g];
	t->parity_left += slot->left;
	return &slot->run;
}

void
server_slots_read(struct server_slots *t, uint32_t buf)
{
	for (uint32_t i = 0; i < t->used; i++) {
		struct server_slot *slot = slot_at(t, i);
		if (slot->run.buf != buf || slot->ready)
			continue;
		slot->ready = true;
		return;
	}
	assert(!"a buffer that is not being read");
}

static void
free_first(struct server_slots *t)
{
	t->head = (t->head + 1) % t->ahead;
	t->used--;
}

bool
server_slots_spend(struct server_slots *t, uint32_t n)
{
	struct server_slot *slot = slot_at(t, 0);

	assert(t->used > 0 && !slot->parity && n <= slot->run.count - slot->at);
	slot->at += n;
	if (slot->at < slot->run.count)
		return false;
	free_first(t);
	return true;
}

uint32_t
server_slots_spend_parity(struct server_slots *t, bool *ends)
{
	struct server_slot *slot = slot_at(t, 0);
	uint32_t g = slot->at;

	assert(t->used > 0 && slot->parity && slot->left > 0);
	while (slot->count[g] == 0)
		g = (g + 1) % WIREXT_GROUPS;
	slot->count[g]--;
	slot->at = (g + 1) % WIREXT_GROUPS;
	slot->left--;
	t->parity_left--;
	*ends = slot->left == 0;
	if (*ends) {
		t->parity_used &= ~(1u << (slot->run.buf - t->ahead));
		free_first(t);
	}
	return g;
}

const struct server_slot *
server_slots_first(const struct server_slots *t)
{
	return t->used > 0 ? slot_at(t, 0) : NULL;
}

bool
server_slots_ready(const struct server_slots *t)
{
	return t->used > 0 && slot_at(t, 0)->ready;
}

bool
server_slot_begun(const struct server_slot *slot)
{
	return slot->parity || slot->run.first > 0 || slot->at > 0;
}
