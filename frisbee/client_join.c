/* Joining the server: what it answers about its image, with which loading begins; and
 * leaving it. */
#include <string.h>

#include "frisbee/client_impl.h"

enum {
	EXT_BUFFERS = 8, /* the extension needs so many */
	/* ... and chunks that take turns, while as many wait for their repair. */
	SET_BUFFERS = 6 * WIREXT_SET,
	JOIN_FRESH_US = 100000,
	JOIN_SOON = 4, /* times the delay is half of the next one */
};

/* Chunks of an installation that is gone on with: never asked for. */
static void
leave_out(struct client *c)
{
	for (uint32_t i = 0; c->cfg.has != NULL && i < c->chunks.n; i++) {
		if (!c->cfg.has(c->cfg.has_arg, i))
			continue;
		client_chunks_take(&c->chunks, i, 0);
		client_chunks_done(&c->chunks, i);
		c->ntaken++;
	}
}

static void
start_loading(struct client *c, uint64_t now_us, uint32_t nblocks, uint64_t image_bytes)
{
	uint32_t n = (nblocks - 1) / WIRE_CHUNK_BLOCKS + 1;

	c->nblocks = nblocks;
	c->image_bytes = image_bytes;
	c->current = c->last = n;
	c->guard_us = CLIENT_GUARD_US;
	c->chunk_us = 2 * CLIENT_JITTER_US;
	c->backlog = client_max_backlog(c);
	if (client_chunks_init(&c->chunks, n, c->cfg.sequential, c->cfg.seed, now_us) !=
		0 ||
	    !client_make_buffers(c)) {
		client_refuse(c, "not enough memory for an image of this size");
		return;
	}
	c->stats.chunk_buffers = (int32_t)c->nbuffers;
	if (c->cfg.chunk0_first)
		client_chunks_prefer(&c->chunks, 0);
	leave_out(c);
	c->state = CLIENT_LOADING;
	c->idle_from_us = c->scan_at_us = now_us;
}

/* With few buffers it is better to ask for one chunk after the other. */
static bool
may_extend(const struct client *c)
{
	return c->cfg.ext && !c->cfg.any_file && c->cfg.buffers >= EXT_BUFFERS;
}

static void
handle_join_reply(
    struct client *c, uint64_t now_us, uint32_t blocks, const struct wirext_answer *a)
{
	if (c->state != CLIENT_JOINING || c->cfg.any_file)
		return;
	if (blocks == 0)
		client_refuse(c, "the server says that its image is empty");
	else if (blocks % WIRE_CHUNK_BLOCKS != 0)
		client_refuse(
		    c, "the server's file is not an image: not a multiple of 1 MiB");
	else
		start_loading(c, now_us, blocks, (uint64_t)blocks * WIRE_BLOCK_BYTES);
	/* Was it the answer to somebody else?  Our own JOIN of so long ago may have
	 * come before the server did. */
	c->join_again = now_us - c->joined_us > JOIN_FRESH_US;
	if (c->state == CLIENT_LOADING && a != NULL && may_extend(c))
		client_ext_begin(c, now_us, a);
}

static void
handle_join2_reply(struct client *c, uint64_t now_us, const struct wire_msg *m)
{
	uint64_t bytes = m->u.join2.image_bytes;

	if (c->state != CLIENT_JOINING || !c->cfg.any_file ||
	    m->u.join2.clientid != c->cfg.clientid)
		return;
	if (m->u.join2.block_bytes != WIRE_BLOCK_BYTES ||
	    m->u.join2.chunk_blocks != WIRE_CHUNK_BLOCKS)
		client_refuse(
		    c, "the server uses other block or chunk sizes than 1024");
	else if (bytes == 0)
		client_refuse(c, "the server says that its file is empty");
	else if (m->u.join2.blocks != (bytes - 1) / WIRE_BLOCK_BYTES + 1)
		client_refuse(
		    c, "the server's reply contradicts itself about the size");
	else
		start_loading(c, now_us, m->u.join2.blocks, bytes);
}

