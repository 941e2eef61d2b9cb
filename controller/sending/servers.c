/* servers.c: what mfrisbeed sends for the sessions (servers.h).  The controller's loop calls this, in
 * the program's first thread.
 *
 * mfrisbeed's list says for whom it holds each image: a session's label has the salt of this
 * controller's state and the session's number.  A session that wants a server and is in no line of
 * the list is asked for; one that is there and is not wanted is ended.  So it does not matter which
 * of the two programs was killed, and when. */
#include "controller/sending/servers.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/args.h"
#include "common/base/beside.h"
#include "common/base/log.h"
#include "common/base/number.h"
#include "common/base/path.h"
#include "common/base/replace.h"
#include "common/base/statements.h"
#include "common/wire/addr.h"
#include "controller/sending/link.h"
#include "controller/sending/notes.h"
#include "mfrisbeed/master/local.h"
#include "mfrisbeed/master/names.h"
#include "mfrisbeed/master/session_stats.h"

/* LAST_US: statistics are written once a second; those behind the end of the last load are waited for. */
enum { HELD_MAX = 4 * SWAP_RUNNING_MAX, LAST_US = 3000000 };

/* What mfrisbeed holds for a session. */
struct held {
	struct servers *of;
	uint32_t session; /* 0: this place is free */
	bool listed;      /* in the list that has come last */
	bool serves, failed;
	char name[SWAP_NAME_BYTES], statistics[PATH_BYTES];
	struct timespec stats_at;       /* of those that were read last */
	struct swap_now unwanted;       /* since when; zeros: it is wanted */
};

struct servers {
	struct swap *w;
	struct servers_config c;
	struct link *link;
	struct args start; /* the command line of an own mfrisbeed */
	char own[PATH_BYTES], socket[PATH_BYTES], config[PATH_BYTES], program[PATH_BYTES],
	    key[NAMES_ENCODED_BYTES];
	struct held held[HELD_MAX];
	struct jtree *list; /* what it has said last; NULL: it does not answer */
	struct notes notes;
	enum { BEGINS, ENDS, LISTS, TELLS, NOTES } request; /* the one that is not answered */
	uint32_t asked;                                     /* its session */
	uint64_t images_wanted, images_asked; /* numbers of questions */
	bool wanted;                          /* a session waits for mfrisbeed */
};

static struct swap_now
now_is(const struct servers *x)
{
	return x->c.now(x->c.arg);
}

static struct held *
find(struct servers *x, uint32_t session)
{
	for (int i = 0; i < HELD_MAX; i++)
		if (x->held[i].session == session)
			return &x->held[i];
	return NULL;
}

/* --- what mfrisbeed says --- */

/* The session whose label this is; 0: it is somebody else's. */
static uint32_t
session_of(const struct servers *x, const char *label)
{
	size_t n = strlen(x->w->config.salt);
	struct err ignored;
	uint64_t id;

	if (label == NULL || strncmp(label, x->w->config.salt, n) != 0 || label[n] != '-' ||
	    number_uint(label + n + 1, 1, UINT32_MAX, &id, &ignored) != 0)
		return 0;
	return (uint32_t)id;
}

static void
copy(char *to, size_t cap, const char *text)
{
	snprintf(to, cap, "%s", text != NULL ? text : "");
}

/* Takes a line of the list, for one of its holders. */
static void
take(struct servers *x, const struct jtree *line, uint32_t session)
{
	struct swap_session *s = swap_find_session(x->w, session);
	const char *state = jtree_text(jtree_get(line, "state"));
	const char *group = jtree_text(jtree_get(line, "group"));
	const char *why = jtree_text(jtree_get(line, "error"));
	struct held *h = find(x, session);
	struct err ignored;
	uint64_t port = 0;
	uint8_t addr[4];

	if (h == NULL && (h = find(x, 0)) == NULL)
		return;
	h->of = x;
	h->session = session;
	h->listed = true;
	h->serves = state != NULL && strcmp(state, "serving") == 0;
	bool failed = state != NULL && strcmp(state, "failed") == 0, anew = failed && !h->failed;
	h->failed = failed;
	copy(h->name, sizeof h->name, jtree_text(jtree_get(line, "name")));
	copy(h->statistics, sizeof h->statistics, jtree_text(jtree_get(line, "statistics")));
	if (s == NULL)
		return;
	if (!s->holds)
		swap_holds(x->w, s, true);
	if (anew)
		swap_server_failed(x->w, now_is(x), s, why != NULL ? why : "nobody knows why", false);
	if (h->serves && group != NULL && addr_parse(group, addr, &ignored) == 0 &&
	    jtree_whole(jtree_get(line, "port"), &port) && port > 0 && port <= UINT16_MAX)
		swap_serves(x->w, s, addr, (uint16_t)port);
}

