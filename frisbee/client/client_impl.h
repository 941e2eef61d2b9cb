/* client_impl.h: the parts of the client's engine, put together, and what its files
 * share.
 *
 * Each part of struct client has a header and a file of its own, which alone writes its
 * struct.  The files declared here are the wiring: they read packets and tell the parts
 * what happened (a block, the end of a pass, a buffer that is free, a request or a STATE
 * of others), or ask them what to say.
 *
 * client.c begins, ends and reads packets of the base protocol; client_output.c says;
 * client_join.c joins and leaves; client_ext.c, client_ext_session.c,
 * client_ext_parity.c and client_ext_congestion.c have the messages of the extension;
 * client_blocks.c has blocks that come, client_place.c which chunk gets a buffer,
 * client_pass.c passes and silence, client_shell.c what the shell does with chunks,
 * client_partial.c chunks in parts. */
#ifndef FRISBEE_CLIENT_CLIENT_IMPL_H
#define FRISBEE_CLIENT_CLIENT_IMPL_H

#include <stdio.h>

#include "common/wire/blockmap.h"
#include "common/wire/wirext.h"
#include "frisbee/client/client.h"
#include "frisbee/client/client_bufs.h"
#include "frisbee/client/client_chunks.h"
#include "frisbee/client/client_claim.h"
#include "frisbee/client/client_credit.h"
#include "frisbee/client/client_backoff.h"
#include "frisbee/client/client_congestion.h"
#include "frisbee/client/client_heed.h"
#include "frisbee/client/client_membership.h"
#include "frisbee/client/client_nack.h"
#include "frisbee/client/client_mtu.h"
#include "frisbee/client/client_pin.h"
#include "frisbee/client/client_position.h"
#include "frisbee/client/client_requests.h"
#include "frisbee/client/client_schedule.h"
#include "frisbee/client/client_session.h"
#include "frisbee/client/client_skip.h"
#include "frisbee/client/client_urgent.h"

enum {
	/* Chunks are interleaved only if clients have this many buffers: half of
	 * them for chunks that arrive, and half for those that wait for repair. */
	CLIENT_INTERLEAVE_BUFFERS = 6 * WIREXT_INTERLEAVE,
};

/* Blocks that came in one packet. */
struct client_blocks {
	uint32_t chunk, first, count;
	uint32_t content; /* of the chunk, before its empty end */
	const uint8_t *data;
};

struct client {
	struct client_config cfg;
	struct client_counters counters;
	struct client_membership membership;
	struct client_session session;

	struct client_pin pin;
	struct client_claim claim;
	struct client_chunks chunks;
	struct client_bufs bufs;

	struct client_position position;
	struct client_urgent urgent;
	struct client_congestion congestion;
	struct client_mtu mtu;
	struct client_skip skip;
	struct client_backoff backoff;
	struct client_schedule schedule;
	struct client_requests requests;
	struct client_credit credit;
	struct client_nack nack;
	struct client_heed heed;
};

static inline uint32_t
client_chunk_blocks(const struct client *c, uint32_t chunk)
{
	return client_membership_chunk_blocks(&c->membership, chunk);
}

/* The buffer of a chunk of which something, but not all, is here. */
static inline struct client_buffer *
client_filling(struct client *c, uint32_t chunk)
{
	if (client_chunks_is(&c->chunks, chunk, CHUNK_OPEN | CHUNK_DONE))
		return NULL;
	return &c->bufs.at[client_chunks_buf(&c->chunks, chunk)];
}

/* Chunks from this one on may not have a buffer yet, so that those before it can
 * always get one. */
static inline uint64_t
client_window_end(const struct client *c)
{
	return c->cfg.in_order ? (uint64_t)c->bufs.nreleased + c->bufs.n : c->chunks.n;
}

/* The open chunk behind `chunk` (the first one: n) that may have a buffer; n: none. */
static inline uint32_t
client_next_open(const struct client *c, uint32_t chunk)
{
	uint32_t next = client_chunks_next(&c->chunks, chunk);

	return next < client_window_end(c) ? next : c->chunks.n;
}

/* Is this chunk 0, for which the others wait? */
static inline bool
client_awaits_first(const struct client *c, uint32_t chunk)
{
	return c->cfg.chunk0_first && chunk == 0 &&
	       !client_chunks_is(&c->chunks, 0, CHUNK_DONE);
}

/* Are chunks asked for in parts? */
static inline bool
client_partial(const struct client *c)
{
	return c->cfg.first_blocks > 0;
}

/* Does the client lack anything of this chunk, so that parity may be of use? */
static inline bool
client_lacks_some(const struct client *c, uint32_t chunk)
{
	return chunk < c->chunks.n && !client_chunks_is(&c->chunks, chunk, CHUNK_DONE);
}

/* May blocks of a pass of the buffer's chunk be on their way, so that it is not asked for?
 * in_pass: one goes on. */
static inline bool
client_awaits_pass(const struct client_buffer *b, uint64_t now_us, bool in_pass)
{
	bool stuck = b->repeats_us != 0 && now_us >= b->repeats_us + CLIENT_PATIENCE_US;

	return !stuck && (in_pass || now_us < b->settled_us);
}

/* Is all of the image wanted, and as soon as it comes? */
static inline bool
client_wants_all(const struct client *c)
{
	return !c->cfg.in_order && !c->cfg.resumes && !client_partial(c);
}

