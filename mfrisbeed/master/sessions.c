/* sessions.c: the table of sessions (sessions.h).  master.c and answer.c call it, in the
 * master's first thread. */
#include "mfrisbeed/master/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/netif.h"
#include "common/net/sock.h"
#include "common/wire/addr.h"
#include "frisbeed/serve/place.h"
#include "mfrisbeed/master/fetched.h"
#include "mfrisbeed/master/slots.h"

enum {
	TRIES_MAX = 8,
	ELSEWHERE_MAX = 64, /* each takes a third of a second */
	STATUS_TAKEN = 98, /* of a frisbeed whose port is taken, or whose group has a server */
	SECOND_US = 1000000,
	SOON_US = 20000, /* a session that starts is looked at so often */
	LASTED_US = 60000000, /* a process that ran for so long is begun again at once */
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

static int
open_rate(struct sessions *x, struct err *e)
{
	char path[PATH_BYTES];

	if (slots_rate_file(x, path, e) != 0)
		return -1;
	return budget_make(&x->budget, path, rate_of(x->settings),
	    SLOTS_MAX * SESSIONS_UNICAST_CLIENTS, e);
}

int
sessions_new(struct sessions **out, const struct settings *s, const struct sessions_config *c,
    struct err *e)
{
	struct sessions *x = calloc(1, sizeof *x);

