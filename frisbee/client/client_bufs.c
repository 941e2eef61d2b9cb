/* client_bufs.c: the chunk buffers, and what they lack.  The engine notes what
 * arrives and what the shell does; the policies read what is lacking.  All of this
 * happens in the engine's only thread. */
#include "frisbee/client/client_bufs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* When nothing of a chunk has come for this time, nothing has kept the client from
	 * asking for it: this is twice the longest wait for stragglers. */
	PAUSE_US = 2000000,
};

bool
client_bufs_make(struct client_bufs *bufs, uint32_t n, bool in_order)
{
	*bufs = (struct client_bufs){ .n = n, .nfree = n, .in_order = in_order };
	bufs->at = calloc(n, sizeof *bufs->at);
	bufs->free = malloc(n * sizeof *bufs->free);
	bufs->filling = malloc(n * sizeof *bufs->filling);
	bufs->complete = malloc(n * sizeof *bufs->complete);
	if (bufs->at == NULL || bufs->free == NULL || bufs->filling == NULL ||
	    bufs->complete == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++)
		bufs->free[i] = n - 1 - i;
	return true;
}

void
client_bufs_free(struct client_bufs *bufs)
{
	for (uint32_t i = 0; bufs->at != NULL && i < bufs->n; i++)
		client_damage_end(&bufs->at[i].damage);
	free(bufs->at);
	free(bufs->free);
	free(bufs->filling);
	free(bufs->complete);
	*bufs = (struct client_bufs){ 0 };
}

bool
client_bufs_starved(const struct client_bufs *bufs)
{
	return bufs->nfree == 0 && bufs->nfilling == 0;
}

static void
forget_filling(struct client_bufs *bufs, uint32_t buf)
{
	uint32_t i = 0;

	while (bufs->filling[i] != buf)
		i++;
	bufs->nfilling--;
	memmove(bufs->filling + i, bufs->filling + i + 1,
	    (bufs->nfilling - i) * sizeof *bufs->filling);
}

struct blockmap
client_lack(const struct client_buffer *b)
{
	return blockmap_and(b->missing, &b->need);
}

/* These blocks are needed, too.  Count again what is lacking. */
static void
add_need(struct client_buffer *b, const struct blockmap *need)
{
	blockmap_add(&b->need, need);
	struct blockmap lack = client_lack(b);
	b->nlack = blockmap_count(&lack);
	memset(b->lack, 0, sizeof b->lack);
	for (uint32_t i = blockmap_next(&lack, 0); i < WIRE_CHUNK_BLOCKS;
	     i = blockmap_next(&lack, i + 1))
		b->lack[i % WIREXT_GROUPS]++;
}

struct client_buffer *
client_bufs_begin(struct client_bufs *bufs, const struct client_beginning *how)
{
	assert(bufs->nfree > 0);
	uint32_t buf = bufs->free[--bufs->nfree];
	struct client_buffer *b = &bufs->at[buf];

	bufs->filling[bufs->nfilling++] = buf;
	*b = (struct client_buffer){ .state = BUFFER_FILLING,
		.chunk = how->chunk,
		.nmissing = how->blocks,
		.missing = blockmap_range(0, how->blocks),
		.final = how->final,
		.pin = how->pin,
		.dubious = how->dubious };
	add_need(b, &how->need);
	return b;
}

const struct client_buffer *
client_bufs_drop_dubious(struct client_bufs *bufs, uint32_t kept)
{
	for (uint32_t i = 0; i < bufs->nfilling; i++) {
		uint32_t buf = bufs->filling[i];
		struct client_buffer *b = &bufs->at[buf];
		if (!b->dubious || b->chunk == kept)
			continue;
		client_damage_end(&b->damage);
		b->state = BUFFER_FREE;
		bufs->free[bufs->nfree++] = buf;
		forget_filling(bufs, buf);
		return b;
	}
	return NULL;
}

void
client_buffer_sure(struct client_buffer *b)
{
	b->dubious = false;
}

/* All blocks of its chunk that are needed are here. */
static void
complete(struct client_bufs *bufs, struct client_buffer *b)
{
	uint32_t buf = client_bufs_number(bufs, b);

	forget_filling(bufs, buf);
	b->state = BUFFER_COMPLETE;
	b->final |= b->nmissing == 0;
	bufs->complete[(bufs->complete_head + bufs->ncomplete++) % bufs->n] = buf;
}

