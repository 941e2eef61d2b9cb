#include "common/net/wirext.h"

#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

static const uint8_t magic[4] = { 'F', 'B', 'X', '1' };

/* --- behind a JOIN --- */

/* What follows the body that the header claims; false: not our magic. */
static bool
tail_of(const void *pkt, size_t len, struct rd *r)
{
	uint8_t m[4];

	*r = rd_from(pkt, len);
	rd_skip(r, 8);
	uint32_t body = rd_le32(r);
	rd_skip(r, 4);
	rd_skip(r, body);
	rd_copy(r, m, sizeof m);
	return rd_ok(r) && memcmp(m, magic, sizeof m) == 0;
}

size_t
wirext_put_offer(void *pkt, size_t len, size_t cap, uint32_t flags)
{
	struct wr w = wr_to((uint8_t *)pkt + len, cap - len);

	wr_bytes(&w, magic, sizeof magic);
	wr_le32(&w, flags);
	return wr_ok(&w) ? len + wr_len(&w) : 0;
}

bool
wirext_get_offer(const void *pkt, size_t len, uint32_t *flags)
{
	struct rd r;

	if (!tail_of(pkt, len, &r))
		return false;
	*flags = rd_le32(&r);
	return rd_ok(&r);
}

size_t
wirext_put_answer(void *pkt, size_t len, size_t cap, const struct wirext_answer *a)
{
	struct wr w = wr_to((uint8_t *)pkt + len, cap - len);

	wr_bytes(&w, magic, sizeof magic);
	wr_le16(&w, (uint16_t)a->flags);
	wr_le16(&w, a->port);
	wr_bytes(&w, a->identity, sizeof a->identity);
	wr_le32(&w, a->session);
	wr_le32(&w, a->clients);
	return wr_ok(&w) ? len + wr_len(&w) : 0;
}

bool
wirext_get_answer(const void *pkt, size_t len, struct wirext_answer *a)
{
	struct rd r;

	memset(a, 0, sizeof *a);
	if (!tail_of(pkt, len, &r))
		return false;
	a->flags = rd_le16(&r);
	a->port = rd_le16(&r);
	rd_copy(&r, a->identity, sizeof a->identity);
	a->session = rd_le32(&r);
	a->clients = rd_le32(&r);
	return rd_ok(&r) && a->port != 0 && a->session != 0;
}

/* --- on the second port --- */

static int
get_map(struct wirext_map *m, struct rd *r, struct err *e)
{
	m->first = rd_le32(r);
	m->count = rd_le32(r);
	if (m->count > WIREXT_MAP_CHUNKS || m->first > UINT32_MAX - m->count)
		return err_set(e, ERR_FORMAT,
		    "a map of %u chunks from chunk %u is impossible", m->count,
		    m->first);
	m->bits = rd_bytes(r, (m->count + 7) / 8);
	return 0;
}

static void
put_map(const struct wirext_map *m, struct wr *w)
{
	wr_le32(w, m->first);
	wr_le32(w, m->count);
	wr_bytes(w, m->bits, (m->count + 7) / 8);
}

static int
get_state(struct wirext_msg *m, struct rd *r, struct err *e)
{
	rd_copy(r, m->u.state.identity, WIREXT_IDENTITY_BYTES);
	m->u.state.flags = rd_le32(r);
	m->u.state.clients = rd_le32(r);
	m->u.state.chunks = rd_le32(r);
	return get_map(&m->u.state.coming, r, e);
}

static void
put_state(const struct wirext_msg *m, struct wr *w)
{
	wr_bytes(w, m->u.state.identity, WIREXT_IDENTITY_BYTES);
	wr_le32(w, m->u.state.flags);
	wr_le32(w, m->u.state.clients);
	wr_le32(w, m->u.state.chunks);
	put_map(&m->u.state.coming, w);
}

static int
get_want(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.want.clientid = rd_le32(r);
	return get_map(&m->u.want.map, r, e);
}

static void
put_want(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.want.clientid);
	put_map(&m->u.want.map, w);
}

static int
get_nak(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.nak.clientid = rd_le32(r);
	uint32_t n = m->u.nak.n = rd_le32(r);
	if (n == 0 || n > WIREXT_NAKS)
		return err_set(e, ERR_FORMAT, "%u chunks in one report of losses", n);
	for (uint32_t i = 0; i < n; i++) {
		struct wirext_nak *k = &m->u.nak.at[i];
		k->chunk = rd_le32(r);
		rd_copy(r, k->lack, sizeof k->lack);
		for (unsigned g = 0; g < WIREXT_GROUPS; g++)
			if (k->lack[g] > WIREXT_GROUP_BLOCKS)
				return err_set(e, ERR_FORMAT,
				    "%u blocks lacking in a group of 128", k->lack[g]);
	}
	return 0;
}

static void
put_nak(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.nak.clientid);
	wr_le32(w, m->u.nak.n);
	for (uint32_t i = 0; i < m->u.nak.n && i < WIREXT_NAKS; i++) {
		wr_le32(w, m->u.nak.at[i].chunk);
		wr_bytes(w, m->u.nak.at[i].lack, WIREXT_GROUPS);
	}
}

static int
get_parity(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.parity.chunk = rd_le32(r);
	m->u.parity.group = rd_u8(r);
	m->u.parity.index = rd_u8(r);
	rd_skip(r, 2);
	m->u.parity.data = rd_bytes(r, WIRE_BLOCK_BYTES);
	if (m->u.parity.group >= WIREXT_GROUPS ||
	    m->u.parity.index >= WIREXT_PARITY_MAX)
		return err_set(e, ERR_FORMAT, "parity %u of group %u is impossible",
		    m->u.parity.index, m->u.parity.group);
	return 0;
}