/* mfrisbeed does not hold it any more. */
static void
let_go(struct servers *x, struct held *h)
{
	struct swap_session *s = swap_find_session(x->w, h->session);

	if (s != NULL && h->unwanted.us == 0 && !h->failed)
		swap_server_failed(x->w, now_is(x), s, "mfrisbeed has ended it", false);
	if (s != NULL)
		swap_holds(x->w, s, false);
	*h = (struct held){ 0 };
}

static void
listed(void *arg, struct jtree *list)
{
	struct servers *x = arg;
	const struct jtree *sessions = jtree_get(list, "sessions");

	jtree_free(x->list);
	x->list = list;
	for (int i = 0; i < HELD_MAX; i++)
		x->held[i].listed = false;
	for (size_t i = 0; i < jtree_count(sessions); i++) {
		const struct jtree *line = jtree_at(sessions, i), *who = jtree_get(line, "holders");
		for (size_t k = 0; k < jtree_count(who); k++) {
			uint32_t session = session_of(x, jtree_text(jtree_at(who, k)));
			if (session != 0)
				take(x, line, session);
		}
	}
	for (int i = 0; i < HELD_MAX; i++)
		if (x->held[i].session != 0 && !x->held[i].listed)
			let_go(x, &x->held[i]);
	servers_settle(x);
}

/* A session is begun or ended, or that was refused. */
static void
changed(struct servers *x, const char *why)
{
	struct swap_session *s = swap_find_session(x->w, x->asked);
	struct held *h = find(x, x->asked);

	if (why == NULL)
		return;
	log_warn("mfrisbeed: session=%u: %s", x->asked, why);
	if (x->request == ENDS && h != NULL)
		*h = (struct held){ 0 }; /* the next list says what is so */
	else if (x->request == BEGINS && s != NULL)
		swap_server_failed(x->w, now_is(x), s, why, false);
}

static void
answered(void *arg, struct jtree *said, const char *why)
{
	struct servers *x = arg;

	if (x->request == LISTS) {
		x->c.images_said(x->c.arg, x->images_asked, said, why);
	} else if (x->request == TELLS) {
		x->c.members_said(x->c.arg, x->asked, said, why);
	} else {
		if (x->request == NOTES)
			notes_answered(&x->notes, now_is(x).us, said, why);
		else
			changed(x, why);
		jtree_free(said);
	}
	servers_settle(x);
}

/* Nobody answers, until it is asked again when somebody does. */
static void
no_answers(struct servers *x, const char *why)
{
	x->c.images_said(x->c.arg, x->images_wanted, NULL, why);
	x->images_wanted = x->images_asked + 1;
	x->c.members_said(x->c.arg, 0, NULL, why);
	notes_again(&x->notes);
}

static void
lost(void *arg, const char *why)
{
	struct servers *x = arg;

	no_answers(x, why);
	jtree_free(x->list);
	x->list = NULL;
	for (size_t i = 0; i < x->w->nsessions; i++)
		if (x->w->sessions[i]->state == SWAP_IS_RUNNING)
			swap_server_away(x->w, x->w->sessions[i], why);
}

static void
unable(void *arg, const char *why, bool for_good)
{
	struct servers *x = arg;

	no_answers(x, why);
	for (size_t i = 0; i < x->w->nsessions; i++)
		if (x->w->sessions[i]->state == SWAP_IS_RUNNING)
			swap_server_failed(x->w, now_is(x), x->w->sessions[i], why, for_good);
}

/* --- what it is asked --- */

static void
begin(struct servers *x, const struct swap_session *s)
{
	char line[STATEMENT_BYTES_MAX], name[NAMES_ENCODED_BYTES], orders[NAMES_ENCODED_BYTES];
	const struct swap_sending *how = &s->sending;
	char group[ADDR_TEXT_MAX];
	int n;

	names_encode(s->image, name);
	names_encode(how->orders, orders);
	n = sprintf(line, "begin %s holder=%s-%u", name, x->w->config.salt, s->id);
	if (s->port != 0) /* its nodes wait there */
		n += sprintf(line + n, " at=%s:%u", addr_text(s->group, group), s->port);
	if (how->bandwidth_bits_per_s != 0)
		n += sprintf(line + n, " rate=%" PRIu64, how->bandwidth_bits_per_s);
	else if (x->c.rate != NULL)
		n += sprintf(line + n, " rate=%.40s", x->c.rate);
	if (how->wait != 0)
		n += sprintf(line + n, " wait=%" PRIu64, how->wait);
	if (how->orders[0] != '\0')
		n += sprintf(line + n, " orders=%s", orders);
	if (x->c.group_key != NULL)
		sprintf(line + n, " group-key=%s", x->key);
	x->asked = s->id;
	x->request = BEGINS;
	log_info("mfrisbeed is asked for session=%u image=%s", s->id, s->image);
	link_ask(x->link, line, true);
}

