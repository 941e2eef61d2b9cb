/* wire.c: reads and writes the packets of the base protocol.  The engines and their
 * shells call this, in any thread; nothing is kept. */
#include "common/wire/wire.h"

#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

enum {
	STATS_VERSION = 1,
	STATS_PAD_BYTES = 900, /* zeros behind the fields */
};

static bool
is_i32(uint32_t v)
{
	return v <= INT32_MAX;
}

static int
get_join(struct wire_msg *m, struct rd *r, struct err *e)
{
	uint32_t v = rd_le32(r);

	if (m->type == WIRE_REQUEST) {
		m->u.join.clientid = v;
		return 0;
	}
	m->u.join.blocks = v;
	if (!is_i32(v))
		return err_set(e, ERR_FORMAT, "join reply: negative number of blocks");
	return 0;
}

static void
put_join(const struct wire_msg *m, struct wr *w)
{
	wr_le32(w, m->type == WIRE_REQUEST ? m->u.join.clientid : m->u.join.blocks);
}

static int
get_join2(struct wire_msg *m, struct rd *r, struct err *e)
{
	m->u.join2.clientid = rd_le32(r);
	uint32_t blocks = rd_le32(r);
	m->u.join2.chunk_blocks = rd_le32(r);
	m->u.join2.block_bytes = rd_le32(r);
	uint64_t bytes = rd_le64(r);
	/* In a request, blocks and bytes are whatever was in the sender's memory. */
	if (m->type == WIRE_REQUEST)
		return 0;
	m->u.join2.blocks = blocks;
	m->u.join2.image_bytes = bytes;
	if (!is_i32(blocks))
		return err_set(e, ERR_FORMAT, "join2 reply: negative number of blocks");
	return 0;
}

static void
put_join2(const struct wire_msg *m, struct wr *w)
{
	bool reply = m->type == WIRE_REPLY;

	wr_le32(w, m->u.join2.clientid);
	wr_le32(w, reply ? m->u.join2.blocks : 0);
	wr_le32(w, m->u.join2.chunk_blocks);
	wr_le32(w, m->u.join2.block_bytes);
	wr_le64(w, reply ? m->u.join2.image_bytes : 0);
}

static int
get_leave(struct wire_msg *m, struct rd *r, struct err *e)
{
	(void)e;
	m->u.leave.clientid = rd_le32(r);
	m->u.leave.elapsed_s = (int32_t)rd_le32(r);
	return 0;
}

static void
put_leave(const struct wire_msg *m, struct wr *w)
{
	wr_le32(w, m->u.leave.clientid);
	wr_le32(w, (uint32_t)m->u.leave.elapsed_s);
}

static int
get_block(struct wire_msg *m, struct rd *r, struct err *e)
{
	uint32_t chunk = m->u.block.chunk = rd_le32(r);
	uint32_t block = m->u.block.block = rd_le32(r);

	m->u.block.data = rd_bytes(r, WIRE_BLOCK_BYTES);
	if (!is_i32(chunk) || block >= WIRE_CHUNK_BLOCKS)
		return err_set(e, ERR_FORMAT, "block: chunk %d, block %d is impossible",
		    (int)chunk, (int)block);
	return 0;
}

static void
put_block(const struct wire_msg *m, struct wr *w)
{
	wr_le32(w, m->u.block.chunk);
	wr_le32(w, m->u.block.block);
	wr_bytes(w, m->u.block.data, WIRE_BLOCK_BYTES);
}

static int
get_req(struct wire_msg *m, struct rd *r, struct err *e)
{
	uint32_t chunk = m->u.req.chunk = rd_le32(r);
	uint32_t first = m->u.req.first = rd_le32(r);
	uint32_t count = m->u.req.count = rd_le32(r);

	if (!is_i32(chunk) || first >= WIRE_CHUNK_BLOCKS || count == 0 ||
	    count > WIRE_CHUNK_BLOCKS - first)
		return err_set(e, ERR_FORMAT,
		    "request: chunk %d, %d blocks from block %d is impossible",
		    (int)chunk, (int)count, (int)first);
	return 0;
}