	if (x == NULL)
		return err_nomem(e, "the sessions");
	x->settings = s;
	x->config = *c;
	x->rate = s->rate;
	x->idle_s = s->idle_s;
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		x->slots[i] = (struct slot){ .of = x, .begin_us = UINT64_MAX };
	slots_clean(x);
	if (open_rate(x, e) != 0) {
		free(x);
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
	starter_free(x->config.starter);
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		slot_clear(&x->slots[i]);
	slots_clean(x);
	budget_free(x->budget);
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
are_equal(const struct sessions_options *a, const struct sessions_options *b)
{
	return a->rate == b->rate && a->wait == b->wait && a->until == b->until &&
	       strcmp(a->group_key, b->group_key) == 0 && strcmp(a->orders, b->orders) == 0;
}

static bool
is_of(const struct slot *x, const struct sessions_wish *w)
{
	const struct catalog_entry *entry = w->entry;

	if (x->name == NULL || x->ends || strcmp(x->name, w->name) != 0 ||
	    x->unicast != (w->unicast_at != NULL) ||
	    (x->unicast && memcmp(x->group, w->unicast_at, sizeof x->group) != 0))
		return false;
	if (w->options == NULL ? x->options.group_key[0] != '\0'
			       : !are_equal(&x->options, w->options))
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

/* Takes the group with this index, and its port.  False: another session has it, and the slot stays
 * as it was. */
static bool
take_group(struct slot *at, uint32_t index)
{
	uint8_t group[4];

	slot_group(at->of->settings, index, group);
	if (group_is_taken(at->of, group))
		return false;
	at->group_index = index;
	memcpy(at->group, group, sizeof group);
	at->port = slot_port(at->of->settings, index);
	return true;
}

/* Chooses the next free group from index `from` on, and behind the last one from the first.  False:
 * there is none. */
static bool
choose_group(struct slot *at, uint32_t from)
{
	const uint32_t groups = at->of->settings->groups;

	for (uint32_t i = 0; i < groups; i++)
		if (take_group(at, (from + i) % groups))
			return true;
	return false;
}

/* Takes the place that the holder wishes.  False: the settings have no such group, or another session
 * has it. */
static bool
take_wished(struct slot *at, const struct sessions_wish *w)
{
	uint8_t group[4];

	for (uint32_t i = 0; w->port != 0 && i < at->of->settings->groups; i++) {
		slot_group(at->of->settings, i, group);
		if (memcmp(group, w->group, sizeof group) != 0 || !take_group(at, i))
			continue;
		if (at->port == 0)
			at->port = w->port;
		return true;
	}
	return false;
}

/* The index of the group from which on the k-th try looks, each in the middle of the widest gap
 * between those before it: another server's groups lie side by side, so few tries pass them. */
static uint32_t
index_of_try(uint32_t k, uint32_t groups)
{
	uint32_t index = 0;

	for (uint32_t part = groups; k > 0; k /= 2) {
		part = part / 2 + part % 2;
		index += k % 2 * part;
	}
	return index;
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

	at->name = strdup(name);
	strcpy(at->iface, s->iface);
	at->of->changes++;
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
	if (at->unicast) {
		memcpy(at->group, w->unicast_at, sizeof at->group);
		return at;
	}
	/* A machine that was sent to a session which was ended may wait there for hours: it
	 * would load what the next one sends. */
	if (!take_wished(at, w) && !choose_group(at, w->holder != NULL ? x->next_group : x->group_from))
		return NULL;
	if (w->holder != NULL)
		x->next_group = at->group_index + 1;
	return at;
}

/* Notes a holder, once.  False: there are too many. */
static bool
add_holder(struct slot *at, const char *holder)
{
	char(*free_one)[SESSIONS_HOLDER_BYTES] = NULL;

	for (int i = SESSIONS_HOLDERS; i-- > 0;) {
		if (strcmp(at->holder[i], holder) == 0)
			return true;
		if (at->holder[i][0] == '\0')
			free_one = &at->holder[i];
	}
	if (free_one == NULL)
		return false;
	snprintf(*free_one, sizeof *free_one, "%s", holder);
	return true;
}

int
sessions_ask(struct sessions *x, const struct sessions_wish *w, struct sessions_place *p,
    struct err *e)
{
	struct slot *at = find(x, w);

	*e = (struct err){ 0 };
	if (at != NULL) {
		at->asked = true;
		say(at, p);
		if (at->state == SESSIONS_FAILED)
			slot_clear(at); /* the next request begins it anew */
		return 0;
	}
	at = place_for(x, w);
	if (at == NULL)
		return err_set(e, ERR_REFUSED, "%s: %u images are served, and no more can be",
		    w->name, sessions_count(x));
	if (w->options != NULL)
		at->options = *w->options;
	at->asked = w->holder == NULL;
	if (w->holder != NULL)
		add_holder(at, w->holder);
	if (begin(at, w->name, w->entry, e) != 0)
		return -1;
	say(at, p);
	return 0;
}

/* Its process has other times after which it ends: another one takes its place. */
static void
renew(struct slot *at)
{
	if (at->begin_us != UINT64_MAX)
		return; /* it is still to be begun */
	at->renewed = true;
	starter_end(at->of->config.starter, (uint32_t)(at - at->of->slots));
}

/* The session that this holder has by this name. */
static struct slot *
find_held(struct sessions *x, const char *name, const char *holder)
{
	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		struct slot *at = &x->slots[i];
		if (at->name == NULL || at->ends || strcmp(at->name, name) != 0)
			continue;
		for (int k = 0; k < SESSIONS_HOLDERS; k++)
			if (strcmp(at->holder[k], holder) == 0)
				return at;
	}
	return NULL;
}

int
sessions_hold(struct sessions *x, const struct sessions_wish *w, struct err *e)
{
	struct sessions_place ignored;
	struct slot *at = find_held(x, w->name, w->holder);

	if (at == NULL)
		at = find(x, w);
	if (at != NULL && at->state == SESSIONS_FAILED) {
		slot_clear(at);
		at = NULL;
	}
	if (at == NULL)
		return sessions_ask(x, w, &ignored, e);
	if (!are_equal(&at->options, w->options))
		return err_set(e, ERR_USAGE, "%s: %s has it with other options", w->name,
		    w->holder);
	bool was_held = slot_is_held(at);
	if (!add_holder(at, w->holder))
		return err_set(e, ERR_REFUSED, "%s: is held by %d already", w->name,
		    SESSIONS_HOLDERS);
	if (!was_held)
		renew(at);
	x->changes++;
	save(x);
	return 0;
}

static bool
drop_holder(struct slot *at, const char *holder)
{
	for (int i = 0; i < SESSIONS_HOLDERS; i++)
		if (at->name != NULL && strcmp(at->holder[i], holder) == 0) {
			at->holder[i][0] = '\0';
			return true;
		}
	return false;
}

int
sessions_release(struct sessions *x, const char *name, const char *holder, struct err *e)
{
	bool any = false;

	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		struct slot *at = &x->slots[i];
		if (at->name == NULL || strcmp(at->name, name) != 0 || !drop_holder(at, holder))
			continue;
		any = true;
		if (slot_is_held(at))
			continue;
		if (at->state == SESSIONS_FAILED) {
			if (!at->asked)
				slot_clear(at);
			continue;
		}
		at->ends = !at->asked || slot_has_options(&at->options);
		if (at->ends && at->begin_us != UINT64_MAX)
			slot_clear(at); /* it was not begun */
		else
			renew(at);
	}
	if (!any)
		return err_set(e, ERR_ABSENT, "%s: %s holds no session of it", name, holder);
	x->changes++;
	save(x);
	return 0;
}

bool
sessions_is_holder(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && n < SESSIONS_HOLDER_BYTES &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
	           n;
}

static void
put_one(const struct slot *at, struct json *j)
{
	static const char *const states[] = { "starting", "serving", "failed" };
	char addr[ADDR_TEXT_MAX], path[PATH_BYTES];
	struct err ignored;

	json_object(j, NULL);
	json_string(j, "name", at->name);
	json_string(j, "state", states[at->state]);
	json_string(j, "group", addr_text(at->group, addr));
	json_uint(j, "port", at->port);
	json_bool(j, "unicast", at->unicast);
	if (at->state == SESSIONS_FAILED)
		json_string(j, "error", at->err.text);
	json_array(j, "holders");
	for (int i = 0; i < SESSIONS_HOLDERS; i++)
		if (at->holder[i][0] != '\0')
			json_string(j, NULL, at->holder[i]);
	json_end(j);
	json_uint(j, "clients_known", at->said.clients_known);
	json_uint(j, "clients_done", at->said.clients_done);
	json_uint(j, "blocks_sent", at->said.blocks_sent);
	json_double(j, "rate_bits_per_s", at->said.rate);
	if (slot_said_file(at, path, &ignored) == 0)
		json_string(j, "statistics", path);
	json_end(j);
}

void
sessions_put(const struct sessions *x, struct json *j)
{
	json_array(j, "sessions");
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (x->slots[i].name != NULL)
			put_one(&x->slots[i], j);
	json_end(j);
}

uint64_t
sessions_changes(const struct sessions *x)
{
	return x->changes;
}

int
sessions_fd(const struct sessions *x)
{
	return starter_fd(x->config.starter);
}

bool
sessions_lost(const struct sessions *x)
{
	return x->lost;
}

/* Starts a session once more.  False: that is not possible, and it has failed. */
static bool
start_again(struct slot *at)
{
	struct err e;

	if (slot_start(at, &e) == 0)
		return true;
	at->state = SESSIONS_FAILED;
	log_warn("%s", e.text);
	return false;
}

/* Tries another group, when a start has failed because another server has the group, or another
 * program its port.  False: there is nothing to try. */
static bool
try_elsewhere(struct sessions *x, struct slot *at, const struct starter_news *n)
{
	const uint32_t groups = x->settings->groups;

	if (n->killed || n->status != STATUS_TAKEN || at->unicast ||
	    at->elsewhere >= ELSEWHERE_MAX || at->elsewhere >= 2 * groups)
		return false;
	x->group_from = index_of_try(++at->elsewhere, groups);
	if (!choose_group(at, x->group_from))
		return false;
	if (slot_is_held(at))
		x->next_group = at->group_index + 1;
	return start_again(at);
}

/* Begins a session again, at its group and port; its clients go on.  False: it is not begun. */
static bool
begin_again(struct slot *at)
{
	if (at->tries >= TRIES_MAX)
		return false;
	at->tries++;
	return start_again(at);
}

static void
note_failure(const struct slot *at, const struct err *why)
{
	struct history_event v = { .kind = HISTORY_SESSION,
		.outcome = HISTORY_FAILED,
		.began_us = clock_us() };

	at->of->changes++;
	log_warn("session has failed name=%s: %s", at->name, why->text);
	strcpy(v.image, at->name);
	snprintf(v.why, sizeof v.why, "%.*s", HISTORY_WHY_BYTES - 1, why->text);
	history_note(at->of->config.history, &v);
}

/* A session has ended.  One whose image did not arrive whole from the parent, and one that was
 * killed, is begun again. */
static void
end(struct slot *at, const struct starter_news *n, const struct session_stats *s)
{
	bool failed = n->killed || n->status != 0;

	if (n->killed && clock_us() - at->began_us >= LASTED_US)
		at->tries = 0;
	if (!failed)
		log_info("session has ended name=%s", at->name);
	else if (s->err.kind != ERR_NONE)
		note_failure(at, &s->err);
	else
		note_failure(at, &at->err);
	if (failed && (n->killed || at->entry.at_parent) && begin_again(at))
		return;
	if (!failed || !slot_is_held(at)) {
		slot_clear(at);
		return;
	}
	if (s->err.kind != ERR_NONE)
		at->err = s->err;
	at->state = SESSIONS_FAILED; /* until its holder has seen that */
}

/* A session could not be begun. */
static void
fail(struct sessions *x, struct slot *at, const struct starter_news *n,
    const struct session_stats *s)
{
	if (s->err.kind != ERR_NONE)
		at->err = s->err;
	if (try_elsewhere(x, at, n))
		return;
	at->state = SESSIONS_FAILED;
	note_failure(at, &at->err);
	if (n->killed || at->tries > 0)
		(void)begin_again(at);
}

/* The process of a session has ended. */
static void
on_end(struct sessions *x, struct slot *at, const struct starter_news *n)
{
	bool again = n->killed || (n->status != 0 && at->entry.at_parent) || at->renewed;
	struct session_stats said;

	x->changes++;
	budget_forget(x->budget, n->pid);
	fetched_forget(&at->entry, n->pid);
	at->pid = 0;
	err_set(&at->err, ERR_IO, "its frisbeed %s", n->why);
	slot_look(at, !again, &said);
	if (at->ends || at->renewed) {
		bool over = at->ends || !start_again(at);
		log_info("session %s name=%s", over ? "has ended" : "is begun again", at->name);
		if (over)
			slot_clear(at);
		return;
	}
	if (at->state == SESSIONS_STARTING && said.serves)
		slot_started(at, &said);
	if (at->state == SESSIONS_RUNNING)
		end(at, n, &said);
	else
		fail(x, at, n, &said);
}

/* What the starter says.  True: the list of sessions has changed. */
static bool
take_news(struct sessions *x)
{
	struct starter_news n;
	bool changed = false;
	int rc;

	while ((rc = starter_take(x->config.starter, &n)) == 1) {
		struct slot *at = &x->slots[n.id];
		if (at->name == NULL)
			continue;
		if (n.ended)
			on_end(x, at, &n);
		else
			at->pid = n.pid;
		changed = true;
	}
	x->lost = rc < 0;
	return changed;
}

/* Begins the process of a session whose time has come. */
static void
begin_due(struct slot *at, uint64_t now_us)
{
	struct err e;

	if (at->begin_us > now_us || slot_begin(at, &e) == 0)
		return;
	at->state = SESSIONS_FAILED;
	at->err = e;
	note_failure(at, &e);
}

/* Does its process run, and has it something to say? */
static bool
is_looked_at(const struct slot *at)
{
	return at->name != NULL && at->pid != 0 &&
	       (at->state == SESSIONS_STARTING || at->state == SESSIONS_RUNNING);
}

uint64_t
sessions_deadline(const struct sessions *x)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		const struct slot *at = &x->slots[i];
		if (is_looked_at(at) && at->look_us < first)
			first = at->look_us;
		if (at->name != NULL && at->begin_us < first)
			first = at->begin_us;
	}
	return first;
}