static void
end(struct servers *x, const struct held *h)
{
	char line[STATEMENT_BYTES_MAX], name[NAMES_ENCODED_BYTES];

	names_encode(h->name, name);
	snprintf(line, sizeof line, "end %s holder=%s-%u", name, x->w->config.salt, h->session);
	x->asked = h->session;
	x->request = ENDS;
	link_ask(x->link, line, true);
}

static bool
is_wanted(const struct servers *x, const struct held *h, struct swap_now now)
{
	const struct swap_session *s = swap_find_session(x->w, h->session);

	return s != NULL && swap_wants_server(x->w, s, now.us);
}

/* A session that is over is held until its last statistics were read. */
static bool
is_over(const struct servers *x, struct held *h, struct swap_now now)
{
	const struct swap_session *s = swap_find_session(x->w, h->session);
	double read_s = (double)h->stats_at.tv_sec + (double)h->stats_at.tv_nsec / 1e9;

	if (is_wanted(x, h, now)) {
		h->unwanted = (struct swap_now){ 0 };
		return false;
	}
	/* One that has failed is asked for again after a pause, and is no other one meanwhile. */
	if (s != NULL && h->failed && s->state == SWAP_IS_RUNNING)
		return false;
	if (h->unwanted.us == 0)
		h->unwanted = now;
	return s == NULL || !h->serves || now.us > h->unwanted.us + LAST_US ||
	       read_s >= h->unwanted.wall_s;
}

/* Asks for what the history has, or tells it something. */
static void
ask_history(struct servers *x, struct swap_now now)
{
	char line[LOCAL_LINE_BYTES];
	uint32_t session = x->c.members_wanted(x->c.arg);

	x->asked = session;
	x->request = session != 0 ? TELLS : NOTES;
	if (session != 0)
		snprintf(line, sizeof line, "members holder=%s-%u", x->w->config.salt, session);
	if (session != 0 || notes_next(&x->notes, now.us, line, sizeof line))
		link_ask(x->link, line, false);
}

/* Asks for one thing. */
static void
ask(struct servers *x, struct swap_now now)
{
	for (size_t i = 0; i < x->w->nsessions; i++) {
		const struct swap_session *s = x->w->sessions[i];
		const struct held *h = find(x, s->id);
		if ((h == NULL || h->failed) && swap_wants_server(x->w, s, now.us)) {
			begin(x, s);
			return;
		}
	}
	for (int i = 0; i < HELD_MAX; i++)
		if (x->held[i].session != 0 && is_over(x, &x->held[i], now)) {
			end(x, &x->held[i]);
			return;
		}
	if (x->images_wanted > x->images_asked) {
		x->images_asked = x->images_wanted;
		x->request = LISTS;
		link_ask(x->link, "images", false);
		return;
	}
	ask_history(x, now);
}

void
servers_settle(struct servers *x)
{
	struct swap_now now = now_is(x);
	bool wanted = false;

	for (size_t i = 0; i < x->w->nsessions; i++)
		wanted |= swap_wants_server(x->w, x->w->sessions[i], now.us);
	if (wanted && !x->wanted)
		link_hurry(x->link);
	x->wanted = wanted;
	if (link_is_idle(x->link))
		ask(x, now);
}

uint64_t
servers_ask_images(struct servers *x)
{
	/* Not one that was asked before: its answer may be of before, too. */
	const uint64_t number = x->images_wanted = x->images_asked + 1;

	if (link_is_idle(x->link))
		ask(x, now_is(x));
	return number;
}

/* --- statistics --- */

static void
view(void *arg, const struct session_stats_client *c)
{
	struct held *h = arg;
	struct servers *x = h->of;
	struct swap_view v;

	if (!c->progresses)
		return;
	memset(&v, 0, sizeof v); /* it is compared as bytes */
	v.progress = c->progress;
	v.rate_bits_per_s = c->rate;
	v.share_lost = c->share_lost;
	v.seconds_left = c->seconds_left;
	v.silence_s = c->silence_s;
	v.slow = c->slow_link ? SWAP_SLOW_LINK : c->slow_disk ? SWAP_SLOW_DISK : SWAP_NOT_SLOW;
	swap_viewed(x->w, now_is(x), swap_find_session(x->w, h->session), c->ip, &v);
}

