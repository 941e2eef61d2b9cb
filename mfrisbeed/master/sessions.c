/* sessions.c: the table of sessions (sessions.h).  master.c and answer.c call it, in the
 * master's first thread; each start of a session runs in a thread of its own (slots.c), and
 * each session in others (serve.h). */
#include "mfrisbeed/master/sessions.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/netif.h"
#include "common/net/sock.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/fetch.h"
#include "mfrisbeed/master/loads.h"
#include "mfrisbeed/master/slots.h"

enum {
	RUN_BLOCKS = 32,
	READ_AHEAD_BYTES = 8 << 20,
	SLOT_TRIES = 8,
	UNICAST_CLIENTS = 16, /* unicast clients of one image at once; others ask again */
	SECOND_US = 1000000,
	STORE_CACHE_BYTES_EACH = 16 << 20,
};
/* Bits a second, where neither the settings nor the card name a rate.  frisbeed has the same
 * default. */
#define RATE_DEFAULT UINT64_C(10000000000)

static uint64_t
rate_of(const struct settings *s)
{
	struct place where = { .net = { .iface = s->iface[0] != '\0' ? s->iface : NULL } };
	char group[ADDR_TEXT_MAX];

	if (s->rate != 0)
		return s->rate;
	where.net.addr = addr_text(s->group, group);
	where.net.port = "0";
	uint64_t card = places_card_bits(&where, 1);
	return card != 0 ? card : RATE_DEFAULT;
}

static struct serve_config
configure(const struct sessions *x)
{
	struct serve_config c = { .session = &x->each,
		.sessions_max = SLOTS_MAX,
		.rate = rate_of(x->settings),
		.unicast_too = true,
		.engine = { .run_blocks = RUN_BLOCKS,
		    .ahead = READ_AHEAD_BYTES / WIRE_BLOCK_BYTES / RUN_BLOCKS,
		    .dynamic = x->settings->rate == 0,
		    .idle_us = (int64_t)x->settings->idle_s * 1000000 } };

	if (c.engine.ahead > SERVER_AHEAD_MAX)
		c.engine.ahead = SERVER_AHEAD_MAX;
	c.engine.rate_bits = c.rate;
	return c;
}

int
sessions_new(
    struct sessions **out, const struct settings *s, struct history *history, struct err *e)
{
	struct sessions *x = calloc(1, sizeof *x);

	if (x == NULL)
		return err_nomem(e, "the sessions");
	x->settings = s;
	x->history = history;
	x->cancel.whole = cancel_owner();
	x->each = (struct session_config){ .store_cache = STORE_CACHE_BYTES_EACH,
		.unicast_max = UNICAST_CLIENTS };
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		x->slots[i].of = x;
	struct serve_config c = configure(x);
	x->rows = calloc(SESSION_CLIENT_ROWS, sizeof *x->rows);
	int rc = x->rows != NULL ? mailbox_new(&x->started, SLOTS_MAX, e)
				 : err_nomem(e, "the sessions");
	if (rc == 0)
		rc = serve_new(&x->serve, &c, e);
	if (rc != 0) {
		sessions_free(x);
		return -1;
	}
	*out = x;
	return 0;
}

void
sessions_settings(struct sessions *x, const struct settings *s)
{
	x->settings = s;
}

void
sessions_free(struct sessions *x)
{
	if (x == NULL)
		return;
	atomic_store(&x->cancel.signal, SIGTERM);
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (x->slots[i].name != NULL && x->slots[i].state == SESSIONS_STARTING)
			pthread_join(x->slots[i].thread, NULL);
	serve_free(x->serve);
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		slot_clear(&x->slots[i]);
	mailbox_free(x->started);
	free(x->rows);
	free(x);
}

static void
save(const struct sessions *x)
{
	struct err e;

	if (state_save(x, &e) != 0)
		log_warn("the sessions are not kept for a restart: %s", e.text);
}