/* Looks whether a session can be joined by now, often, and which loads have ended, once a
 * second. */
static bool
look(struct slot *at, uint64_t now_us)
{
	struct session_stats said;

	if (now_us < at->look_us)
		return false;
	bool waited = at->options.wait != 0 && !at->begun;
	slot_look(at, false, &said);
	bool starts = at->state == SESSIONS_STARTING;
	if (starts && said.serves)
		slot_started(at, &said);
	at->look_us = now_us + (at->state == SESSIONS_STARTING ? SOON_US : SECOND_US);
	return (starts && said.serves) || (waited && at->begun);
}

bool
sessions_collect(struct sessions *x)
{
	uint64_t now = clock_us();
	bool changed = take_news(x);

	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		struct slot *at = &x->slots[i];
		if (at->name != NULL)
			begin_due(at, now);
		if (is_looked_at(at))
			changed |= look(at, now);
	}
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
	return fetched_find(x, s->parent_folder, name)
	           ? 0
	           : fetched_entry(x, s->parent_folder, name, &not_known, e);
}

/* Begins the session of one line of the state. */
static int
resume_one(void *arg, const struct state_session *was, struct err *e)
{
	struct sessions *x = arg;
	struct catalog_entry entry;
	struct err why;
	struct slot *at = free_slot(x);

	bool unicast = !netif_is_group(was->group);

	if (at == NULL || (!unicast && group_is_taken(x, was->group)))
		return 0;
	if (find_again(&entry, x->settings, was->name, &why) != 0) {
		log_warn("image is not served any more name=%s: %s", was->name, why.text);
		return 0;
	}
	memcpy(at->group, was->group, sizeof at->group);
	memcpy(at->holder, was->holder, sizeof at->holder);
	at->asked = was->asked;
	at->begun = was->begun;
	at->options = was->options;
	at->unicast = unicast;
	at->port = was->port;
	at->not_known = entry.at_parent && entry.mtime == 0;
	at->tries = entry.at_parent; /* > 0: it has clients, so a failed start is repeated */
	int rc = begin(at, was->name, &entry, e);
	catalog_entry_free(&entry);
	return rc;
}

int
sessions_resume(struct sessions *x, struct err *e)
{
	if (x->settings->parent_folder != NULL &&
	    fetched_clean(x->settings->parent_folder, e) != 0)
		return -1;
	return state_read(x->settings, &x->next_group, resume_one, x, e);
}
