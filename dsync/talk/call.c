/* call.c: one request to `dsync serve`, with what goes to dmmerge there and comes from
 * it.  The client's dsync/pair/far.c begins calls in its first thread; each has a thread
 * of its own. */
#include "dsync/talk/call.h"

#include <errno.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/child.h"
#include "dsync/talk/dial.h"
#include "dsync/talk/relay.h"

enum { REQUEST_US = 20000000 }; /* TCP sends it again several times within that */

static int
ask(const struct call *c, struct talk *t, struct err *e)
{
	uint8_t bytes[REQUEST_BYTES_MAX];
	struct wr w = wr_to(bytes, sizeof bytes);
	const struct relay_config r = { .talk = t, .in = c->in, .out = c->out, .client = true };

	request_put(&w, &c->request);
	if (talk_say(t, TALK_REQUEST, bytes, wr_len(&w), REQUEST_US, e) != 0)
		return -1;
	return relay(&r, e);
}

static int
connect_and_ask(const struct call *c, struct err *e)
{
	struct talk *t = NULL;
	struct tls *key;

	if (tls_new(&key, c->keyfile, TALK_IDENTITY, e) != 0)
		return -1; /* the sentence names the file of the key */
	int rc = dial(&t, c->host, c->port, key, e);
	if (rc == 0)
		rc = ask(c, t, e);
	talk_free(t);
	tls_free(key);
	return rc == 0 ? 0 : err_ctx(e, "tls://%s", c->host);
}

static void
close_both(int *a, int *b)
{
	if (*a >= 0)
		close(*a);
	if (*b >= 0)
		close(*b);
	*a = *b = -1;
}

/* The thread of a call. */
static void *
run(void *arg)
{
	struct call *c = arg;

	c->rc = connect_and_ask(c, &c->why);
	close_both(&c->in, &c->out);
	return NULL;
}

int
call_start(struct call *c, unsigned pipes, struct err *e)
{
	c->to = c->from = c->in = c->out = -1;
	if (((pipes & CHILD_IN) == 0 || child_pipe(&c->in, &c->to, e) == 0) &&
	    ((pipes & CHILD_OUT) == 0 || child_pipe(&c->from, &c->out, e) == 0)) {
		errno = thread_start(&c->thread, run, c);
		if (errno == 0)
			return 0;
		err_os(e, "a thread");
	}
	close_both(&c->to, &c->from);
	close_both(&c->in, &c->out);
	return -1;
}

int
call_end(struct call *c, struct err *e)
{
	close_both(&c->to, &c->from);
	pthread_join(c->thread, NULL);
	if (c->rc != 0)
		*e = c->why;
	return c->rc;
}
