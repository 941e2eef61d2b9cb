/* serve.c: the loop of `dsync serve`: it accepts connections, has their handshakes made, and starts a
 * thread for each that has shown the key.  dsync calls serve(), in its first thread. */
#include "dsync/serve/serve.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/accepting.h"
#include "dsync/serve/listener.h"
#include "dsync/serve/session.h"
#include "dsync/serve/waiting.h"
#include "dsync/talk/talk.h"

enum {
	WAKE_MS = 200, /* a signal is noticed within this time */
	SESSIONS_MAX = 32, /* each is a thread and a dmmerge */
	ACCEPTS = 16,      /* at a time, before handshakes go on */
	SAY_US = 10000000, /* strangers are logged once in this time */
};

/* A connection that has shown the key. */
struct guest {
	const struct serve_config *config;
	struct talk *talk; /* NULL: the place is free */
	char name[LISTENER_NAME_BYTES];
	pthread_t thread;
	atomic_bool ended;
};

struct server {
	const struct serve_config *config;
	struct tls *key;
	struct accepting accepting;
	struct waiting *waiting;
	struct guest guests[SESSIONS_MAX];
	uint64_t said_us; /* when strangers were logged last */
};

static void *
run_session(void *arg)
{
	struct guest *g = arg;

	session(g->config, g->talk, g->name);
	talk_free(g->talk);
	atomic_store(&g->ended, true);
	return NULL;
}

/* Free the places of sessions that have ended; of all, with `wait`. */
static void
join_sessions(struct server *s, bool wait)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct guest *g = &s->guests[i];
		if (g->talk == NULL || (!wait && !atomic_load(&g->ended)))
			continue;
		pthread_join(g->thread, NULL);
		g->talk = NULL;
	}
}

static struct guest *
free_place(struct server *s)
{
	join_sessions(s, false);
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (s->guests[i].talk == NULL)
			return &s->guests[i];
	return NULL;
}

static void
begin_session(void *arg, struct known *k)
{
	struct server *s = arg;
	struct guest *g = free_place(s);
	struct err e;

	if (g == NULL) {
		log_warn("there are %d sessions already from=%s", SESSIONS_MAX, k->name);
		tls_wire_free(k->wire);
		close(k->fd);
		return;
	}
	if (talk_new(&g->talk, k->fd, k->wire, &e) != 0) {
		log_warn("%s from=%s", e.text, k->name);
		return;
	}
	g->config = s->config;
	memcpy(g->name, k->name, sizeof g->name);
	atomic_store(&g->ended, false);
	if (thread_start(&g->thread, run_session, g) == 0)
		return;
	log_warn("there is no thread for a session from=%s", k->name);
	talk_free(g->talk);
	g->talk = NULL;
}

static void
accept_some(struct server *s)
{
	char name[LISTENER_NAME_BYTES];
	struct sockaddr_storage a;

	for (unsigned i = 0; i < ACCEPTS; i++) {
		socklen_t len = sizeof a;
		int fd = accepting_next(&s->accepting, &a, &len);
		if (fd < 0)
			return;
		talk_notice_silence(fd);
		waiting_add(s->waiting, fd, listener_name(&a, len, name), clock_us());
	}
}

static void
log_strangers(struct server *s, uint64_t now)
{
	const char *name;

	if (now - s->said_us < SAY_US)
		return;
	unsigned n = waiting_turned_away(s->waiting, &name);
	if (n == 0)
		return;
	s->said_us = now;
	log_warn("%u connections have not shown the key, the last from=%s", n, name);
}

static void
step(struct server *s)
{
	struct pollfd polls[STRANGERS_MAX + 1];
	size_t n = waiting_polls(s->waiting, polls);

	polls[n] = (struct pollfd){ .fd = accepting_fd(&s->accepting), .events = POLLIN };
	if (poll(polls, n + 1, WAKE_MS) > 0) {
		waiting_serve(s->waiting, polls, begin_session, s);
		if (polls[n].revents != 0)
			accept_some(s);
	}
	uint64_t now = clock_us();
	waiting_sweep(s->waiting, now);
	log_strangers(s, now);
	join_sessions(s, false);
}

static int
check_targets(const struct serve_config *c, struct err *e)
{
	for (int i = 0; i < c->ntargets; i++)
		if (c->targets[i][0] != '/')
			return err_set(e, ERR_USAGE,
			    "%s: a target of a server must be given by a path that begins with /",
			    c->targets[i]);
	return 0;
}

static int
begin(struct server *s, const struct serve_config *c, struct err *e)
{
	uint16_t port;

	memset(s, 0, sizeof *s);
	s->config = c;
	s->accepting.listener = -1;
	if (check_targets(c, e) != 0 || tls_new(&s->key, c->keyfile, TALK_IDENTITY, e) != 0 ||
	    waiting_new(&s->waiting, s->key, e) != 0 ||
	    listener_open(c->listen, &s->accepting.listener, &port, e) != 0)
		return -1;
	log_info("serving port=%u targets=%d", port, c->ntargets);
	return 0;
}

int
serve(const struct serve_config *c, struct err *e)
{
	struct server s;
	int rc = begin(&s, c, e);

	while (rc == 0 && cancel_signal() == 0)
		step(&s);
	if (s.accepting.listener >= 0)
		close(s.accepting.listener);
	join_sessions(&s, true);
	waiting_free(s.waiting);
	tls_free(s.key);
	return rc;
}