/* One block less of the group is needed. */
static enum buffer_came
one_less(struct client_bufs *bufs, struct client_buffer *b, uint32_t group)
{
	b->lack[group]--;
	if (--b->nlack > 0)
		return BUFFER_GOT;
	complete(bufs, b);
	return BUFFER_ENDS;
}

enum buffer_came
client_bufs_block(
    struct client_bufs *bufs, struct client_buffer *b, uint32_t block, uint32_t pin)
{
	if (!blockmap_test(&b->missing, block))
		return BUFFER_HAD;
	b->mixed |= b->pin != pin;
	b->nmissing--;
	blockmap_clear(&b->missing, block);
	if (b->parity_at[block] == 0)
		return blockmap_test(&b->need, block)
		           ? one_less(bufs, b, block % WIREXT_GROUPS)
		           : BUFFER_GOT;
	b->parity_at[block] = 0; /* the parity there would have served as well */
	return BUFFER_GOT;
}

/* A place for a parity block of the group, unless the same parity block is here
 * already. */
static bool
parity_place(
    const struct client_buffer *b, uint32_t group, uint32_t index, uint32_t *place)
{
	bool found = false;

	for (uint32_t p = group; p < WIRE_CHUNK_BLOCKS; p += WIREXT_GROUPS) {
		if (b->parity_at[p] == index + 1)
			return false;
		if (!found && blockmap_test(&b->missing, p) && b->parity_at[p] == 0) {
			*place = p;
			found = true;
		}
	}
	return found;
}

/* The server numbers the parity blocks of a group in order.  Is this the next one,
 * and not a packet that was doubled or delayed? */
static bool
is_newer(struct client_buffer *b, uint32_t group, uint32_t index)
{
	uint32_t ahead = (index + 1 + WIREXT_PARITY_MAX - b->newest[group]) %
	                 WIREXT_PARITY_MAX;

	if (b->newest[group] != 0 && (ahead == 0 || ahead > WIREXT_PARITY_MAX / 2))
		return false;
	b->newest[group] = (uint8_t)(index + 1);
	return true;
}

enum buffer_came
client_bufs_parity(struct client_bufs *bufs, struct client_buffer *b, uint32_t group,
    uint32_t index, uint32_t pin, uint32_t *place)
{
	bool newer = is_newer(b, group, index);

	if (b->lack[group] == 0)
		return BUFFER_HAD;
	if (!parity_place(b, group, index, place)) {
		b->spent |= newer;
		return BUFFER_HAD;
	}
	b->mixed |= b->pin != pin;
	b->parity_at[*place] = (uint8_t)(index + 1);
	return one_less(bufs, b, group);
}

void
client_buffer_ends(struct client_buffer *b, uint32_t end)
{
	b->end = end;
}

const struct blockmap *
client_bufs_zeros(struct client_bufs *bufs, const struct blockmap *zeros)
{
	bufs->zeros = *zeros;
	return &bufs->zeros;
}

void
client_buffer_moved(struct client_buffer *b)
{
	b->repeats_us = 0;
}

void
client_buffer_repeated(struct client_buffer *b, uint64_t now_us)
{
	if (b->repeats_us == 0 || now_us >= b->repeated_us + PAUSE_US)
		b->repeats_us = now_us;
	b->repeated_us = now_us;
}

void
client_buffer_passed(struct client_buffer *b, uint64_t now_us, uint64_t settled_us)
{
	b->passed_us = now_us;
	b->settled_us = settled_us;
}

void
client_buffer_settle(struct client_buffer *b, uint64_t settled_us)
{
	b->settled_us = settled_us;
}

void
client_bufs_settle_all(struct client_bufs *bufs, uint64_t now_us)
{
	for (uint32_t i = 0; i < bufs->nfilling; i++) {
		struct client_buffer *b = &bufs->at[bufs->filling[i]];
		b->settled_us = b->settled_us < now_us ? b->settled_us : now_us;
	}
}