static bool
is_of(const struct slot *x, const struct sessions_wish *w)
{
	const struct catalog_entry *entry = w->entry;

	if (x->name == NULL || strcmp(x->name, w->name) != 0 ||
	    x->unicast != (w->unicast_at != NULL) ||
	    (x->unicast && memcmp(x->group, w->unicast_at, sizeof x->group) != 0))
		return false;
	if (x->not_known && entry->at_parent)
		return true;
	return x->entry.device == entry->device && x->entry.inode == entry->inode &&
	       x->entry.mtime == entry->mtime && x->entry.bytes == entry->bytes &&
	       strcmp(x->entry.place, entry->place) == 0;
}

static struct slot *
find(struct sessions *x, const struct sessions_wish *w)
{
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (is_of(&x->slots[i], w))
			return &x->slots[i];
	return NULL;
}

/* Finds the address that a session sends from, in the way in which its socket is opened.  It stays
 * zeros when the interface has no address just now. */
static void
find_sender(const struct slot *x, uint8_t addr[4])
{
	struct sock_config c = { .iface = x->iface[0] != '\0' ? x->iface : NULL };
	struct netif n;
	struct err ignored;

	memcpy(c.addr, x->group, sizeof c.addr);
	if (x->unicast)
		memcpy(addr, x->group, sizeof x->group);
	else if (sock_interface(&n, &c, &ignored) == 0)
		memcpy(addr, n.addr, sizeof n.addr);
}

static void
say(const struct slot *x, struct sessions_place *p)
{
	*p = (struct sessions_place){ .state = x->state, .port = x->port };
	memcpy(p->addr, x->group, sizeof p->addr);
	if (x->state == SESSIONS_RUNNING)
		find_sender(x, p->server);
	if (x->state == SESSIONS_FAILED)
		p->err = x->err;
}

bool
sessions_find(struct sessions *x, const struct sessions_wish *w, struct sessions_place *p)
{
	const struct slot *at = find(x, w);

	if (at != NULL)
		say(at, p);
	return at != NULL;
}

/* Does another session have this group?  One that has failed has none any more. */
static bool
group_is_taken(const struct sessions *x, const uint8_t group[4])
{
	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		const struct slot *at = &x->slots[i];
		if (at->name != NULL && at->state != SESSIONS_FAILED && !at->unicast &&
		    memcmp(at->group, group, sizeof at->group) == 0)
			return true;
	}
	return false;
}

/* Chooses the next free group from index `from` on.  False: there is none, and index and group stay
 * as they were. */
static bool
choose_group(const struct sessions *x, uint32_t from, uint32_t *index, uint8_t group[4])
{
	uint8_t next[4];

	for (uint32_t i = from; i < x->settings->groups; i++) {
		slot_group(x->settings, i, next);
		if (group_is_taken(x, next))
			continue;
		*index = i;
		memcpy(group, next, sizeof next);
		return true;
	}
	return false;
}

/* A free slot, or that of a session that has failed: perhaps nobody asks for its image again.  NULL:
 * all sessions start or run. */
static struct slot *
free_slot(struct sessions *x)
{
	struct slot *failed = NULL;

	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		if (x->slots[i].name == NULL)
			return &x->slots[i];
		if (x->slots[i].state == SESSIONS_FAILED)
			failed = &x->slots[i];
	}
	if (failed != NULL)
		slot_clear(failed);
	return failed;
}

/* Begins a session in a slot whose group and port are chosen. */
static int
begin(struct slot *at, const char *name, const struct catalog_entry *entry, struct err *e)
{
	const struct settings *s = at->of->settings;

	at->state = SESSIONS_STARTING;
	at->name = strdup(name);
	at->parent = s->parent;
	strcpy(at->iface, s->iface);
	if (at->name == NULL || catalog_entry_copy(&at->entry, entry, e) != 0 ||
	    slot_start(at, e) != 0) {
		slot_clear(at);
		return e->kind != ERR_NONE ? -1 : err_nomem(e, "a session");
	}
	return 0;
}

