/* neighbour.c: asks, before a session begins, whether another server is at its group and port
 * (neighbour.h), because two servers there would confuse all clients.  The question is that of
 * "frisbee --doctor": a JOIN that new servers do not count, followed by a LEAVE for base-protocol
 * servers.  A server that was killed does not answer.  serve.c calls it, in the thread that opens
 * sessions. */
#include "frisbeed/serve/neighbour.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/random_bytes.h"
#include "common/base/test_times.h"
#include "common/wire/addr.h"

enum {
	/* Another server on the same network answers within milliseconds.  Within this time
	 * (usual) it is asked four times. */
	LOOK_US = 250000,
	ASK_US = 70000, /* any of the packets may be lost, and switches must learn about
	                   this host */
	WAKE_MS = 10,
};

/* The question of one session, and its answer. */
struct question {
	struct session *session;
	struct auth *auth;     /* as a client has it */
	bool answered,
	    leaves; /* a LEAVE is due: the server may have counted this host as a client */
	uint8_t from[4];
};

static void
hear(void *arg, const void *pkt, size_t len, const uint8_t from[4])
{
	struct question *q = arg;
	struct wirext_answer a;
	struct wire_msg m;
	struct err ignored;

	if (wirext_is(pkt, len) || wire_get(&m, pkt, len, &ignored) != 0 ||
	    m.type != WIRE_REPLY || !wire_source_is(&m, from))
		return;
	q->answered = true;
	q->leaves |= !wirext_get_answer(pkt, len, &a) || !(a.flags & WIREXT_PROBES);
	memcpy(q->from, from, 4);
}

static int
say(const struct question *q, enum wire_subtype subtype, uint32_t id, struct err *e)
{
	struct sock *sock = q->session->unicast.stream.sock;
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = subtype };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, sock_netif(sock)->addr, 4);
	if (subtype == WIRE_JOIN)
		m.u.join.clientid = id;
	else
		m.u.leave.clientid = id;
	size_t len = wire_put(&m, pkt, sizeof pkt);
	if (subtype == WIRE_JOIN)
		len = wirext_put_offer(
		    pkt, len, sizeof pkt, WIREXT_AGAIN | WIREXT_PROBES);
	return sock_send(sock, pkt, len, e) < 0 ? -1 : 0;
}

static int
ask_all(struct question *qs, unsigned n, uint32_t id, struct err *e)
{
	uint64_t now = clock_us(), end = now + test_time_us("neighbour", LOOK_US), ask = now;

	for (unsigned open = n; now < end && open > 0; now = clock_us()) {
		bool due = now >= ask;
		if (due)
			ask += ASK_US;
		open = 0;
		for (unsigned i = 0; i < n; i++) {
			struct question *q = &qs[i];
			if ((due && !q->answered && say(q, WIRE_JOIN, id, e) != 0) ||
			    sock_receive(
				q->session->unicast.stream.sock, hear, q, e) != 0)
				return -1;
			open += !q->answered;
		}
		if (cancel_check(e) != 0)
			return -1;
		poll(NULL, 0, WAKE_MS);
	}
	return 0;
}

static void
conclude(const struct question *q, uint32_t id)
{
	struct session *s = q->session;
	char addr[ADDR_TEXT_MAX];
	const struct ignored *g = auth_ignored(q->auth);
	bool sealed = !auth_is_on(q->auth) && g->of[IGNORED_SEALED].all > 0;
	struct err ignored;

	if (!q->answered && !sealed)
		return;
	if (q->leaves)
		(void)say(q, WIRE_LEAVE, id, &ignored);
	err_set(&s->err, ERR_REFUSED,
	    "another frisbeed at %s serves %s already%s; choose another group or port "
	    "(--force serves there, too)",
	    addr_text(q->answered ? q->from : g->of[IGNORED_SEALED].first, addr), s->where,
	    q->answered ? "" : ", with a --group-key");
	s->err.os = EADDRINUSE;
	s->state = SESSION_FAILED;
	sock_close(s->unicast.stream.sock);
	s->unicast.stream.sock = NULL;
}

/* Begins the question.  It is authenticated as that of a client, so that a session with the same
 * --group-key answers. */
static int
begin(struct question *q, struct err *e)
{
	struct sock *sock = q->session->unicast.stream.sock;

	if (sock_new_auth(&q->auth, sock, false,
		net_options_key(&q->session->cfg->net), e) != 0)
		return -1;
	sock_authenticate(sock, q->auth, AUTH_FIRST);
	return 0;
}

static void
end(struct question *q)
{
	struct session *s = q->session;

	if (s->unicast.stream.sock != NULL)
		sock_authenticate(s->unicast.stream.sock, s->unicast.auth, AUTH_FIRST);
	auth_free(q->auth);
}

static bool
is_shared(const struct session *s)
{
	const struct sock_config *nc = &s->unicast.net;

	return s->state == SESSION_OPEN && !s->place->net.unicast &&
	       (nc->broadcast || netif_is_group(nc->addr));
}

int
neighbour_look(struct session **sessions, unsigned n, struct err *e)
{
	struct question *qs = calloc(n, sizeof *qs);
	uint32_t id;
	unsigned asked = 0;

	if (qs == NULL)
		return err_nomem(e, "the sessions");
	for (unsigned i = 0; i < n; i++)
		if (is_shared(sessions[i]))
			qs[asked++].session = sessions[i];
	random_bytes(&id, sizeof id);
	id &= INT32_MAX;
	int rc = 0;
	for (unsigned i = 0; i < asked && rc == 0; i++)
		rc = begin(&qs[i], e);
	if (rc == 0)
		rc = ask_all(qs, asked, id, e);
	for (unsigned i = 0; i < asked; i++) {
		if (rc == 0)
			conclude(&qs[i], id);
		end(&qs[i]);
	}
	free(qs);
	return rc;
}
