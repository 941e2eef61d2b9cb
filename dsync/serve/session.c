/* session.c: one request of a client that has the key.  serve.c calls session(), in a thread for
 * each connection. */
#include "dsync/serve/session.h"

#include <stdio.h>
#include <string.h>

#include "common/base/child.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "dsync/talk/relay.h"
#include "dsync/talk/request.h"

/* REQUEST_US: a client sends its request at once, so it has as long as strangers have
 * (waiting.h).  RESULT_US: a client reads the result after it has sent the stream, which may
 * still be on its way, so it has as long as a connection may be silent (talk.c). */
enum { REQUEST_US = 10000000, RESULT_US = 60000000, HANG_UP_US = 10000000 };

static int
hear(const struct serve_config *c, struct talk *t, struct request *q, struct err *e)
{
	struct frame f;

	if (talk_hear(t, &f, REQUEST_US, e) != 0)
		return -1;
	if (f.kind != TALK_REQUEST)
		return err_set(e, ERR_FORMAT, "the first message is no request");
	if (request_get(q, &f.payload, e) != 0)
		return -1;
	for (int i = 0; i < c->ntargets; i++)
		if (strcmp(c->targets[i], q->target) == 0)
			return 0;
	return err_set(e, ERR_REFUSED, "%.400s: is not one of the targets of this server", q->target);
}

static void
end_input(void *arg)
{
	child_close_to(arg);
}

/* Let dmmerge do it. */
static int
work(const struct serve_config *c, struct talk *t, const struct request *q, struct err *e)
{
	struct request_line line;
	struct child *command;
	char state_dir[600];
	struct err why;

	snprintf(state_dir, sizeof state_dir, "--state-dir=%.550s", c->folder);
	request_line(&line, q, c->dmmerge, state_dir);
	if (child_start(&command, line.argv, CHILD_IN | CHILD_OUT, e) != 0)
		return -1;
	const struct relay_config r = { .talk = t, .in = child_from(command),
		.out = child_to(command), .out_ended = end_input, .arg = command };
	int rc = relay(&r, e);
	/* A merge that has all of its stream is not ended by a connection that is lost. */
	int ended = child_wait(command, &why);
	if (rc == 0 && ended != 0)
		*e = why, rc = -1;
	return rc;
}

static void
answer(struct talk *t, int rc, const struct err *why)
{
	uint8_t bytes[1 + sizeof why->text] = { rc != 0 };
	size_t n = rc != 0 ? strlen(why->text) : 0;
	struct err e;

	if (rc != 0)
		memcpy(bytes + 1, why->text, n);
	if (talk_is_sent(t) && talk_say(t, TALK_RESULT, bytes, 1 + n, RESULT_US, &e) == 0)
		talk_hang_up(t, HANG_UP_US);
}

void
session(const struct serve_config *c, struct talk *t, const char *from)
{
	static const char *const names[] = { "?", "status", "recover", "merge", "digests" };
	uint64_t began = clock_us();
	struct request q = { 0 };
	struct err e;

	int rc = hear(c, t, &q, &e);
	if (rc == 0)
		rc = work(c, t, &q, &e);
	answer(t, rc, &e);
	if (rc != 0)
		log_warn("%s: %s from=%s", names[q.what], e.text, from);
	else
		log_info("%s: %s from=%s seconds=%.1f", names[q.what], q.target, from,
		    (double)(clock_us() - began) / 1e6);
}
