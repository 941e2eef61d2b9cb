/* wirext.c: reads and writes the packets of the extension.  The engines and their
 * shells call this, in any thread; nothing is kept. */
#include "common/wire/wirext.h"

#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

static const uint8_t magic[4] = { 'F', 'B', 'X', '1' };
static const uint8_t cookie_magic[4] = { 'F', 'B', 'X', 'C' },
		     whole_magic[4] = { 'F', 'B', 'X', 'W' },
		     failed_magic[4] = { 'F', 'B', 'X', 'F' };

enum { TOLD_BYTES = 8 }; /* of a struct wirext_told on the wire */

/* --- behind a JOIN or LEAVE2 --- */

/* Let r read what follows the magic `want` behind the body, whose length the header claims.
 * False: the magic is not there. */
static bool
tail_behind(const uint8_t want[4], const void *pkt, size_t len, struct rd *r)
{
	uint8_t m[4];

	*r = rd_from(pkt, len);
	rd_skip(r, 8);
	uint32_t body = rd_le32(r);
	rd_skip(r, 4);
	rd_skip(r, body);
	rd_copy(r, m, sizeof m);
	return rd_ok(r) && memcmp(m, want, sizeof m) == 0;
}

static bool
tail_of(const void *pkt, size_t len, struct rd *r)
{
	return tail_behind(magic, pkt, len, r);
}

size_t
wirext_put_outcome(void *pkt, size_t len, size_t cap, bool whole)
{
	struct wr w = wr_to((uint8_t *)pkt + len, cap - len);

	wr_bytes(&w, whole ? whole_magic : failed_magic, sizeof whole_magic);
	return wr_ok(&w) ? len + wr_len(&w) : 0;
}

bool
wirext_get_outcome(const void *pkt, size_t len, bool *whole)
{
	struct rd r;

	*whole = tail_behind(whole_magic, pkt, len, &r);
	return *whole || tail_behind(failed_magic, pkt, len, &r);
}

size_t
wirext_put_cookie(void *pkt, size_t len, size_t cap, uint64_t cookie)
{
	struct wr w = wr_to((uint8_t *)pkt + len, cap - len);

	wr_bytes(&w, cookie_magic, sizeof cookie_magic);
	wr_le64(&w, cookie);
	return wr_ok(&w) ? len + wr_len(&w) : 0;
}