static void
put_req(const struct wire_msg *m, struct wr *w)
{
	wr_le32(w, m->u.req.chunk);
	wr_le32(w, m->u.req.first);
	wr_le32(w, m->u.req.count);
}

static int
get_preq(struct wire_msg *m, struct rd *r, struct err *e)
{
	m->u.preq.chunk = rd_le32(r);
	m->u.preq.retries = (int32_t)rd_le32(r);
	rd_copy(r, m->u.preq.map, WIRE_MAP_BYTES);
	if (!is_i32(m->u.preq.chunk))
		return err_set(e, ERR_FORMAT, "partial request: chunk %d is impossible",
		    (int)m->u.preq.chunk);
	return 0;
}

static void
put_preq(const struct wire_msg *m, struct wr *w)
{
	wr_le32(w, m->u.preq.chunk);
	wr_le32(w, (uint32_t)m->u.preq.retries);
	wr_bytes(w, m->u.preq.map, WIRE_MAP_BYTES);
}

/* The statistics in the order of the wire, as offsets into wire_stats, so that
 * reading and writing cannot disagree. */
#define S32(f) \
	{ \
		offsetof(struct wire_stats, f), 4 \
	}
#define S64(f) \
	{ \
		offsetof(struct wire_stats, f), 8 \
	}
static const struct {
	size_t off, size;
} stats_fields[] = {
	S32(run_s),
	S32(run_ms),
	S32(start_delay_ms),
	S64(bytes_written),
	S64(bytes_covered),
	S32(chunk_buffers),
	S32(readahead),
	S32(max_in_progress),
	S32(packet_timeout_us),
	S32(start_delay_s),
	S32(idle_ticks),
	S32(idle_delay_us),
	S32(redo_delay_us),
	S32(randomised),
	S32(no_chunk_ready),
	S32(dropped_no_buffer),
	S32(dup_finished),
	S32(dup_in_progress),
	S32(prequests),
	S32(idle_timeouts),
	S32(join_attempts),
	S32(requests),
	S32(decompressor_blocked),
	S32(writer_idle),
	S32(write_buffer_mb),
	S32(blocks_by_prequest),
	S32(rerequests),
	S32(partial_drops),
	S32(full_rerequests),
};
enum { STATS_FIELDS = sizeof stats_fields / sizeof stats_fields[0] };

static void
get_stats(struct wire_stats *s, struct rd *r)
{
	for (size_t i = 0; i < STATS_FIELDS; i++) {
		char *field = (char *)s + stats_fields[i].off;
		uint64_t v64;
		uint32_t v32;
		if (stats_fields[i].size == 8) {
			v64 = rd_le64(r);
			memcpy(field, &v64, 8);
		} else {
			v32 = rd_le32(r);
			memcpy(field, &v32, 4);
		}
	}
}

static void
put_stats(const struct wire_stats *s, struct wr *w)
{
	for (size_t i = 0; i < STATS_FIELDS; i++) {
		const char *field = (const char *)s + stats_fields[i].off;
		uint64_t v64;
		uint32_t v32;
		if (stats_fields[i].size == 8) {
			memcpy(&v64, field, 8);
			wr_le64(w, v64);
		} else {
			memcpy(&v32, field, 4);
			wr_le32(w, v32);
		}
	}
}

static int
get_leave2(struct wire_msg *m, struct rd *r, struct err *e)
{
	(void)e;
	m->u.leave2.clientid = rd_le32(r);
	m->u.leave2.elapsed_s = (int32_t)rd_le32(r);
	/* With statistics of another version, the client still leaves. */
	if (rd_le32(r) == STATS_VERSION)
		get_stats(&m->u.leave2.stats, r);
	return 0;
}

