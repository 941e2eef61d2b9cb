/* Any packets at any time: the client stores each block once, in its buffers. */
#include <assert.h>
#include <string.h>

#include "common/wire/blockmap.h"
#include "common/wire/wirext.h"
#include "frisbee/client/client.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* The extension needs so many; without it there are fewer. */
enum { BUFFERS = 8, FEW_BUFFERS = 2 };

struct held {
	bool mine; /* the shell has it */
	uint32_t chunk;
	struct blockmap have; /* a block, or parity, lies there */
	bool parity[WIRE_CHUNK_BLOCKS];
};

/* Parity never replaces anything; a block replaces parity only. */
static void
store_one(struct held *h, uint32_t block, bool parity)
{
	assert(block < WIRE_CHUNK_BLOCKS);
	assert(!blockmap_test(&h->have, block) || (h->parity[block] && !parity));
	h->parity[block] = parity;
	blockmap_set(&h->have, block);
}

static void
store(struct held *held, const struct client_store *st, const struct script_step *step)
{
	assert(st->buf < BUFFERS && st->block < WIRE_CHUNK_BLOCKS);
	const uint8_t *end = step->pkt + step->arg;
	assert(st->beside == 0 || (st->data >= step->pkt &&
	                              st->data + (size_t)st->beside * WIRE_BLOCK_BYTES <= end));
	if (st->beside > 0 && st->which == 0 && st->zeros == NULL)
		return; /* only for a reader */
	assert(!held[st->buf].mine && (st->which != 0 || st->zeros != NULL));
	struct held *h = &held[st->buf];
	if (h->chunk != st->chunk)
		*h = (struct held){ .chunk = st->chunk };
	bool parity = wirext_is(step->pkt, step->arg) && step->pkt[4] == WIREXT_PARITY;
	for (uint32_t i = 0; st->which >> i != 0; i++) {
		if (!(st->which >> i & 1))
			continue;
		const uint8_t *data = st->data + (size_t)i * WIRE_BLOCK_BYTES;
		assert(data >= step->pkt && data + WIRE_BLOCK_BYTES <= end);
		store_one(h, st->block + i, parity);
	}
	for (uint32_t b = st->zeros != NULL ? blockmap_next(st->zeros, 0)
	                                    : WIRE_CHUNK_BLOCKS;
	     b < WIRE_CHUNK_BLOCKS; b = blockmap_next(st->zeros, b + 1))
		store_one(h, b, false);
}

/* Some chunks are damaged; all of such a one comes again, unless it is given up. */
static bool
comes_again(struct client *c, uint64_t now, struct held *held, uint32_t buf)
{
	struct blockmap whole = blockmap_range(0, WIRE_CHUNK_BLOCKS);

	if ((now / 1000 + buf) % 4 != 1 || client_again(c, now, buf, &whole) != 0)
		return false;
	held[buf] = (struct held){ .chunk = held[buf].chunk };
	return true;
}

static void
forget_all(struct held held[BUFFERS])
{
	for (uint32_t i = 0; i < BUFFERS; i++)
		held[i] = (struct held){ .chunk = UINT32_MAX };
}

/* What a reader may read in a buffer is there, and no parity. */
static void
read_some(struct client *c, uint64_t now, const struct held *held)
{
	uint32_t first = (uint32_t)(now / 7000 % 1000), buf;
	struct blockmap need = blockmap_range(first, WIRE_CHUNK_BLOCKS - first), here;

	for (uint32_t chunk = 0; chunk < 5; chunk++) {
		if (!client_has_some(c, chunk, &buf, &here))
			continue;
		assert(buf < BUFFERS && held[buf].chunk == chunk);
		for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++)
			assert(!blockmap_test(&here, b) ||
			       (blockmap_test(&held[buf].have, b) && !held[buf].parity[b]));
	}
	client_read(c, now, (uint32_t)(now / 1000 % 5), &need);
}

static void
pull(struct client *c, uint64_t now, struct held *held)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	uint32_t chunk, buf, bytes;

	for (uint32_t i = 0; i < BUFFERS; i++) {
		if (!held[i].mine || comes_again(c, now, held, i))
			continue;
		client_release(c, now, i);
		held[i] = (struct held){ .chunk = UINT32_MAX };
	}
	while (client_take(c, &chunk, &buf, &bytes)) {
		assert(buf < BUFFERS && held[buf].chunk == chunk && !held[buf].mine);
		assert(blockmap_count(&held[buf].have) ==
		       (bytes - 1) / WIRE_BLOCK_BYTES + 1);
		held[buf].mine = true;
		const uint8_t *at = client_parity(c, buf);
		for (uint32_t i = 0; i < WIRE_CHUNK_BLOCKS; i++)
			assert(held[buf].parity[i] == (at != NULL && at[i] != 0));
	}
	if (now / 1000 % 8 == 3)
		client_urgent(c, now, (uint32_t)(now / 1000 % 5));
	if (now / 1000 % 4 == 2)
		read_some(c, now, held);
	for (unsigned n = 0; client_output(c, now, pkt) > 0; n++)
		assert(n < 100000);
	assert(client_deadline(c, now) > now);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct wire_stats none;
	struct rd r = rd_from(data, len);
	uint8_t how = rd_u8(&r);
	struct client_config cfg = { .clientid = 7,
		.seed = how,
		.srcip = { 10, 77, 0, 11 },
		.any_file = how & 1,
		.sequential = (how & 2) != 0,
		.buffers = how & 8 ? BUFFERS : FEW_BUFFERS,
		.readahead = 2,
		.in_progress = 8,
		.redo_us = 1000000,
		.tick_us = 30000,
		.idle_ticks = 3,
		.join_us = 500000,
		.silence_us = how & 4 ? 60000000 : 0,
		.ext = (how & 8) != 0,
		.parity = (how & 16) != 0 };
	struct held held[BUFFERS];
	struct script_step step;
	uint64_t now = 0;

	forget_all(held);
	uint32_t images = 0;
	struct client *c = client_new(&cfg, now);
	assert(c != NULL);
	while (script_next(&r, &step)) {
		struct client_store st;
		uint8_t from[4];
		switch (step.op) {
		case OP_PACKET:
			script_source(&step, from);
			if (client_input(c, now, step.pkt, step.arg, from, &st))
				store(held, &st, &step);
			if (images != client_images(c))
				forget_all(held); /* loading begins (anew) */
			images = client_images(c);
			break;
		case OP_TIME_MS:
			now += step.arg * UINT64_C(1000);
			break;
		case OP_FINISH:
			client_finish(c, now, &none);
			break;
		default:
			pull(c, now, held);
		}
	}
	client_free(c);
	return 0;
}