/* A free slot, with a group and a port; NULL: no slot or no group is free. */
static struct slot *
place_for(struct sessions *x, const struct sessions_wish *w)
{
	struct slot *at = free_slot(x);

	if (at == NULL)
		return NULL;
	at->unicast = w->unicast_at != NULL;
	if (at->unicast)
		memcpy(at->group, w->unicast_at, sizeof at->group);
	else if (!choose_group(x, 0, &at->group_index, at->group))
		return NULL;
	at->port = at->unicast ? 0 : x->settings->port;
	return at;
}

int
sessions_ask(struct sessions *x, const struct sessions_wish *w, struct sessions_place *p,
    struct err *e)
{
	struct slot *at = find(x, w);

	*e = (struct err){ 0 };
	if (at != NULL) {
		say(at, p);
		if (at->state == SESSIONS_FAILED)
			slot_clear(at); /* the next request begins it anew */
		return 0;
	}
	at = place_for(x, w);
	if (at == NULL)
		return err_set(e, ERR_REFUSED, "%s: %u images are served, and no more can be",
		    w->name, sessions_count(x));
	if (begin(at, w->name, w->entry, e) != 0)
		return -1;
	say(at, p);
	return 0;
}

void
sessions_fds(const struct sessions *x, int fds[SESSIONS_FDS])
{
	fds[0] = mailbox_fd(x->started);
	fds[1] = serve_fd(x->serve);
}

/* Tries the next group, when a start has failed because another server has the group, or another
 * program its port.  False: there is nothing to try. */
static bool
try_elsewhere(struct sessions *x, struct slot *at)
{
	struct err e = { 0 };
	bool taken = (at->err.kind == ERR_REFUSED && at->err.os != ESTALE) ||
	             at->err.os == EADDRINUSE;

	if (at->state != SESSIONS_FAILED || !taken || at->unicast ||
	    !choose_group(x, at->group_index + 1, &at->group_index, at->group))
		return false;
	at->state = SESSIONS_STARTING;
	at->port = x->settings->port;
	if (slot_start(at, &e) == 0)
		return true;
	at->state = SESSIONS_FAILED;
	return false;
}

/* Begins a session again, at its group and port, when its image did not arrive whole from
 * the parent; its clients go on.  False: it is not begun. */
static bool
begin_again(struct slot *at)
{
	struct err e;

	if (!at->entry.at_parent || at->tries >= SLOT_TRIES)
		return false;
	at->tries++;
	at->state = SESSIONS_STARTING;
	if (slot_start(at, &e) == 0)
		return true;
	at->state = SESSIONS_FAILED;
	log_warn("%s", e.text);
	return false;
}

static void
note_failure(const struct slot *at, const struct err *why)
{
	struct history_event v = { .kind = HISTORY_SESSION,
		.outcome = HISTORY_FAILED,
		.began_us = clock_us() };

	log_warn("session has failed name=%s: %s", at->name, why->text);
	strcpy(v.image, at->name);
	snprintf(v.why, sizeof v.why, "%.*s", HISTORY_WHY_BYTES - 1, why->text);
	history_note(at->of->history, &v);
}

/* A session has ended by itself. */
static void
end(struct sessions *x, struct slot *at)
{
	struct serve_stats st = { .state = SESSION_ENDED };
	struct err ignored;

	(void)serve_stats(x->serve, at->number, &st, &ignored);
	loads_note(at, st.state != SESSION_FAILED);
	at->noted = 0;
	serve_remove(x->serve, at->number, &ignored);
	if (st.state == SESSION_FAILED)
		note_failure(at, &st.err);
	else
		log_info("session has ended name=%s", at->name);
	if (st.state != SESSION_FAILED || !begin_again(at))
		slot_clear(at);
}