/* client.c: */
/* Forget the image, which another one will replace.  The state is then as before the
 * first answer. */
void client_drop_image(struct client *);

/* client_join.c: */
/* The pinned sender, or while joining any sender, says that the load is impossible:
 * client_claim.h. */
void client_hear_claim(
    struct client *, uint64_t now_us, const uint8_t from[4], const char *why);
/* When to ask by JOIN which other servers are there; CLIENT_NEVER: this is not
 * needed. */
uint64_t client_ask_who_at_us(const struct client *);
/* An answer to a JOIN, of this client or another, has arrived. */
void client_hear_reply(struct client *, uint64_t now_us, const struct wire_msg *,
    const struct wirext_answer *, const uint8_t from[4]);
/* Returns true if the packet is a reply that only asks for its cookie. */
bool client_hear_cookie(struct client *, uint64_t now_us, const void *pkt, size_t len);
/* Flags of wirext.h for the offer. */
size_t client_put_join(struct client *, uint64_t now_us, uint32_t flags, void *pkt);
size_t client_put_first_join(struct client *, uint64_t now_us, void *pkt);
/* A JOIN when it is time for one, or 0. */
size_t client_join_output(struct client *, uint64_t now_us, void *pkt);
size_t client_put_leave(struct client *, void *pkt);

/* client_blocks.c: */
/* Blocks came from a sender that is not pinned: if they are lacking, it may be the
 * server. */
void client_blocks_of_other(
    struct client *, const uint8_t from[4], uint32_t chunk, uint32_t first, uint32_t count);
/* Blocks or parity arrived, needed or not. */
void client_came(struct client *, uint64_t now_us, uint32_t blocks);
/* How many of these blocks does the client lack? */
uint32_t client_lacks(
    struct client *, uint32_t chunk, uint32_t first, uint32_t count);
bool client_take_blocks(struct client *, uint64_t now_us, const struct client_blocks *,
    struct client_store *);
/* Blocks of an URGENT_DATA, which are outside of the order of the stream. */
bool client_take_urgent(struct client *, uint64_t now_us, const struct client_blocks *,
    struct client_store *);
/* Parity has arrived for the buffer.  Returns true if it is needed; *place is then
 * where it is stored. */
bool client_take_parity(struct client *, uint64_t now_us, struct client_buffer *,
    uint32_t group, uint32_t index, uint32_t *place);
/* Only the first `content` blocks of the buffer's chunk are not empty (0: not known): the
 * others are here now.  False: they were here, or nothing is believed of the chunk. */
bool client_take_end(struct client *, uint64_t now_us, struct client_buffer *,
    uint32_t content, struct client_store *);

/* client_pass.c: */
/* Blocks (or parity) of this chunk arrive now, so the pass of the chunk before is
 * over. */
void client_follow_stream(struct client *, uint64_t now_us, uint32_t chunk);
/* The current pass is over, because nothing arrives any more. */
void client_end_pass(struct client *, uint64_t now_us);
/* What was requested will not come. */
void client_presume_lost(struct client *, uint64_t now_us);
/* Nothing arrives any more, although something should. */
void client_go_idle(struct client *, uint64_t now_us);

/* client_place.c: */
/* The buffer in which a block is stored, which may have been free.  NULL: it is not
 * stored. */
struct client_buffer *client_buffer_for(
    struct client *, uint32_t chunk, uint32_t block);
/* Should this chunk, which has no buffer, be left out until it is sent again? */
bool client_leaves_out(const struct client *, uint32_t chunk);

/* client_partial.c: */
/* The first blocks to request of a chunk that has no buffer yet. */
struct blockmap client_first_blocks(const struct client *, uint32_t chunk);
/* How many more chunks may be requested. */
uint32_t client_partial_room(const struct client *, uint64_t now_us);
/* When silence ends the current pass. */
uint64_t client_partial_quiet_us(const struct client *);

/* client_ext.c: */
/* Put an MTU_ACK into pkt if it is time for one.  Returns its length, or 0. */
size_t client_ext_say_mtu_ack(struct client *, uint64_t now_us, void *pkt);
/* Put a message into pkt that everything has arrived but is not written yet, if it
 * is time for one.  Returns its length, or 0. */
size_t client_ext_say_flushing(struct client *, uint64_t now_us, void *pkt);
uint64_t client_ext_flushing_at_us(const struct client *);
bool client_ext_input(struct client *, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], struct client_store *);

/* client_ext_session.c: */
/* The reply to JOIN contained this answer of the extension. */
void client_ext_begin(struct client *, uint64_t now_us, const struct wirext_answer *);
/* The pinned server has answered again. */
void client_ext_answered(
    struct client *, uint64_t now_us, const struct wirext_answer *);
/* Another one has answered, and was pinned in its place. */
void client_ext_taken_over(
    struct client *, uint64_t now_us, const struct wirext_answer *);
/* Watch the session for messages that show whether the server is there and still
 * serves the same image. */
size_t client_ext_listen(struct client *, uint64_t now_us, void *pkt);
/* A pass of a chunk begins, with this block (parity: 0). */
void client_ext_pass_begins(struct client *, uint32_t chunk, uint32_t block);
/* Has the server announced that it will send the chunk? */
static inline bool
client_ext_coming(const struct client *c, uint32_t chunk)
{
	return c->session.on && client_nack_coming(&c->nack, chunk);
}

#endif /* FRISBEE_CLIENT_CLIENT_IMPL_H */