bool
wirext_get_cookie(const void *pkt, size_t len, uint64_t *cookie)
{
	struct rd r;

	if (!tail_behind(cookie_magic, pkt, len, &r))
		return false;
	*cookie = rd_le64(&r);
	return rd_ok(&r);
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
get_nack(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.nack.clientid = rd_le32(r);
	uint32_t n = m->u.nack.n = rd_le32(r);
	if (n == 0 || n > WIREXT_NACKS)
		return err_set(e, ERR_FORMAT, "%u chunks in one report of losses", n);
	for (uint32_t i = 0; i < n; i++) {
		struct wirext_nack *k = &m->u.nack.at[i];
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
put_nack(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.nack.clientid);
	wr_le32(w, m->u.nack.n);
	for (uint32_t i = 0; i < m->u.nack.n && i < WIREXT_NACKS; i++) {
		wr_le32(w, m->u.nack.at[i].chunk);
		wr_bytes(w, m->u.nack.at[i].lack, WIREXT_GROUPS);
	}
}

static int
get_parity(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.parity.chunk = rd_le32(r);
	m->u.parity.group = rd_u8(r);
	m->u.parity.index = rd_u8(r);
	m->u.parity.content = rd_le16(r);
	m->u.parity.data = rd_bytes(r, WIRE_BLOCK_BYTES);
	if (m->u.parity.content > WIRE_CHUNK_BLOCKS)
		return err_set(e, ERR_FORMAT, "a chunk of %u blocks is impossible",
		    m->u.parity.content);
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
	wr_le16(w, (uint16_t)m->u.parity.content);
	if (m->u.parity.data != NULL)
		wr_bytes(w, m->u.parity.data, WIRE_BLOCK_BYTES);
}

static int
get_credit(struct wirext_msg *m, struct rd *r, struct err *e)
{
	(void)e;
	m->u.credit.clientid = rd_le32(r);
	m->u.credit.blocks = rd_le32(r);
	return 0;
}

static void
put_credit(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.credit.clientid);
	wr_le32(w, m->u.credit.blocks);
}

static int
get_credit_at(struct wirext_msg *m, struct rd *r, struct err *e)
{
	get_credit(m, r, e);
	m->u.credit.chunk = rd_le32(r);
	m->u.credit.block = rd_le16(r);
	m->u.credit.since = rd_le16(r);
	if (m->u.credit.block >= WIRE_CHUNK_BLOCKS)
		return err_set(e, ERR_FORMAT, "block %u of a chunk", m->u.credit.block);
	return 0;
}

static void
put_credit_at(const struct wirext_msg *m, struct wr *w)
{
	put_credit(m, w);
	wr_le32(w, m->u.credit.chunk);
	wr_le16(w, (uint16_t)m->u.credit.block);
	wr_le16(w, (uint16_t)m->u.credit.since);
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
get_congestion(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.congestion.clientid = rd_le32(r);
	m->u.congestion.epoch = rd_le32(r);
	m->u.congestion.lost = rd_le32(r);
	m->u.congestion.of = rd_le32(r);
	uint32_t flags = rd_le32(r);
	m->u.congestion.queue = (flags & WIREXT_QUEUE) != 0;
	m->u.congestion.step = (flags & WIREXT_STEP) != 0;
	if (m->u.congestion.lost > m->u.congestion.of)
		return err_set(e, ERR_FORMAT, "%u blocks lost of %u", m->u.congestion.lost,
		    m->u.congestion.of);
	return 0;
}

static void
put_congestion(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.congestion.clientid);
	wr_le32(w, m->u.congestion.epoch);
	wr_le32(w, m->u.congestion.lost);
	wr_le32(w, m->u.congestion.of);
	wr_le32(w, (m->u.congestion.queue ? WIREXT_QUEUE : 0) |
	            (m->u.congestion.step ? WIREXT_STEP : 0));
}

static int
get_hears(struct wirext_msg *m, struct rd *r, struct err *e)
{
	(void)e;
	m->u.hears.clientid = rd_le32(r);
	m->u.hears.epoch = rd_le32(r);
	return 0;
}

static void
put_hears(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.hears.clientid);
	wr_le32(w, m->u.hears.epoch);
}

/* The first block and the number of blocks share 16 bits. */
static int
get_data(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.data.chunk = rd_le32(r);
	uint32_t where = rd_le16(r);
	uint32_t first = m->u.data.first = where % WIRE_CHUNK_BLOCKS;
	uint32_t count = m->u.data.count = where / WIRE_CHUNK_BLOCKS + 1;
	uint32_t content = m->u.data.content = rd_le16(r);
	if (count > WIREXT_DATA_BLOCKS || content > WIRE_CHUNK_BLOCKS ||
	    first + count > content)
		return err_set(e, ERR_FORMAT,
		    "%u blocks from block %u of a chunk of %u are impossible", count,
		    first, content);
	m->u.data.data = rd_bytes(r, (size_t)count * WIRE_BLOCK_BYTES);
	return 0;
}

static void
put_data(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.data.chunk);
	wr_le16(
	    w, (uint16_t)(m->u.data.first + (m->u.data.count - 1) * WIRE_CHUNK_BLOCKS));
	wr_le16(w, (uint16_t)m->u.data.content);
	if (m->u.data.data != NULL)
		wr_bytes(w, m->u.data.data, (size_t)m->u.data.count * WIRE_BLOCK_BYTES);
}

static bool
is_pack_size(uint32_t blocks)
{
	return blocks > 0 && blocks <= WIREXT_DATA_BLOCKS;
}

/* The bytes of zeros behind the ids of the clients. */
static size_t
mtu_probe_padding(uint32_t blocks, uint32_t n)
{
	return (size_t)blocks * WIRE_BLOCK_BYTES - n * sizeof(uint32_t);
}

