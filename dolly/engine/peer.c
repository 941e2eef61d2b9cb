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

/* The longest body that a peer of this kind may send; a longer one is an error. */
static size_t
longest(const struct peer *p)
{
	if (p->kind == PEER_NEW)
		return MSG_FIRST_MAX;
	return p->kind == PEER_PARENT ? MSG_BODY_MAX : MSG_CONTROL_MAX;
}

int
peer_put(struct peer *p, const void *bytes, size_t n, struct err *e)
{
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
	return p->in.len - p->in_at >= MSG_FRAME_BYTES + longest(p);
}

int
peer_next(struct peer *p, struct msg *m, struct err *e)
{
	struct rd r = rd_from(p->in.base, p->in.len);

	rd_skip(&r, p->in_at);
	uint32_t n = rd_le32(&r);
	uint8_t type = rd_u8(&r);
	if (!rd_ok(&r))
		return 0;
	if (n > longest(p))
		return err_set(e, ERR_FORMAT, "a message of %u bytes is too long", n);
	if (n > rd_left(&r))
		return 0;
	p->in_at += MSG_FRAME_BYTES + n;
	return msg_read(m, type, rd_sub(&r, n), e) == 0 ? 1 : -1;
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
