/* call.c: one request to `dsync serve`, with what goes to dmmerge there and comes from it.  The
 * client's dsync/pair/far.c begins calls in its first thread; each has a thread of its own. */
#include "dsync/talk/call.h"

#include "dsync/talk/dial.h"
#include "dsync/talk/relay.h"

enum { REQUEST_US = 20000000 }; /* TCP sends it again several times within that */

static int
ask(const struct call *c, struct talk *t, int in, int out, struct err *e)
{
	uint8_t bytes[REQUEST_BYTES_MAX];
	struct wr w = wr_to(bytes, sizeof bytes);
	const struct relay_config r = { .talk = t, .in = in, .out = out, .client = true };

	request_put(&w, &c->request);
	if (talk_say(t, TALK_REQUEST, bytes, wr_len(&w), REQUEST_US, e) != 0)
		return -1;
	return relay(&r, e);
}

/* The thread of a call. */
static int
run(void *arg, int in, int out, struct err *e)
{
	const struct call *c = arg;
	struct talk *t = NULL;
	struct tls *key;

	if (tls_new(&key, c->keyfile, TALK_IDENTITY, e) != 0)
		return -1; /* the sentence names the file of the key */
	int rc = dial(&t, c->host, c->port, key, e);
	if (rc == 0)
		rc = ask(c, t, in, out, e);
	talk_free(t);
	tls_free(key);
	return rc == 0 ? 0 : err_ctx(e, "tls://%s", c->host);
}

int
call_start(struct command **out, struct call *c, unsigned pipes, struct err *e)
{
	return command_start_function(out, run, c, pipes, e);
}