static int
get_mtu_probe(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.mtu_probe.number = rd_le32(r);
	uint32_t blocks = m->u.mtu_probe.blocks = rd_le16(r);
	uint32_t n = m->u.mtu_probe.n = rd_le16(r);
	if (!is_pack_size(blocks) || n > WIREXT_MTU_PROBE_IDS)
		return err_set(e, ERR_FORMAT,
		    "an MTU_PROBE of %u blocks for %u clients is impossible", blocks, n);
	for (uint32_t i = 0; i < n; i++)
		m->u.mtu_probe.id[i] = rd_le32(r);
	rd_skip(r, mtu_probe_padding(blocks, n));
	return 0;
}

static void
put_mtu_probe(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.mtu_probe.number);
	wr_le16(w, (uint16_t)m->u.mtu_probe.blocks);
	wr_le16(w, (uint16_t)m->u.mtu_probe.n);
	for (uint32_t i = 0; i < m->u.mtu_probe.n && i < WIREXT_MTU_PROBE_IDS; i++)
		wr_le32(w, m->u.mtu_probe.id[i]);
	wr_zero(w, mtu_probe_padding(m->u.mtu_probe.blocks, m->u.mtu_probe.n));
}

static int
get_mtu_ack(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.mtu_ack.clientid = rd_le32(r);
	m->u.mtu_ack.number = rd_le32(r);
	m->u.mtu_ack.blocks = rd_le32(r);
	if (!is_pack_size(m->u.mtu_ack.blocks))
		return err_set(
		    e, ERR_FORMAT, "%u blocks in a packet", m->u.mtu_ack.blocks);
	return 0;
}

static void
put_mtu_ack(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.mtu_ack.clientid);
	wr_le32(w, m->u.mtu_ack.number);
	wr_le32(w, m->u.mtu_ack.blocks);
}

static int
get_urgent(struct wirext_msg *m, struct rd *r, struct err *e)
{
	m->u.urgent.clientid = rd_le32(r);
	uint32_t n = m->u.urgent.n = rd_le32(r);
	if (n == 0 || n > WIREXT_URGENT_RUNS)
		return err_set(e, ERR_FORMAT, "%u runs of blocks in one URGENT", n);
	for (uint32_t i = 0; i < n; i++) {
		struct wirext_run *run = &m->u.urgent.at[i];
		run->chunk = rd_le32(r);
		run->first = rd_le16(r);
		run->count = rd_le16(r);
		if (rd_ok(r) && (run->count == 0 || run->first >= WIRE_CHUNK_BLOCKS ||
				    run->count > WIRE_CHUNK_BLOCKS - run->first))
			return err_set(e, ERR_FORMAT,
			    "%u blocks from block %u of a chunk are impossible", run->count,
			    run->first);
	}
	return 0;
}

static void
put_urgent(const struct wirext_msg *m, struct wr *w)
{
	wr_le32(w, m->u.urgent.clientid);
	wr_le32(w, m->u.urgent.n);
	for (uint32_t i = 0; i < m->u.urgent.n && i < WIREXT_URGENT_RUNS; i++) {
		wr_le32(w, m->u.urgent.at[i].chunk);
		wr_le16(w, m->u.urgent.at[i].first);
		wr_le16(w, m->u.urgent.at[i].count);
	}
}

