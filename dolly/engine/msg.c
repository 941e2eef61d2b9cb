/* msg.c: reads and writes the messages of the protocol.  The engines call this in
 * their only thread, and nothing else parses what comes from the network. */
#include "dolly/engine/msg.h"

#include <string.h>

#include "common/base/wr.h"

static const uint8_t magic[4] = { 'd', 'o', 'l', 'y' };

static void
read_text(struct msg *m, struct rd *r)
{
	size_t n = rd_u8(r);

	if (n > MSG_TEXT_MAX)
		r->failed = true;
	else
		rd_copy(r, m->text, n);
}

static void
read_magic(struct rd *r)
{
	const void *p = rd_bytes(r, sizeof magic);

	if (p != NULL && memcmp(p, magic, sizeof magic) != 0)
		r->failed = true;
}

static void
read_welcome(struct msg *m, struct rd *r)
{
	m->version_lo = rd_le16(r);
	m->id = rd_le32(r);
	rd_copy(r, m->key, MSG_KEY_BYTES);
	m->content = rd_u8(r);
	rd_copy(r, m->identity, MSG_IDENTITY_BYTES);
	m->chunks = rd_le32(r);
	m->bytes = rd_le64(r);
	m->deadline_ms = rd_le32(r);
	m->slow = rd_le64(r);
	if (m->chunks == 0 || m->chunks > MSG_CHUNKS_MAX || m->id == 0 ||
	    m->deadline_ms == 0 || m->content > MSG_RAW)
		r->failed = true;
}

static void
read_parent(struct msg *m, struct rd *r)
{
	m->id = rd_le32(r);
	rd_copy(r, m->address, sizeof m->address);
	m->port = rd_le16(r);
	rd_copy(r, m->key, MSG_KEY_BYTES);
}

static void
read_ranges(struct msg *m, struct rd *r)
{
	m->nranges = rd_le16(r);
	if (m->nranges > MSG_RANGES_MAX)
		r->failed = true;
	for (unsigned i = 0; rd_ok(r) && i < m->nranges; i++) {
		struct msg_range *g = &m->ranges[i];
		*g = (struct msg_range){ rd_le32(r), rd_le32(r) };
		if (g->first > MSG_CHUNKS_MAX || g->count > MSG_CHUNKS_MAX)
			r->failed = true;
	}
}

static void
read_links(struct msg *m, struct rd *r)
{
	m->nlinks = rd_u8(r);
	if (m->nlinks > MSG_LINKS_MAX)
		r->failed = true;
	for (unsigned i = 0; rd_ok(r) && i < m->nlinks; i++) {
		struct msg_link *l = &m->links[i];
		uint8_t up;
		l->id = rd_le32(r);
		up = rd_u8(r);
		l->up = up != 0;
		l->bytes = rd_le64(r);
		l->waited_ms = rd_le32(r);
		l->wanted = rd_le32(r);
		l->damaged = rd_le32(r);
		if (up > 1)
			r->failed = true;
	}
}

static void
read_digests(struct msg *m, struct rd *r)
{
	m->chunk = rd_le32(r);
	m->ndigests = rd_u8(r);
	if (m->ndigests == 0 || m->ndigests > MSG_DIGESTS_MAX || m->chunk > MSG_CHUNKS_MAX)
		r->failed = true;
	for (unsigned i = 0; rd_ok(r) && i < m->ndigests; i++)
		rd_copy(r, m->digests[i], MSG_DIGEST_BYTES);
}

static void
read_data(struct msg *m, struct rd *r)
{
	m->chunk = rd_le32(r);
	m->offset = rd_le32(r);
	m->length = rd_le32(r);
}

static void
read_body(struct msg *m, struct rd *r)
{
	switch (m->type) {
	case MSG_JOIN:
		read_magic(r);
		m->version_lo = rd_le16(r);
		m->version_hi = rd_le16(r);
		m->port = rd_le16(r);
		read_text(m, r);
		break;
	case MSG_WELCOME:
		read_welcome(m, r);
		break;
	case MSG_PARENT:
		read_parent(m, r);
		break;
	case MSG_PROGRESS:
		m->have = rd_le32(r);
		m->stuck = rd_le32(r);
		m->waits = rd_le32(r);
		break;
	case MSG_LOST:
		m->id = rd_le32(r);
		read_text(m, r);
		break;
	case MSG_REFUSE:
	case MSG_FAILED:
		read_text(m, r);
		break;
	case MSG_REPORT:
		read_links(m, r);
		break;
	case MSG_DROP:
	case MSG_LEAF:
		m->id = rd_le32(r);
		break;
	case MSG_HELLO:
		read_magic(r);
		m->id = rd_le32(r);
		rd_copy(r, m->key, MSG_KEY_BYTES);
		break;
	case MSG_WANT:
		read_ranges(m, r);
		break;
	case MSG_DATA:
		read_data(m, r);
		break;
	case MSG_DIGESTS:
		read_digests(m, r);
		break;
	case MSG_END:
	case MSG_WHOLE:
		break;
	default:
		r->failed = true;
	}
}