/* Has the session ended before it was known that it has started?  Then serve_take_ended() has
 * named it when no slot had its number. */
static bool
has_ended_early(const struct sessions *x, const struct slot *at)
{
	struct serve_stats st;
	struct err ignored;

	return at->state == SESSIONS_RUNNING &&
	       serve_stats(x->serve, at->number, &st, &ignored) == 0 &&
	       st.state != SESSION_SERVING;
}

static bool
has_loads(const struct slot *at)
{
	return at->name != NULL && at->state == SESSIONS_RUNNING;
}

uint64_t
sessions_deadline(const struct sessions *x)
{
	for (unsigned i = 0; x->history != NULL && i < SLOTS_MAX; i++)
		if (has_loads(&x->slots[i]))
			return x->look_us;
	return UINT64_MAX;
}

/* Notes ended loads, once a second. */
static void
look_at_loads(struct sessions *x)
{
	uint64_t now = clock_us();

	if (now < x->look_us || x->history == NULL)
		return;
	x->look_us = now + SECOND_US;
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (has_loads(&x->slots[i]))
			loads_note(&x->slots[i], false);
}

bool
sessions_collect(struct sessions *x)
{
	struct event ev;
	uint32_t number;
	bool changed = false;

	while (mailbox_take(x->started, &ev)) {
		struct slot *at = &x->slots[ev.n];
		slot_started(at);
		if (try_elsewhere(x, at))
			continue;
		if (at->state == SESSIONS_FAILED) {
			note_failure(at, &at->err);
			if (at->tries > 0 && begin_again(at))
				continue;
		}
		if (has_ended_early(x, at))
			end(x, at);
		changed = true;
	}
	while (serve_take_ended(x->serve, &number))
		for (unsigned i = 0; i < SLOTS_MAX; i++) {
			struct slot *at = &x->slots[i];
			if (!has_loads(at) || at->number != number)
				continue;
			end(x, at);
			changed = true;
		}
	look_at_loads(x);
	if (changed)
		save(x);
	return changed;
}

unsigned
sessions_count(const struct sessions *x)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS_MAX; i++)
		n += x->slots[i].name != NULL;
	return n;
}

/* Finds the image of a session that ran before a restart.  An image of the parent is kept
 * here, or has to be fetched; its session finds out how long it is. */
static int
find_again(
    struct catalog_entry *x, const struct settings *s, const char *name, struct err *e)
{
	static const struct master_get_reply not_known;

	if (catalog_find(x, s, name, e) == 0)
		return 0;
	if (e->kind != ERR_ABSENT || s->parent_folder == NULL)
		return -1;
	return fetch_kept(x, s->parent_folder, name)
	           ? 0
	           : fetch_entry(x, s->parent_folder, name, &not_known, e);
}

/* Begins the session of one line of the state. */
static int
resume_one(void *arg, const char *name, const uint8_t group[4], uint16_t port,
    struct err *e)
{
	struct sessions *x = arg;
	struct catalog_entry entry;
	struct err why;
	struct slot *at = free_slot(x);

	bool unicast = !netif_is_group(group);

	if (at == NULL || (!unicast && group_is_taken(x, group)))
		return 0;
	if (find_again(&entry, x->settings, name, &why) != 0) {
		log_warn("image is not served any more name=%s: %s", name, why.text);
		return 0;
	}
	memcpy(at->group, group, sizeof at->group);
	at->unicast = unicast;
	at->port = port;
	at->not_known = entry.at_parent && entry.mtime == 0;
	at->tries = entry.at_parent; /* > 0: it has clients, so a failed start is repeated */
	int rc = begin(at, name, &entry, e);
	catalog_entry_free(&entry);
	return rc;
}

int
sessions_resume(struct sessions *x, struct err *e)
{
	if (x->settings->parent_folder != NULL &&
	    fetch_clean(x->settings->parent_folder, e) != 0)
		return -1;
	return state_read(x->settings, resume_one, x, e);
}
