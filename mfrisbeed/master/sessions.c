/* sessions.c: the table of what is served.  The master's first thread calls it; each start of a session
 * runs in a thread of its own (slots.c), and each session in others (serve.h). */
#include "mfrisbeed/master/sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/slots.h"

enum {
	RUN_BLOCKS = 32,
	READ_AHEAD_BYTES = 8 << 20,
	STORE_CACHE_BYTES_EACH = 16 << 20,
};
/* Where neither settings nor card say what is right; as of frisbeed. */
#define RATE_DEFAULT UINT64_C(10000000000)

static uint64_t
rate_of(const struct settings *s)
{
	struct place where = { .net = { .iface = s->iface } };
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
		.engine = { .run_blocks = RUN_BLOCKS,
		    .ahead = READ_AHEAD_BYTES / WIRE_BLOCK_BYTES / RUN_BLOCKS,
		    .dynamic = x->settings->rate == 0,
		    .idle_us = (int64_t)x->settings->idle_s * 1000000 } };

	if (c.engine.ahead > SERVER_AHEAD_MAX)
		c.engine.ahead = SERVER_AHEAD_MAX;
	server_rate_to_burst(c.rate, &c.engine.burst, &c.engine.gap_us);
	return c;
}

int
sessions_new(struct sessions **out, const struct settings *s, struct err *e)
{
	struct sessions *x = calloc(1, sizeof *x);

	if (x == NULL)
		return err_nomem(e, "the sessions");
	x->settings = s;
	x->each = (struct session_config){
		.net = { .iface = s->iface }, .store_cache = STORE_CACHE_BYTES_EACH
	};
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		x->slots[i].of = x;
	struct serve_config c = configure(x);
	int rc = mailbox_new(&x->started, SLOTS_MAX, e);
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
	/* Entries name the store of the settings that they were found by. */
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (x->slots[i].entry.store != NULL)
			x->slots[i].entry.store = s->store;
	x->settings = s;
	x->each.net.iface = s->iface;
}

