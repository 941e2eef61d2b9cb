/* master.c: the loop of a master server, around connections, sessions, uploads and the settings
 * (master.h).  main.c calls it in the program's first thread, which the files of this folder call
 * the master's first thread. */
#include "mfrisbeed/master/master.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/conns.h"
#include "mfrisbeed/master/slots.h"

enum { WAKE_MS = 200, BACKLOG = 1024, OWN_FDS = SESSIONS_FDS + 1 };

struct master {
	const struct master_config *config;
	struct settings settings;
	struct sessions *sessions;
	struct history *history; /* NULL: it could not be opened */
	struct uploads *uploads;
	struct parents *parents;
	struct challenge challenge;
	struct conns *conns;
	int listener, lock; /* lock: of the state folder */
	uint16_t port;
	atomic_bool reload;
};

static int
listen_at(struct master *m, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons(m->config->port) };
	socklen_t len = sizeof at;
	uint8_t addr[4] = { 0 };
	int yes = 1;

	if (m->config->addr != NULL && addr_parse(m->config->addr, addr, e) != 0)
		return -1;
	memcpy(&at.sin_addr, addr, sizeof addr);
	m->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->listener < 0 ||
	    setsockopt(m->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
	    bind(m->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
	    listen(m->listener, BACKLOG) != 0 ||
	    getsockname(m->listener, (struct sockaddr *)&at, &len) != 0)
		return err_os(e, "TCP port %u", m->config->port);
	m->port = ntohs(at.sin_port);
	return 0;
}

/* Opens the history.  Without one images are served, too. */
static void
open_history(struct master *m)
{
	struct err why;

	if (history_open(&m->history, m->settings.state, &why) != 0)
		log_warn("no history is kept: %s", why.text);
}

int
master_new(struct master **out, const struct master_config *c, struct err *e)
{
	struct master *m = calloc(1, sizeof *m);

	if (m == NULL)
		return err_nomem(e, "a master server");
	m->config = c;
	m->listener = m->lock = -1;
	challenge_init(&m->challenge);
	int rc = settings_read(&m->settings, c->file, e);
	if (rc == 0)
		rc = listen_at(m, e);
	if (rc == 0)
		m->lock = state_lock(&m->settings, e);
	if (m->lock < 0)
		rc = -1;
	if (rc == 0)
		open_history(m);
	if (rc == 0)
		rc = conns_new(&m->conns, m->listener, e);
	if (rc == 0)
		rc = uploads_new(&m->uploads, m->history, e);
	if (rc == 0)
		rc = parents_new(&m->parents, e);
	if (rc == 0)
		rc = sessions_new(&m->sessions, &m->settings, m->history, e);
	if (rc == 0)
		rc = sessions_resume(m->sessions, e);
	if (rc != 0) {
		master_free(m);
		return -1;
	}
	*out = m;
	return 0;
}

void
master_free(struct master *m)
{
	if (m == NULL)
		return;
	conns_free(m->conns);
	uploads_free(m->uploads);
	parents_free(m->parents);
	sessions_free(m->sessions);
	history_close(m->history);
	if (m->listener >= 0)
		close(m->listener);
	if (m->lock >= 0)
		close(m->lock);
	settings_free(&m->settings);
	free(m);
}

uint16_t
master_port(const struct master *m)
{
	return m->port;
}

void
master_reload(struct master *m)
{
	atomic_store(&m->reload, true);
}

/* New settings may not name other folders that are written to, because the running server
 * has given up the right to write elsewhere. */
static int
check_written(const struct settings *old, const struct settings *new, struct err *e)
{
	const char *was[SETTINGS_WRITTEN_MAX], *is[SETTINGS_WRITTEN_MAX];

	settings_written(old, was);
	settings_written(new, is);
	for (int i = 0; i < SETTINGS_WRITTEN_MAX; i++)
		if (is[i] != NULL && (was[i] == NULL || strcmp(was[i], is[i]) != 0))
			return err_set(e, ERR_USAGE,
			    "%s: another folder to write to takes effect only after a "
			    "restart",
			    is[i]);
	return 0;
}

/* The sessions keep the rate, and the time after which they end, with which they were made. */
static void
say_later(const struct settings *old, const struct settings *new)
{
	if (old->rate != new->rate || old->idle_s != new->idle_s)
		log_warn("another rate or idle takes effect only after a restart");
}

/* Reads the settings again, when master_reload() was called.  When they are wrong, the log
 * says so, and the old ones stay. */
static void
reload(struct master *m)
{
	struct settings s, old = m->settings;
	struct err e;

	if (!atomic_exchange(&m->reload, false))
		return;
	if (settings_read(&s, m->config->file, &e) != 0 ||
	    check_written(&old, &s, &e) != 0) {
		log_warn("the settings are not changed: %s", e.text);
		settings_free(&s);
		return;
	}
	m->settings = s;
	sessions_settings(m->sessions, &m->settings);
	say_later(&old, &s);
	settings_free(&old);
	log_info("the settings were read again");
}

static int
turn(struct master *m, struct pollfd *fds, struct err *e)
{
	struct answerer a = { &m->settings, m->sessions, m->uploads, m->parents,
		&m->challenge };
	int own[OWN_FDS];
	unsigned n = conns_poll(m->conns, fds);

	sessions_fds(m->sessions, own);
	own[SESSIONS_FDS] = parents_fd(m->parents);
	for (int i = 0; i < OWN_FDS; i++)
		fds[n + (unsigned)i] = (struct pollfd){ .fd = own[i], .events = POLLIN };
	int ready = poll(fds, n + OWN_FDS, WAKE_MS);
	if (ready < 0 && errno != EINTR)
		return err_os(e, "waiting for clients");
	if (ready < 0)
		return 0;
	uploads_collect(m->uploads);
	bool again = sessions_collect(m->sessions);
	again |= parents_collect(m->parents);
	conns_serve(m->conns, &a, fds, again);
	return 0;
}

int
master_run(struct master *m, struct err *e)
{
	struct pollfd *fds = calloc(CONNS_MAX + 1 + OWN_FDS, sizeof *fds);
	int rc = fds != NULL ? 0 : err_nomem(e, "connections");

	while (rc == 0 && cancel_signal() == 0) {
		reload(m);
		rc = turn(m, fds, e);
	}
	free(fds);
	return rc;
}