static const struct kind {
	int (*get)(struct wirext_msg *, struct rd *, struct err *);
	void (*put)(const struct wirext_msg *, struct wr *);
} kinds[] = {
	[WIREXT_STATE] = { get_state, put_state },
	[WIREXT_WANT] = { get_want, put_want },
	[WIREXT_NACK] = { get_nack, put_nack },
	[WIREXT_PARITY] = { get_parity, put_parity },
	[WIREXT_CREDIT] = { get_credit, put_credit },
	[WIREXT_TIME] = { get_time, put_time },
	[WIREXT_CONGESTION] = { get_congestion, put_congestion },
	[WIREXT_CREDIT_AT] = { get_credit_at, put_credit_at },
	[WIREXT_DATA] = { get_data, put_data },
	[WIREXT_MTU_PROBE] = { get_mtu_probe, put_mtu_probe },
	[WIREXT_MTU_ACK] = { get_mtu_ack, put_mtu_ack },
	[WIREXT_URGENT] = { get_urgent, put_urgent },
	[WIREXT_URGENT_DATA] = { get_data, put_data },
	[WIREXT_HEARS] = { get_hears, put_hears },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

bool
wirext_is(const void *pkt, size_t len)
{
	return len >= sizeof magic && memcmp(pkt, magic, sizeof magic) == 0;
}

static bool
tells(enum wirext_kind kind)
{
	return kind == WIREXT_WANT || kind == WIREXT_NACK || kind == WIREXT_CREDIT ||
	       kind == WIREXT_CREDIT_AT;
}

/* Read how far the client is.  Older clients do not send it. */
static void
get_told(struct wirext_msg *m, struct rd *r)
{
	if (!tells(m->kind) || !rd_ok(r) || rd_left(r) < TOLD_BYTES)
		return;
	m->told.is = true;
	m->told.chunks = rd_le32(r);
	m->told.doing = rd_u8(r);
	rd_skip(r, TOLD_BYTES - 5);
}

int
wirext_get(struct wirext_msg *m, const void *pkt, size_t len, struct err *e)
{
	struct rd r = rd_from(pkt, len);

	memset(m, 0, offsetof(struct wirext_msg, u));
	if (!wirext_is(pkt, len) || len > WIREXT_PACKET_MAX)
		return err_set(
		    e, ERR_FORMAT, "packet of %zu bytes is not of the extension", len);
	rd_skip(&r, sizeof magic);
	unsigned kind = rd_u8(&r);
	rd_skip(&r, 3);
	rd_copy(&r, m->srcip, sizeof m->srcip);
	m->session = rd_le32(&r);
	if (!rd_ok(&r))
		return err_set(e, ERR_FORMAT, "packet of %zu bytes has no header", len);
	if (kind >= KINDS || kinds[kind].get == NULL)
		return err_set(e, ERR_UNSUPPORTED, "extension packet of kind %u", kind);
	if (len > WIRE_PACKET_MAX && kind != WIREXT_DATA && kind != WIREXT_MTU_PROBE &&
	    kind != WIREXT_URGENT_DATA)
		return err_set(e, ERR_FORMAT,
		    "extension packet of kind %u, %zu bytes: too long", kind, len);
	m->kind = (enum wirext_kind)kind;
	memset(&m->u, 0, sizeof m->u.state);
	memset(&m->told, 0, sizeof m->told);
	if (kinds[kind].get(m, &r, e) != 0)
		return -1;
	get_told(m, &r);
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
	if (m->told.is && tells(m->kind)) {
		wr_le32(&w, m->told.chunks);
		wr_u8(&w, m->told.doing);
		wr_zero(&w, 3);
	}
	return wr_ok(&w) ? wr_len(&w) : 0;
}

void
wirext_put_parity_header(uint8_t hdr[WIREXT_PARITY_HEADER_BYTES],
    const uint8_t srcip[4], uint32_t session, uint32_t chunk, uint32_t group,
    uint32_t index, uint32_t content)
{
	struct wirext_msg m = { .kind = WIREXT_PARITY, .session = session };

	memcpy(m.srcip, srcip, 4);
	m.u.parity.chunk = chunk;
	m.u.parity.group = (uint8_t)group;
	m.u.parity.index = (uint8_t)index;
	m.u.parity.content = content;
	wirext_put(&m, hdr, WIREXT_PARITY_HEADER_BYTES);
}

void
wirext_put_data_header(uint8_t hdr[WIREXT_DATA_HEADER_BYTES], enum wirext_kind kind,
    const uint8_t srcip[4], uint32_t session, uint32_t chunk, uint32_t first,
    uint32_t count, uint32_t content)
{
	struct wirext_msg m = { .kind = kind, .session = session };

	memcpy(m.srcip, srcip, 4);
	m.u.data.chunk = chunk;
	m.u.data.first = first;
	m.u.data.count = count;
	m.u.data.content = content;
	wirext_put(&m, hdr, WIREXT_DATA_HEADER_BYTES);
}