static void
look(struct servers *x, struct held *h, struct swap_session *s)
{
	struct session_stats said;
	struct stat st;
	struct err e;

	if (stat(h->statistics, &st) != 0 || memcmp(&st.st_mtim, &h->stats_at, sizeof h->stats_at) == 0)
		return;
	h->stats_at = st.st_mtim;
	if (session_stats_read(h->statistics, &said, view, h, &e) != 0) {
		log_warn("%s", e.text);
		return;
	}
	struct swap_server seen = { .chunks = said.chunks,
		.blocks_sent = said.blocks_sent,
		.blocks_resent = said.blocks_resent,
		.rate_bits_per_s = (uint64_t)said.rate,
		.share_lost = said.share_lost };
	strcpy(seen.chunk_map, said.chunk_map);
	if (said.serves)
		swap_served(x->w, now_is(x), s, &seen);
}

void
servers_look(struct servers *x)
{
	for (int i = 0; i < HELD_MAX; i++) {
		struct held *h = &x->held[i];
		struct swap_session *s =
		    h->session != 0 && h->serves ? swap_find_session(x->w, h->session) : NULL;
		if (s != NULL)
			look(x, h, s);
	}
}

const struct jtree *
servers_sent(const struct servers *x)
{
	return jtree_get(x->list, "sessions");
}

/* --- an mfrisbeed of its own --- */

static int
write_config(struct servers *x, struct err *e)
{
	struct buf text = { 0 };
	int rc = 0;

	if (statements_write(&text, e, "images %s", x->c.images) != 0 ||
	    (x->c.store != NULL && statements_write(&text, e, "store %s", x->c.store) != 0) ||
	    statements_write(&text, e, "group %s count=%d port=%u+", x->c.group, SWAP_RUNNING_MAX,
		x->c.port) != 0 ||
	    statements_write(&text, e, "interface %s", x->c.address) != 0 ||
	    statements_write(&text, e, "state %s", x->own) != 0 ||
	    statements_write(&text, e, "allow 127.0.0.1") != 0 ||
	    replace_file(x->config, text.base, text.len, 0644, 0, e) != 0)
		rc = err_ctx(e, "the configuration of mfrisbeed");
	buf_free(&text);
	return rc;
}

static int
make_own(struct servers *x, struct err *e)
{
	if (path_in(x->own, x->c.state, "mfrisbeed", e) != 0 ||
	    path_in(x->config, x->c.state, "mfrisbeed.conf", e) != 0 ||
	    path_in(x->socket, x->c.state, "mfrisbeed.sock", e) != 0 || write_config(x, e) != 0)
		return -1;
	if (!beside_find(x->program, sizeof x->program, "mfrisbeed"))
		strcpy(x->program, "mfrisbeed");
	args_add(&x->start, x->program);
	args_add(&x->start, "-c");
	args_add(&x->start, x->config);
	args_addf(&x->start, "--local=%s", x->socket);
	args_add(&x->start, "--only-local");
	args_add(&x->start, "--json"); /* if it fails */
	if (x->c.debug)
		args_add(&x->start, "--debug");
	if (x->c.quiet)
		args_add(&x->start, "--quiet");
	if (x->c.syslog)
		args_add(&x->start, "--syslog");
	return args_check(&x->start, e);
}

static int
prepare(struct servers *x, struct loop *loop, struct err *e)
{
	char key[PATH_MAX];

	if (x->c.group_key != NULL && realpath(x->c.group_key, key) == NULL)
		return err_os(e, "%s", x->c.group_key);
	if (x->c.group_key != NULL && strlen(key) > MASTER_NAME_MAX)
		return err_set(e, ERR_USAGE, "%.200s...: the path is too long for a key", key);
	if (x->c.group_key != NULL)
		names_encode(key, x->key);
	if (x->c.master == NULL && make_own(x, e) != 0)
		return -1;
	const struct link_config link = { .socket = x->c.master != NULL ? x->c.master : x->socket,
		.start = x->c.master == NULL ? x->start.v : NULL,
		.listed = listed,
		.answered = answered,
		.lost = lost,
		.unable = unable,
		.arg = x };
	return link_open(&x->link, loop, &link, e);
}

int
servers_open(struct servers **out, struct loop *loop, struct swap *w,
    const struct servers_config *c, struct err *e)
{
	struct servers *x = calloc(1, sizeof *x);

	*out = x;
	if (x == NULL)
		return err_nomem(e, "the servers");
	x->w = w;
	x->c = *c;
	x->notes = (struct notes){ .db = c->db, .w = w };
	x->images_wanted = 1;
	return prepare(x, loop, e);
}

void
servers_close(struct servers *x)
{
	bool any = false;

	if (x == NULL)
		return;
	for (int i = 0; i < HELD_MAX; i++)
		any |= x->held[i].session != 0 && is_wanted(x, &x->held[i], now_is(x));
	link_close(x->link, !any);
	args_free(&x->start);
	jtree_free(x->list);
	free(x);
}
