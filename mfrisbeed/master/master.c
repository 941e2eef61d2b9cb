/* master.c: the loop of a master server, around connections, sessions, uploads and the settings
 * (master.h).  main.c calls it in the program's first thread, which the files of this folder call
 * the master's first thread. */
#include "mfrisbeed/master/master.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/conns.h"
#include "mfrisbeed/master/local.h"
#include "mfrisbeed/master/slots.h"

enum { OWN_SESSIONS, OWN_PARENTS, OWN_FDS };

struct master {
	const struct master_config *config;
	struct settings settings;
	struct sessions *sessions;
	struct history *history; /* NULL: it could not be opened */
	struct uploads *uploads;
	struct parents *parents;
	struct challenge challenge;
	struct loop loop;
	struct watch own[OWN_FDS];
	struct deadline look; /* at the loads of the sessions */
	struct answerer answerer;
	struct conns *conns; /* NULL: only programs of this host are heard */
	struct local *local; /* NULL: there is none */
	int lock; /* of the state folder */
	atomic_bool reload;
};

static int
listen_at(struct master *m, struct err *e)
{
	uint8_t addr[4] = { 0 };

	if (m->config->addr != NULL && addr_parse(m->config->addr, addr, e) != 0)
		return -1;
	if (loop_open(&m->loop, e) != 0)
		return -1;
	return m->config->only_local ? 0 : conns_new(&m->conns, &m->loop, addr, m->config->port, &m->answerer, e);
}

/* The loop wakes up; what has come is collected behind it. */
static void
wake(void *arg, uint32_t events)
{
	(void)arg, (void)events;
}

static uint64_t
look_at(void *arg)
{
	const struct master *m = arg;

	return sessions_deadline(m->sessions);
}

static void
look_due(void *arg, uint64_t now_us)
{
	(void)arg, (void)now_us;
}

/* Wakes the loop when sessions have begun or ended, the parent has answered, or it
 * is time to look at the sessions. */
static int
watch_own(struct master *m, struct err *e)
{
	const int fds[OWN_FDS] = { [OWN_SESSIONS] = sessions_fd(m->sessions),
		[OWN_PARENTS] = parents_fd(m->parents) };
	int rc = 0;

	for (int i = 0; rc == 0 && i < OWN_FDS; i++) {
		m->own[i] = (struct watch){ fds[i], wake, NULL, 0 };
		rc = loop_watch(&m->loop, &m->own[i], EPOLLIN, e);
	}
	m->look = (struct deadline){ .when = look_at, .due = look_due, .arg = m };
	loop_expect(&m->loop, &m->look);
	return rc;
}

/* Opens the history.  Without one images are served, too. */
static void
open_history(struct master *m)
{
	struct err why;

	if (history_open(&m->history, m->settings.state, &m->loop, &why) != 0)
		log_warn("no history is kept: %s", why.text);
}

int
master_new(struct master **out, const struct master_config *c, struct err *e)
{
	struct master *m = calloc(1, sizeof *m);

	if (m == NULL) {
		starter_leave(c->starter);
		return err_nomem(e, "a master server");
	}
	m->config = c;
	m->loop.epoll = m->lock = -1;
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
		rc = uploads_new(&m->uploads, m->history, &m->loop, e);
	if (rc == 0)
		rc = parents_new(&m->parents, e);
	if (rc == 0)
		rc = sessions_new(&m->sessions, &m->settings,
		    &(struct sessions_config){ c->starter, m->history, c->debug, c->quiet,
			c->syslog },
		    e);
	if (rc == 0)
		rc = sessions_resume(m->sessions, e);
	if (rc == 0 && c->local != NULL)
		rc = local_new(&m->local, &m->loop, c->local, c->local_fd, &m->settings,
		    m->sessions, m->parents, m->history, e);
	if (rc == 0)
		rc = watch_own(m, e);
	if (rc != 0) {
		if (m->sessions == NULL) /* whose it is otherwise */
			starter_leave(c->starter);
		master_free(m);
		return -1;
	}
	m->answerer = (struct answerer){ &m->settings, m->sessions, m->uploads, m->parents,
		&m->challenge };
	*out = m;
	return 0;
}

void
master_free(struct master *m)
{
	if (m == NULL)
		return;
	conns_free(m->conns);
	local_free(m->local);
	uploads_free(m->uploads);
	parents_free(m->parents);
	sessions_free(m->sessions);
	history_close(m->history);
	loop_close(&m->loop);
	if (m->lock >= 0)
		close(m->lock);
	settings_free(&m->settings);
	free(m);
}

uint16_t
master_port(const struct master *m)
{
	return m->conns != NULL ? conns_port(m->conns) : 0;
}

void
master_reload(struct master *m)
{
	atomic_store(&m->reload, true);
	loop_wake(&m->loop);
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
 * says so, and the old ones stay.  A token that is not there is no such fault: nobody has it, and the
 * old settings would let those in whom the new ones do not. */
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
	if (settings_tokens(&m->settings, &e) != 0)
		log_warn("nobody has this token: %s", e.text);
	sessions_settings(m->sessions, &m->settings);
	say_later(&old, &s);
	settings_free(&old);
	log_info("the settings were read again");
}

static void
turn(struct master *m)
{
	loop_once(&m->loop, -1);
	bool again = uploads_collect(m->uploads);
	again |= sessions_collect(m->sessions);
	again |= parents_collect(m->parents);
	if (again) {
		conns_again(m->conns);
		local_again(m->local);
	}
	local_tell(m->local);
}

int
master_run(struct master *m, struct err *e)
{
	cancel_wakes(&m->loop);
	while (cancel_signal() == 0 && !sessions_lost(m->sessions)) {
		reload(m);
		turn(m);
	}
	cancel_wakes(NULL);
	return cancel_signal() != 0 ? 0
	                            : err_set(e, ERR_IO,
					  "the process that starts the sessions has ended");
}