int
msg_read(struct msg *m, uint8_t type, struct rd body, struct err *e)
{
	memset(m, 0, offsetof(struct msg, ranges));
	memset(m->text, 0, sizeof m->text);
	m->type = type;
	read_body(m, &body);
	if (!rd_done(&body))
		return err_set(e, ERR_FORMAT,
		    "a message of type %u and %zu bytes is invalid", type, body.len);
	return 0;
}

static void
write_text(struct buf *b, const struct msg *m)
{
	size_t n = strnlen(m->text, MSG_TEXT_MAX);

	buf_bytes(b, &(uint8_t){ (uint8_t)n }, 1);
	buf_bytes(b, m->text, n);
}

static void
write_welcome(struct buf *b, const struct msg *m)
{
	buf_le16(b, m->version_lo);
	buf_le32(b, m->id);
	buf_bytes(b, m->key, MSG_KEY_BYTES);
	buf_bytes(b, &m->content, 1);
	buf_bytes(b, m->identity, MSG_IDENTITY_BYTES);
	buf_le32(b, m->chunks);
	buf_le64(b, m->bytes);
	buf_le32(b, m->deadline_ms);
	buf_le64(b, m->slow);
}

static void
write_links(struct buf *b, const struct msg *m)
{
	buf_bytes(b, &(uint8_t){ (uint8_t)m->nlinks }, 1);
	for (unsigned i = 0; i < m->nlinks; i++) {
		const struct msg_link *l = &m->links[i];
		buf_le32(b, l->id);
		buf_bytes(b, &(uint8_t){ l->up }, 1);
		buf_le64(b, l->bytes);
		buf_le32(b, l->waited_ms);
		buf_le32(b, l->wanted);
		buf_le32(b, l->damaged);
	}
}

static void
write_body(struct buf *b, const struct msg *m)
{
	switch (m->type) {
	case MSG_JOIN:
		buf_bytes(b, magic, sizeof magic);
		buf_le16(b, m->version_lo);
		buf_le16(b, m->version_hi);
		buf_le16(b, m->port);
		write_text(b, m);
		break;
	case MSG_WELCOME:
		write_welcome(b, m);
		break;
	case MSG_PARENT:
		buf_le32(b, m->id);
		buf_bytes(b, m->address, sizeof m->address);
		buf_le16(b, m->port);
		buf_bytes(b, m->key, MSG_KEY_BYTES);
		break;
	case MSG_PROGRESS:
		buf_le32(b, m->have);
		buf_le32(b, m->stuck);
		buf_le32(b, m->waits);
		break;
	case MSG_LOST:
		buf_le32(b, m->id);
		write_text(b, m);
		break;
	case MSG_REFUSE:
	case MSG_FAILED:
		write_text(b, m);
		break;
	case MSG_REPORT:
		write_links(b, m);
		break;
	case MSG_DROP:
	case MSG_LEAF:
		buf_le32(b, m->id);
		break;
	case MSG_HELLO:
		buf_bytes(b, magic, sizeof magic);
		buf_le32(b, m->id);
		buf_bytes(b, m->key, MSG_KEY_BYTES);
		break;
	case MSG_WANT:
		buf_le16(b, (uint16_t)m->nranges);
		for (unsigned i = 0; i < m->nranges; i++) {
			buf_le32(b, m->ranges[i].first);
			buf_le32(b, m->ranges[i].count);
		}
		break;
	case MSG_DIGESTS:
		buf_le32(b, m->chunk);
		buf_bytes(b, &(uint8_t){ (uint8_t)m->ndigests }, 1);
		buf_bytes(b, m->digests, (size_t)m->ndigests * MSG_DIGEST_BYTES);
		break;
	case MSG_END:
	case MSG_WHOLE:
	case MSG_DATA: /* DATA is written by msg_data_header() */
		break;
	}
}

void
msg_write(struct buf *b, const struct msg *m)
{
	size_t at = b->len;

	buf_le32(b, 0);
	buf_bytes(b, &(uint8_t){ (uint8_t)m->type }, 1);
	write_body(b, m);
	if (!buf_ok(b))
		return;
	struct wr w = wr_to(b->base + at, 4);
	wr_le32(&w, (uint32_t)(b->len - at - MSG_FRAME_BYTES));
}

void
msg_data_header(uint8_t to[MSG_FRAME_BYTES + MSG_DATA_BYTES], uint32_t chunk,
    uint32_t offset, uint32_t length, uint32_t piece_bytes)
{
	struct wr w = wr_to(to, MSG_FRAME_BYTES + MSG_DATA_BYTES);

	wr_le32(&w, MSG_DATA_BYTES + piece_bytes);
	wr_u8(&w, MSG_DATA);
	wr_le32(&w, chunk);
	wr_le32(&w, offset);
	wr_le32(&w, length);
}