uint64_t
client_bufs_settled_before(const struct client_bufs *bufs, uint64_t now_us, uint64_t at)
{
	for (uint32_t i = 0; i < bufs->nfilling; i++) {
		uint64_t settled = bufs->at[bufs->filling[i]].settled_us;
		if (settled > now_us && settled < at)
			at = settled;
	}
	return at;
}

/* The number of the buffer that the shell takes next. */
static bool
next_complete(struct client_bufs *bufs, const struct client_chunks *k, uint32_t *buf)
{
	if (bufs->in_order) {
		uint32_t chunk = bufs->has_again ? bufs->again : bufs->ntaken;
		if (!client_chunks_is(k, chunk, CHUNK_DONE))
			return false;
		*buf = client_chunks_buf(k, chunk);
		return true;
	}
	*buf = bufs->complete[bufs->complete_head];
	bufs->complete_head = (bufs->complete_head + 1) % bufs->n;
	return true;
}

const struct client_buffer *
client_bufs_take(struct client_bufs *bufs, const struct client_chunks *k)
{
	uint32_t buf;

	if (bufs->ncomplete == 0 || !next_complete(bufs, k, &buf))
		return NULL;
	bufs->ncomplete--;
	struct client_buffer *b = &bufs->at[buf];
	b->state = BUFFER_TAKEN;
	if (bufs->has_again && b->chunk == bufs->again)
		bufs->has_again = false;
	else
		bufs->ntaken += b->final;
	return b;
}

/* The shell had taken the buffer, and more of its chunk is needed. */
static void
refill(struct client_bufs *bufs, struct client_buffer *b, uint64_t settled_us)
{
	b->state = BUFFER_FILLING;
	b->settled_us = settled_us;
	client_buffer_moved(b);
	bufs->filling[bufs->nfilling++] = client_bufs_number(bufs, b);
}

bool
client_bufs_need(struct client_bufs *bufs, struct client_buffer *b,
    const struct blockmap *need, bool final, uint64_t settled_us)
{
	assert(b->state == BUFFER_TAKEN && !b->final);
	b->final = final;
	add_need(b, need);
	refill(bufs, b, settled_us);
	if (b->nlack > 0)
		return false;
	complete(bufs, b);
	return true;
}

/* Forget the parity, and where the empty end begins. */
static void
forget_parity(struct client_buffer *b)
{
	memset(b->parity_at, 0, sizeof b->parity_at);
	memset(b->newest, 0, sizeof b->newest);
	b->spent = false;
	b->end = 0;
}

uint32_t
client_bufs_lose(
    struct client_bufs *bufs, struct client_buffer *b, const struct client_lost *how)
{
	struct blockmap all = blockmap_range(0, how->blocks);
	struct blockmap lost = blockmap_and(all, &how->bad), fresh = { { 0 } };

	assert(b->state == BUFFER_TAKEN && b->final && !blockmap_empty(&lost));
	/* Of a chunk in parts, some blocks were never here, and some that were not needed
	 * are needed now. */
	if (how->parts) {
		fresh = blockmap_minus(lost, &b->need);
		fresh = blockmap_and(fresh, &b->missing);
		blockmap_add(&lost, &b->missing);
	}
	b->missing = lost;
	b->nmissing = blockmap_count(&lost);
	b->dubious = false; /* it keeps its buffer */
	forget_parity(b);
	add_need(b, &how->bad);
	if (b->nmissing ==
	    how->blocks) { /* else what was not damaged stays, whoever sent it */
		b->pin = how->pin;
		b->mixed = false;
	}
	if (bufs->in_order) { /* those behind it have been given out */
		bufs->again = b->chunk;
		bufs->has_again = true;
	} else {
		bufs->ntaken--;
	}
	refill(bufs, b, how->settled_us);
	return blockmap_count(&fresh);
}

void
client_bufs_release(struct client_bufs *bufs, uint32_t buf)
{
	assert(buf < bufs->n && bufs->at[buf].state == BUFFER_TAKEN);
	client_damage_end(&bufs->at[buf].damage);
	bufs->at[buf].state = BUFFER_FREE;
	bufs->free[bufs->nfree++] = buf;
	bufs->nreleased++;
}

void
client_bufs_skip_chunk(struct client_bufs *bufs)
{
	bufs->ntaken++;
}

void
client_bufs_want_chunk(struct client_bufs *bufs)
{
	bufs->ntaken--;
}