static void
put_leave2(const struct wire_msg *m, struct wr *w)
{
	wr_le32(w, m->u.leave2.clientid);
	wr_le32(w, (uint32_t)m->u.leave2.elapsed_s);
	wr_le32(w, STATS_VERSION);
	put_stats(&m->u.leave2.stats, w);
	wr_zero(w, STATS_PAD_BYTES);
}

/* The bodies by subtype.  body_bytes is the least length, and all that get() may read. */
static const struct wire_kind {
	uint32_t body_bytes;
	int (*get)(struct wire_msg *, struct rd *, struct err *);
	void (*put)(const struct wire_msg *, struct wr *);
} kinds[] = {
	[WIRE_JOIN] = { 4, get_join, put_join },
	[WIRE_LEAVE] = { 8, get_leave, put_leave },
	[WIRE_BLOCK] = { 1032, get_block, put_block },
	[WIRE_REQ] = { 12, get_req, put_req },
	[WIRE_LEAVE2] = { 1036, get_leave2, put_leave2 },
	[WIRE_PREQ] = { 136, get_preq, put_preq },
	[WIRE_JOIN2] = { 24, get_join2, put_join2 },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

int
wire_get(struct wire_msg *m, const void *pkt, size_t len, struct err *e)
{
	struct rd r = rd_from(pkt, len);

	memset(m, 0, sizeof *m);
	uint32_t type = rd_le32(&r), subtype = rd_le32(&r), body = rd_le32(&r);
	rd_copy(&r, m->srcip, sizeof m->srcip);
	if (!rd_ok(&r))
		return err_set(e, ERR_FORMAT, "packet of %zu bytes has no header", len);
	if (type != WIRE_REQUEST && type != WIRE_REPLY)
		return err_set(e, ERR_FORMAT, "packet of unknown type %u", type);
	if (subtype == WIRE_PROGRESS)
		return err_set(e, ERR_UNSUPPORTED, "progress report");
	if (len > WIRE_PACKET_MAX)
		return err_set(e, ERR_FORMAT, "packet of %zu bytes is too long", len);
	if (subtype == 0 || subtype >= KINDS)
		return err_set(e, ERR_FORMAT, "packet of unknown subtype %u", subtype);
	const struct wire_kind *k = &kinds[subtype];
	if (body > rd_left(&r) || body < k->body_bytes)
		return err_set(e, ERR_FORMAT,
		    "packet of subtype %u: %u bytes of body claimed, %zu there, %u "
		    "needed",
		    subtype, body, rd_left(&r), k->body_bytes);
	m->type = (enum wire_type)type;
	m->subtype = (enum wire_subtype)subtype;
	return k->get(m, &r, e);
}

bool
wire_source_is(const struct wire_msg *m, const uint8_t from[4])
{
	return memcmp(m->srcip, from, 4) == 0 || (from[0] & 0xf0) == 0xe0;
}

size_t
wire_put(const struct wire_msg *m, void *pkt, size_t cap)
{
	struct wr w = wr_to(pkt, cap);

	if (m->subtype == 0 || m->subtype == WIRE_PROGRESS)
		return 0;
	wr_le32(&w, m->type);
	wr_le32(&w, m->subtype);
	wr_le32(&w, kinds[m->subtype].body_bytes);
	wr_bytes(&w, m->srcip, sizeof m->srcip);
	kinds[m->subtype].put(m, &w);
	return wr_ok(&w) ? wr_len(&w) : 0;
}

void
wire_put_block_header(uint8_t hdr[WIRE_BLOCK_HEADER_BYTES], const uint8_t srcip[4],
    uint32_t chunk, uint32_t block)
{
	struct wr w = wr_to(hdr, WIRE_BLOCK_HEADER_BYTES);

	wr_le32(&w, WIRE_REQUEST);
	wr_le32(&w, WIRE_BLOCK);
	wr_le32(&w, kinds[WIRE_BLOCK].body_bytes);
	wr_bytes(&w, srcip, 4);
	wr_le32(&w, chunk);
	wr_le32(&w, block);
}
