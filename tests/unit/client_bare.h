/* client_bare.h: the parts of a client's engine put together by hand: there is no session,
 * nothing was joined, and no packet comes.  A test changes one part and looks at what a
 * policy says. */
#ifndef TESTS_UNIT_CLIENT_BARE_H
#define TESTS_UNIT_CLIENT_BARE_H

#include "frisbee/client/client_impl.h"
#include "tests/t.h"

enum { MS = 1000, S = 1000 * MS, BARE_CHUNKS = 64, BARE_BUFFERS = 32 };

/* A client that loads 64 chunks in order into 32 buffers.  ext: its server has the extension. */
static inline struct client *
bare_client(bool ext, bool unpaced, uint32_t clients)
{
	struct wirext_answer a = { .flags = WIREXT_CAN_PARITY |
		                            (unpaced ? WIREXT_UNPACED : 0),
		.port = 1,
		.session = 5,
		.clients = clients };
	struct client_config cfg = { .clientid = 7,
		.buffers = BARE_BUFFERS,
		.readahead = 2,
		.in_progress = 8,
		.redo_us = 1 * S,
		.tick_us = 30 * MS,
		.idle_ticks = 3,
		.join_us = 500 * MS,
		.sequential = true,
		.ext = ext,
		.parity = ext };
	struct client *c = client_new(&cfg, 0);

	T_CHECK(client_chunks_init(&c->chunks, BARE_CHUNKS, true, 0, 0) == 0);
	T_CHECK(client_bufs_make(&c->bufs, BARE_BUFFERS, false));
	client_position_begin(&c->position, BARE_CHUNKS);
	client_membership_answered(&c->membership, 0, BARE_CHUNKS * WIRE_CHUNK_BLOCKS,
	    (uint64_t)BARE_CHUNKS << 20);
	client_membership_load(&c->membership);
	if (ext) {
		T_CHECK(client_nack_begin(&c->nack, BARE_CHUNKS, true, false));
		client_session_begin(&c->session, 0, &a, true);
		client_credit_begin(&c->credit, 0, unpaced);
	}
	return c;
}

/* Begins this chunk: blocks [0, blocks) of it are here, and its pass is over. */
static inline struct client_buffer *
bare_begin(struct client *c, uint32_t chunk, uint32_t blocks)
{
	struct client_beginning how = { .chunk = chunk,
		.blocks = WIRE_CHUNK_BLOCKS,
		.need = blockmap_range(0, WIRE_CHUNK_BLOCKS),
		.final = true };
	struct client_buffer *b = client_bufs_begin(&c->bufs, &how);

	client_chunks_take(&c->chunks, chunk, client_bufs_number(&c->bufs, b));
	for (uint32_t i = 0; i < blocks; i++)
		client_bufs_block(&c->bufs, b, i, 0);
	if (b->state == BUFFER_COMPLETE)
		client_chunks_done(&c->chunks, chunk);
	return b;
}

#endif /* TESTS_UNIT_CLIENT_BARE_H */