void
client_hear_reply(struct client *c, uint64_t now_us, const struct wire_msg *m,
    const struct wirext_answer *a)
{
	c->heard_us = now_us;
	if (m->subtype == WIRE_JOIN && c->state == CLIENT_LOADING &&
	    c->ext.coming != NULL)
		client_ext_check(c, now_us, m->u.join.blocks, a);
	/* A reply to others would do; but who has not joined is not counted. */
	if (c->stats.join_attempts == 0)
		return;
	if (m->subtype == WIRE_JOIN)
		handle_join_reply(c, now_us, m->u.join.blocks, a);
	else if (m->subtype == WIRE_JOIN2)
		handle_join2_reply(c, now_us, m);
}

/* Many machines that come together may lose the answer to all of them; what is sent until
 * they ask again comes twice for the others. */
static uint64_t
join_delay_us(const struct client *c)
{
	unsigned n = c->stats.join_attempts;

	return c->cfg.join_us >> (may_extend(c) && n < JOIN_SOON ? JOIN_SOON - n : 0);
}

size_t
client_put_join(struct client *c, uint64_t now_us, uint32_t flags, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST };

	c->joined_us = now_us;
	c->join_at_us = now_us + join_delay_us(c);
	c->stats.join_attempts++;
	c->join_again = false;
	memcpy(m.srcip, c->cfg.srcip, 4);
	if (c->cfg.any_file) {
		m.subtype = WIRE_JOIN2;
		m.u.join2.clientid = c->cfg.clientid;
		m.u.join2.chunk_blocks = WIRE_CHUNK_BLOCKS;
		m.u.join2.block_bytes = WIRE_BLOCK_BYTES;
	} else {
		m.subtype = WIRE_JOIN;
		m.u.join.clientid = c->cfg.clientid;
	}
	size_t len = wire_put(&m, pkt, WIRE_PACKET_MAX);
	if (may_extend(c))
		len = wirext_put_offer(pkt, len, WIRE_PACKET_MAX,
		    flags | (c->cfg.parity ? WIREXT_CAN_PARITY : 0) |
			(c->cfg.buffers < SET_BUFFERS ? WIREXT_NO_SETS : 0));
	return len;
}

size_t
client_put_first_join(struct client *c, uint64_t now_us, void *pkt)
{
	return client_put_join(c, now_us, client_wants_all(c) ? 0 : WIREXT_AGAIN, pkt);
}

size_t
client_join_output(struct client *c, uint64_t now_us, void *pkt)
{
	return now_us < c->join_at_us ? 0 : client_put_first_join(c, now_us, pkt);
}

void
client_finish(struct client *c, uint64_t now_us, const struct wire_stats *shell_part)
{
	uint64_t run_ms = (now_us - c->start_us) / 1000;

	c->stats.run_s = (int32_t)(run_ms / 1000);
	c->stats.run_ms = (int32_t)(run_ms % 1000);
	c->stats.bytes_written = shell_part->bytes_written;
	c->stats.bytes_covered = shell_part->bytes_covered;
	c->stats.no_chunk_ready = shell_part->no_chunk_ready;
	c->stats.decompressor_blocked = shell_part->decompressor_blocked;
	c->stats.writer_idle = shell_part->writer_idle;
	c->stats.write_buffer_mb = shell_part->write_buffer_mb;
	c->leave_pending = true;
}

size_t
client_put_leave(struct client *c, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_LEAVE2 };

	memcpy(m.srcip, c->cfg.srcip, 4);
	m.u.leave2.clientid = c->cfg.clientid;
	m.u.leave2.elapsed_s = c->stats.run_s;
	m.u.leave2.stats = c->stats;
	c->leave_pending = false;
	c->state = CLIENT_LEFT;
	return wire_put(&m, pkt, WIRE_PACKET_MAX);
}
