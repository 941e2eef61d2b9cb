/* peer.c: splits the bytes of one connection into frames, and collects frames to send
 * (peer.h).  The parts of node and server call it, in the engine's thread. */
#include "dolly/engine/peer.h"

struct peer *
peer_new(enum peer_kind kind, const uint8_t address[4])
{
	struct peer *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->kind = kind;
	p->open = true;
	memcpy(p->address, address, sizeof p->address);
	return p;
}

void
peer_free(struct peer *p)
{
	if (p == NULL)
		return;
	buf_free(&p->in);
	buf_free(&p->out);
	free(p);
}

/* The longest body that a peer of this kind may send; a longer one is an error.  Of a parent's
 * DATA, what is in front of the piece. */
static size_t
longest(const struct peer *p)
{
	if (p->kind == PEER_NEW)
		return MSG_FIRST_MAX;
	return p->kind == PEER_PARENT ? MSG_DATA_BYTES : MSG_CONTROL_MAX;
}

static size_t
unparsed(const struct peer *p)
{
	return p->in.len - p->in_at;
}

int
peer_put(struct peer *p, const void *bytes, size_t n, struct err *e)
{
	if (n == 0)
		return 0;
	if (p->in_at > 0)
		memmove(p->in.base, p->in.base + p->in_at, p->in.len - p->in_at);
	p->in.len -= p->in_at;
	p->in_at = 0;
	buf_bytes(&p->in, bytes, n);
	return buf_ok(&p->in) ? 0 : err_nomem(e, "a message");
}

bool
peer_full(const struct peer *p)
{
	return unparsed(p) >= MSG_FRAME_BYTES + longest(p);
}

size_t
peer_room(const struct peer *p)
{
	if (p->kind != PEER_PARENT)
		return SIZE_MAX;
	return p->piece_left > 0 ? p->piece_left
	                         : MSG_FRAME_BYTES + MSG_DATA_BYTES - unparsed(p);
}

/* A parent sends DATA alone, of which the fields are parsed before the piece is there. */
static int
begin_piece(struct peer *p, uint8_t type, uint32_t *body, struct err *e)
{
	if (type != MSG_DATA)
		return err_set(
		    e, ERR_FORMAT, "a parent sent a message that is not data");
	if (*body <= MSG_DATA_BYTES || *body > MSG_BODY_MAX)
		return err_set(e, ERR_FORMAT, "a piece of a chunk is %u bytes of a message",
		    *body);
	p->piece_left = *body - MSG_DATA_BYTES;
	*body = MSG_DATA_BYTES;
	return 0;
}

uint32_t
peer_piece(struct peer *p, const void **at)
{
	size_t n = unparsed(p) < p->piece_left ? unparsed(p) : p->piece_left;

	*at = p->in.base + p->in_at;
	p->in_at += n;
	p->piece_left -= (uint32_t)n;
	return (uint32_t)n;
}

uint32_t
peer_direct(struct peer *p, size_t n)
{
	uint32_t direct = unparsed(p) > 0         ? 0
	                  : n < p->piece_left ? (uint32_t)n
	                                      : p->piece_left;

	p->piece_left -= direct;
	return direct;
}

int
peer_next(struct peer *p, struct msg *m, struct err *e)
{
	struct rd r = rd_from(p->in.base, p->in.len);

	rd_skip(&r, p->in_at);
	uint32_t n = rd_le32(&r);
	uint8_t type = rd_u8(&r);
	if (!rd_ok(&r) || p->piece_left > 0)
		return 0;
	if (p->kind == PEER_PARENT) {
		if (rd_left(&r) < MSG_DATA_BYTES)
			return 0;
		if (begin_piece(p, type, &n, e) != 0)
			return -1;
	} else if (n > longest(p))
		return err_set(e, ERR_FORMAT, "a message of %u bytes is too long", n);
	if (n > rd_left(&r))
		return 0;
	p->in_at += MSG_FRAME_BYTES + n;
	if (msg_read(m, type, rd_sub(&r, n), e) != 0)
		return -1;
	m->piece_bytes = p->piece_left;
	return 1;
}

void
peer_say(struct peer *p, const struct msg *m)
{
	msg_write(&p->out, m);
}

size_t
peer_output(struct peer *p, struct spread *s, const void **at)
{
	bool mid = p->child != NULL && spread_in_frame(p->child);

	if (!mid && buf_ok(&p->out) && p->out_at < p->out.len) {
		*at = p->out.base + p->out_at;
		return p->out.len - p->out_at;
	}
	return p->child != NULL ? spread_output(s, p->child, at) : 0;
}

void
peer_sent(struct peer *p, struct spread *s, size_t n)
{
	if (p->out_at < p->out.len &&
	    (p->child == NULL || !spread_in_frame(p->child))) {
		p->out_at += n;
		if (p->out_at == p->out.len)
			p->out.len = p->out_at = 0;
		return;
	}
	spread_sent(s, p->child, n);
}