void
sessions_free(struct sessions *x)
{
	if (x == NULL)
		return;
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (x->slots[i].name != NULL && x->slots[i].state == SESSIONS_STARTING)
			pthread_join(x->slots[i].thread, NULL);
	serve_free(x->serve);
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		slot_clear(&x->slots[i]);
	mailbox_free(x->started);
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
is_of(const struct slot *x, const char *name, const struct catalog_entry *entry)
{
	return x->name != NULL && strcmp(x->name, name) == 0 &&
	       x->entry.device == entry->device && x->entry.inode == entry->inode &&
	       x->entry.mtime == entry->mtime && x->entry.bytes == entry->bytes &&
	       strcmp(x->entry.place, entry->place) == 0;
}

static struct slot *
find(struct sessions *x, const char *name, const struct catalog_entry *entry)
{
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (is_of(&x->slots[i], name, entry))
			return &x->slots[i];
	return NULL;
}

static void
say(const struct slot *x, struct sessions_place *p)
{
	*p = (struct sessions_place){ .state = x->state, .port = x->port };
	memcpy(p->addr, x->group, sizeof p->addr);
	if (x->state == SESSIONS_FAILED)
		p->err = x->err;
}

bool
sessions_find(struct sessions *x, const char *name, const struct catalog_entry *entry,
    struct sessions_place *p)
{
	const struct slot *at = find(x, name, entry);

	if (at != NULL)
		say(at, p);
	return at != NULL;
}

static bool
group_is_taken(const struct sessions *x, const uint8_t group[4])
{
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (x->slots[i].name != NULL &&
		    memcmp(x->slots[i].group, group, sizeof x->slots[i].group) == 0)
			return true;
	return false;
}

/* The next free group from `from` on.  False: there is none. */
static bool
choose_group(const struct sessions *x, uint32_t from, uint32_t *index, uint8_t group[4])
{
	for (*index = from; *index < x->settings->groups; ++*index) {
		slot_group(x->settings, *index, group);
		if (!group_is_taken(x, group))
			return true;
	}
	return false;
}

static struct slot *
free_slot(struct sessions *x)
{
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (x->slots[i].name == NULL)
			return &x->slots[i];
	return NULL;
}

static int
copy_entry(struct catalog_entry *to, const struct catalog_entry *from, struct err *e)
{
	*to = *from;
	to->place = strdup(from->place);
	return to->place != NULL ? 0 : err_nomem(e, "a session");
}

/* In a slot whose group and port are chosen. */
static int
begin(struct slot *at, const char *name, const struct catalog_entry *entry, struct err *e)
{
	at->state = SESSIONS_STARTING;
	at->name = strdup(name);
	if (at->name == NULL || copy_entry(&at->entry, entry, e) != 0 ||
	    slot_start(at, e) != 0) {
		slot_clear(at);
		return e->kind != ERR_NONE ? -1 : err_nomem(e, "a session");
	}
	return 0;
}

int
sessions_ask(struct sessions *x, const char *name, const struct catalog_entry *entry,
    struct sessions_place *p, struct err *e)
{
	struct slot *at = find(x, name, entry);

	*e = (struct err){ 0 };
	if (at != NULL) {
		say(at, p);
		if (at->state == SESSIONS_FAILED)
			slot_clear(at); /* who asks again has another try */
		return 0;
	}
	at = free_slot(x);
	if (at == NULL || !choose_group(x, 0, &at->group_index, at->group))
		return err_set(e, ERR_REFUSED, "%s: %u images are served, and no more can be",
		    name, sessions_count(x));
	at->port = x->settings->port;
	if (begin(at, name, entry, e) != 0)
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

/* Another server has the group, or another program its port: the next group is tried. */
static bool
try_elsewhere(struct sessions *x, struct slot *at)
{
	struct err e = { 0 };
	bool taken = at->err.kind == ERR_REFUSED || at->err.os == EADDRINUSE;

	if (at->state != SESSIONS_FAILED || !taken ||
	    !choose_group(x, at->group_index + 1, &at->group_index, at->group))
		return false;
	at->state = SESSIONS_STARTING;
	at->port = x->settings->port;
	if (slot_start(at, &e) == 0)
		return true;
	at->state = SESSIONS_FAILED;
	return false;
}

bool
sessions_collect(struct sessions *x)
{
	struct event ev;
	uint32_t number;
	bool changed = false;

	while (mailbox_take(x->started, &ev)) {
		slot_started(&x->slots[ev.n]);
		changed |= !try_elsewhere(x, &x->slots[ev.n]);
	}
	while (serve_take_ended(x->serve, &number))
		for (unsigned i = 0; i < SLOTS_MAX; i++) {
			struct slot *at = &x->slots[i];
			struct err ignored;
			if (at->name == NULL || at->state != SESSIONS_RUNNING ||
			    at->number != number)
				continue;
			log_info("session has ended name=%s", at->name);
			serve_remove(x->serve, number, &ignored);
			slot_clear(at);
			changed = true;
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

/* One line of the state. */
static int
resume_one(void *arg, const char *name, const uint8_t group[4], uint16_t port,
    struct err *e)
{
	struct sessions *x = arg;
	struct catalog_entry entry;
	struct err why;
	struct slot *at = free_slot(x);

	if (at == NULL || group_is_taken(x, group))
		return 0;
	if (catalog_find(&entry, x->settings, name, &why) != 0) {
		log_warn("is not served any more name=%s: %s", name, why.text);
		return 0;
	}
	memcpy(at->group, group, sizeof at->group);
	at->port = port;
	int rc = begin(at, name, &entry, e);
	catalog_entry_free(&entry);
	return rc;
}

int
sessions_resume(struct sessions *x, struct err *e)
{
	return state_read(x->settings, resume_one, x, e);
}