static void
put_parity(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.parity.chunk);
	wr_u8(w, m->u.parity.group);
	wr_u8(w, m->u.parity.index);
	wr_le16(w, 0);
	if (m->u.parity.data != NULL)
		wr_bytes(w, m->u.parity.data, WIRE_BLOCK_BYTES);
}

static int
get_go(struct wirext_msg *m, struct rd *r, struct err *e)
{
	(void)e;
	m->u.go.clientid = rd_le32(r);
	m->u.go.blocks = rd_le32(r);
	return 0;
}

static void
put_go(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.go.clientid);
	wr_le32(w, m->u.go.blocks);
}

static int
get_room(struct wirext_msg *m, struct rd *r, struct err *e)
{
	get_go(m, r, e);
	m->u.go.chunk = rd_le32(r);
	m->u.go.block = rd_le16(r);
	m->u.go.since = rd_le16(r);
	if (m->u.go.block >= WIRE_CHUNK_BLOCKS)
		return err_set(e, ERR_FORMAT, "block %u of a chunk", m->u.go.block);
	return 0;
}

static void
put_room(const struct wirext_msg *m, struct wr *w)
{
	put_go(m, w);
	wr_le32(w, m->u.go.chunk);
	wr_le16(w, (uint16_t)m->u.go.block);
	wr_le16(w, (uint16_t)m->u.go.since);
}

static int
get_time(struct wirext_msg *m, struct rd *r, struct err *e)
{
	(void)e;
	m->u.time.epoch = rd_le32(r);
	m->u.time.sent = rd_le64(r);
	m->u.time.time_us = rd_le64(r);
	return 0;
}

static void
put_time(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.time.epoch);
	wr_le64(w, m->u.time.sent);
	wr_le64(w, m->u.time.time_us);
}

static int
get_load(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.load.clientid = rd_le32(r);
	m->u.load.epoch = rd_le32(r);
	m->u.load.lost = rd_le32(r);
	m->u.load.of = rd_le32(r);
	m->u.load.queue = (rd_le32(r) & 1) != 0;
	if (m->u.load.lost > m->u.load.of)
		return err_set(e, ERR_FORMAT, "%u blocks lost of %u", m->u.load.lost,
		    m->u.load.of);
	return 0;
}

static void
put_load(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.load.clientid);
	wr_le32(w, m->u.load.epoch);
	wr_le32(w, m->u.load.lost);
	wr_le32(w, m->u.load.of);
	wr_le32(w, m->u.load.queue);
}

static const struct kind {
	int (*get)(struct wirext_msg *, struct rd *, struct err *);
	void (*put)(const struct wirext_msg *, struct wr *);
} kinds[] = {
	[WIREXT_STATE] = { get_state, put_state },
	[WIREXT_WANT] = { get_want, put_want },
	[WIREXT_NAK] = { get_nak, put_nak },
	[WIREXT_PARITY] = { get_parity, put_parity },
	[WIREXT_GO] = { get_go, put_go },
	[WIREXT_TIME] = { get_time, put_time },
	[WIREXT_LOAD] = { get_load, put_load },
	[WIREXT_ROOM] = { get_room, put_room },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

bool
wirext_is(const void *pkt, size_t len)
{
	return len >= sizeof magic && memcmp(pkt, magic, sizeof magic) == 0;
}

int
wirext_get(struct wirext_msg *m, const void *pkt, size_t len, struct err *e)
{
	struct rd r = rd_from(pkt, len);

	memset(m, 0, offsetof(struct wirext_msg, u));
	if (!wirext_is(pkt, len) || len > WIRE_PACKET_MAX)
		return err_set(
		    e, ERR_FORMAT, "packet of %zu bytes is not of the extension", len);
	rd_skip(&r, sizeof magic);
	unsigned kind = rd_u8(&r);
	rd_skip(&r, 3);
	rd_copy(&r, m->srcip, sizeof m->srcip);
	m->session = rd_le32(&r);
	if (!rd_ok(&r))
		return err_set(e, ERR_FORMAT, "packet of %zu bytes has no header", len);
	if (kind == 0 || kind >= KINDS)
		return err_set(e, ERR_UNSUPPORTED, "extension packet of kind %u", kind);
	m->kind = (enum wirext_kind)kind;
	memset(&m->u, 0, sizeof m->u.state);
	if (kinds[kind].get(m, &r, e) != 0)
		return -1;
	return rd_ok(&r) ? 0
	                 : err_set(e, ERR_FORMAT,
			       "extension packet of kind %u, %zu bytes: too short",
			       kind, len);
}

static void
put_header(
    struct wr *w, enum wirext_kind kind, const uint8_t srcip[4], uint32_t session)
{
	wr_bytes(w, magic, sizeof magic);
	wr_u8(w, (uint8_t)kind);
	wr_zero(w, 3);
	wr_bytes(w, srcip, 4);
	wr_le32(w, session);
}

size_t
wirext_put(const struct wirext_msg *m, void *pkt, size_t cap)
{
	struct wr w = wr_to(pkt, cap);

	put_header(&w, m->kind, m->srcip, m->session);
	kinds[m->kind].put(m, &w);
	return wr_ok(&w) ? wr_len(&w) : 0;
}

void
wirext_put_parity_header(uint8_t hdr[WIREXT_PARITY_HEADER_BYTES],
    const uint8_t srcip[4], uint32_t session, uint32_t chunk, uint32_t group,
    uint32_t index)
{
	struct wirext_msg m = { .kind = WIREXT_PARITY, .session = session };

	memcpy(m.srcip, srcip, 4);
	m.u.parity.chunk = chunk;
	m.u.parity.group = (uint8_t)group;
	m.u.parity.index = (uint8_t)index;
	wirext_put(&m, hdr, WIREXT_PARITY_HEADER_BYTES);
}
