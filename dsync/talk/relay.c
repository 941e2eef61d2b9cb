/* relay.c: passes bytes between a connection and two descriptors, in both directions at once.
 * The client's call.c and the server's session.c call relay(), in the thread of the connection. */
#include "dsync/talk/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"

enum { WAKE_MS = 200, TURN_MESSAGES = 8 /* in one direction, before the other has a turn */ };

struct relay {
	const struct relay_config *c;
	int in, out;       /* -1: it has ended */
	bool end_queued;   /* END is sent, or about to be */
	const uint8_t *at; /* what is left to be written to `out` of the message that arrived */
	size_t left;
	bool more; /* a direction has ended its turn before it had to wait */
};

enum { GO_ON = 0, ENDED = 1 };

static int
do_not_block(int fd, struct err *e)
{
	int flags = fd >= 0 ? fcntl(fd, F_GETFL) : O_NONBLOCK;

	if (flags < 0 || ((flags & O_NONBLOCK) == 0 &&
	                     fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0))
		return err_os(e, "a pipe");
	return 0;
}

/* Nothing is written to `out` any more. */
static void
end_out(struct relay *r)
{
	r->out = -1;
	r->left = 0;
	if (r->c->out_ended != NULL)
		r->c->out_ended(r->c->arg);
}

/* Write what is left of the message.  Returns GO_ON, with r->left 0 if all was written, or -1. */
static int
write_out(struct relay *r, struct err *e)
{
	while (r->left > 0 && r->out >= 0) {
		ssize_t n = write(r->out, r->at, r->left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return GO_ON;
		if (n < 0 && (errno != EPIPE || r->c->client))
			return err_os(e, "a pipe");
		if (n < 0) {
			end_out(r);
			return GO_ON;
		}
		r->at += n;
		r->left -= (size_t)n;
	}
	r->left = 0;
	return GO_ON;
}

/* Take the server's result.  Returns ENDED, or -1 with the server's sentence. */
static int
take_result(struct rd payload, struct err *e)
{
	uint8_t failed = rd_u8(&payload);
	int n = (int)rd_left(&payload);
	const char *text = rd_bytes(&payload, (size_t)n);

	if (!rd_ok(&payload))
		return err_set(e, ERR_FORMAT, "the connection: a result is damaged");
	if (failed == 0)
		return ENDED;
	return err_set(e, ERR_IO, "%.*s", n < 480 ? n : 480, text);
}

static int
take_message(struct relay *r, const struct frame *f, struct err *e)
{
	if (f->kind == TALK_DATA && r->out >= 0) {
		r->at = f->payload.base;
		r->left = rd_left(&f->payload);
		return GO_ON;
	}
	if (f->kind == TALK_END && r->out >= 0)
		end_out(r);
	if (f->kind == TALK_DATA || f->kind == TALK_END)
		return GO_ON;
	if (f->kind == TALK_RESULT && r->c->client)
		return take_result(f->payload, e);
	return err_set(e, ERR_FORMAT, "the connection: a message is not known");
}

/* From the connection to `out`. */
static int
bring(struct relay *r, struct err *e)
{
	struct frame f;

	for (unsigned i = 0; i < TURN_MESSAGES; i++) {
		if (write_out(r, e) != 0)
			return -1;
		if (r->left > 0)
			return GO_ON;
		int rc = talk_receive(r->c->talk, &f, e);
		if (rc <= 0)
			return rc;
		rc = take_message(r, &f, e);
		if (rc != GO_ON)
			return rc;
	}
	r->more = true;
	return GO_ON;
}

/* Read a message's worth from `in` and queue it.  *waits: nothing can be read now. */
static int
read_in(struct relay *r, bool *waits, struct err *e)
{
	uint8_t bytes[TALK_PAYLOAD_BYTES];
	ssize_t n = r->in >= 0 ? read(r->in, bytes, sizeof bytes) : 0;

	*waits = n < 0 && (errno == EAGAIN || errno == EINTR);
	if (*waits)
		return 0;
	if (n < 0)
		return err_os(e, "a pipe");
	if (n > 0) {
		talk_queue(r->c->talk, TALK_DATA, bytes, (size_t)n);
	} else {
		talk_queue(r->c->talk, TALK_END, NULL, 0);
		r->end_queued = true;
		r->in = -1;
	}
	return 0;
}

/* From `in` to the connection. */
static int
send_on(struct relay *r, struct err *e)
{
	bool waits = false;

	for (unsigned i = 0; i < TURN_MESSAGES; i++) {
		if (talk_flush(r->c->talk, e) != 0)
			return -1;
		if (!talk_is_sent(r->c->talk))
			return GO_ON;
		if (r->end_queued)
			return r->c->client ? GO_ON : ENDED;
		if (read_in(r, &waits, e) != 0)
			return -1;
		if (waits)
			return GO_ON;
	}
	r->more = true;
	return GO_ON;
}

/* Wait until one of the directions can go on. */
static int
await(struct relay *r, struct err *e)
{
	bool sent = talk_is_sent(r->c->talk);
	short socket = (short)((r->left == 0 ? POLLIN : 0) | (sent ? 0 : POLLOUT));
	struct pollfd p[] = {
		{ .fd = socket != 0 ? talk_fd(r->c->talk) : -1, .events = socket },
		{ .fd = sent ? r->in : -1, .events = POLLIN },
		{ .fd = r->left > 0 ? r->out : -1, .events = POLLOUT },
	};

	if (cancel_check(e) != 0)
		return -1;
	if (poll(p, sizeof p / sizeof *p, r->more ? 0 : WAKE_MS) < 0 && errno != EINTR)
		return err_os(e, "waiting");
	r->more = false;
	return 0;
}

int
relay(const struct relay_config *c, struct err *e)
{
	struct relay r = { .c = c, .in = c->in, .out = c->out, .more = true };
	int rc = do_not_block(c->in, e);

	if (rc == 0)
		rc = do_not_block(c->out, e);
	while (rc == GO_ON) {
		rc = await(&r, e);
		if (rc == GO_ON)
			rc = bring(&r, e);
		if (rc == GO_ON)
			rc = send_on(&r, e);
	}
	return rc == ENDED ? 0 : -1;
}
