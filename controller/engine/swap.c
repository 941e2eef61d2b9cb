/* swap.c: the tables of the controller's engine (nodes and sessions), how a session begins and
 * is stopped, and what time does.  The controller's loop and its answers to HTTP call this, in
 * the program's first thread. */
#include "controller/engine/swap.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/grow.h"
#include "common/base/hostlist.h"
#include "controller/engine/swap_impl.h"

/* A controller that was killed shows times that are wrong by this much at most.  Saving more often
 * would write to the disk all the time for nothing else. */
enum { SAVE_EVERY_S = 10 };

static const char *const phases[] = { "idle", "booting", "loading", "personalising", "capturing",
	"verifying", "streaming", "usable", "rebooting", "done", "failed", "stopped" };
static const char *const states[] = { "running", "done", "failed", "stopped" };

const char *
swap_phase_name(enum swap_phase p)
{
	return phases[p];
}

const char *
swap_state_name(enum swap_state s)
{
	return states[s];
}

bool
swap_is_active(enum swap_phase p)
{
	return p >= SWAP_BOOTING && p <= SWAP_REBOOTING;
}

bool
swap_receives(enum swap_phase p)
{
	return p == SWAP_LOADING || p == SWAP_STREAMING || p == SWAP_USABLE;
}

bool
swap_shows_view(enum swap_phase p)
{
	return swap_receives(p) || p == SWAP_CAPTURING;
}

bool
swap_awaits_up(const struct swap_node *n)
{
	return n->phase == SWAP_REBOOTING || n->phase == SWAP_STREAMING;
}

void
swap_init(struct swap *w, const struct swap_config *c)
{
	*w = (struct swap){ .config = *c };
}

void
swap_free(struct swap *w)
{
	for (size_t i = 0; i < w->nsessions; i++)
		swap_session_free(w->sessions[i]);
	free(w->sessions);
	swap_index_free(w);
	free(w->nodes);
	*w = (struct swap){ 0 };
}

static bool
may_be_name(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n >= SWAP_NAME_BYTES || name[0] == '.' || name[0] == '-')
		return false;
	for (; *name != '\0'; name++)
		if (!isalnum((unsigned char)*name) && strchr(".-_", *name) == NULL)
			return false;
	return true;
}

/* Can there be this node, too?  Another one with its UUID or serial number is doubted, as it is. */
static int
check_machine(const struct swap *w, struct swap_node *fresh, struct err *e)
{
	struct swap_node *twin = fresh->smbios[0] != '\0' ? swap_index_find(w, SWAP_BY_SMBIOS, fresh->smbios, NULL) : NULL;

	fresh->doubted = twin != NULL;
	const struct swap_node *same = swap_confused(w, fresh);
	if (same != NULL)
		return err_set(e, ERR_USAGE, "%s has the MAC address of %s", fresh->name, same->name);
	if (twin == NULL)
		return 0;
	twin->doubted = true;
	same = swap_confused(w, twin);
	return same == NULL ? 0
	                    : err_set(e, ERR_USAGE, "%s has the UUID or serial number of %s, which has the MAC address of %s",
	                          fresh->name, twin->name, same->name);
}

int
swap_add_node(struct swap *w, const char *name, const uint8_t mac[6], const char *smbios, struct err *e)
{
	struct swap_node fresh = { .phase = SWAP_IDLE };

	if (!may_be_name(name))
		return err_set(e, ERR_USAGE,
		    "\"%.100s\": the name of a node has letters, digits and .-_ alone", name);
	if (swap_find_node(w, name) != NULL)
		return err_set(e, ERR_USAGE, "%s is there twice", name);
	strcpy(fresh.name, name);
	memcpy(fresh.mac, mac, 6);
	snprintf(fresh.smbios, sizeof fresh.smbios, "%s", smbios);
	if (check_machine(w, &fresh, e) != 0)
		return -1;
	if (w->nnodes >= SWAP_NODES_MAX)
		return err_set(e, ERR_USAGE, "more than %d nodes", SWAP_NODES_MAX);
	if (grow_array(&w->nodes, &w->nodes_cap, w->nnodes, sizeof *w->nodes, "the nodes",
	    e) != 0 ||
	    swap_index_room(w, w->nnodes + 1, e) != 0)
		return -1;
	struct swap_node *n = &w->nodes[w->nnodes++];
	*n = fresh;
	for (int p = 0; p < SWAP_PHASES; p++)
		n->took_s[p] = -1;
	swap_index_add(w, n);
	swap_show_node(w, n);
	return 0;
}

struct swap_node *
swap_find_node(const struct swap *w, const char *name)
{
	return swap_index_find(w, SWAP_BY_NAME, name, NULL);
}

static bool
session_before(const void *swap, size_t i, uint64_t id)
{
	const struct swap *w = swap;

	return w->sessions[i]->id < id;
}

struct swap_session *
swap_find_session(const struct swap *w, uint32_t id)
{
	size_t from = bisect(w->nsessions, w, id, session_before);

	return from < w->nsessions && w->sessions[from]->id == id ? w->sessions[from] : NULL;
}

struct swap_session *
swap_find_request(const struct swap *w, const char *request)
{
	for (size_t i = 0; request[0] != '\0' && i < w->nsessions; i++)
		if (strcmp(w->sessions[i]->request, request) == 0)
			return w->sessions[i];
	return NULL;
}

/* Has the word only characters that mean nothing to iPXE and GRUB?  netboot/server/order allows
 * the same ones. */
static bool
is_word(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && strchr("=.,:_/+@%*?-", text[i]) == NULL)
			return false;
	return n > 0;
}

static const char prefix[] = "frisbee.";

/* Is it frisbee.NAME=... with one of these names? */
static bool
is_one_of(const char *word, const char *const *names)
{
	if (strncmp(word, prefix, sizeof prefix - 1) != 0)
		return false;
	word += sizeof prefix - 1;
	for (; *names != NULL; names++)
		if (strncmp(word, *names, strlen(*names)) == 0 && word[strlen(*names)] == '=')
			return true;
	return false;
}

/* Those of netboot/node/words that the controller does not write itself. */
static bool
is_of_order(const char *word)
{
	static const char *const names[] = { "address", "after", "ask", "bootentry", "decrypt",
		"disk", "fit", "fit-lv", "grow", "hostname", "network", "newids", "nic", "onfail",
		"options", "personalise", "retry", "root", "set", "stream", "syslog", "verify-key", NULL };

	return is_one_of(word, names);
}

/* Is it a word for a program that loads, or for what is done to a disk that was loaded, before
 * its system starts? */
static bool
is_for_loads(const char *word)
{
	static const char *const names[] = { "bootentry", "options", "hostname", "personalise",
		"network", "newids", "fit", "fit-lv", "grow", "set", NULL };

	return is_one_of(word, names);
}

/* A key that has no name would count as not there. */
static bool
names_no_key(const char *word, size_t n)
{
	static const char *const names[] = { "decrypt", "verify-key", NULL };

	return is_one_of(word, names) && word[n - 1] == '=';
}

/* Is it a word for a program that loads, or for a disk that was loaded? */
static bool
is_not_for_captures(const char *word)
{
	static const char *const names[] = { "bootentry", "decrypt", "fit", "fit-lv", "grow",
		"hostname", "network", "newids", "personalise", "set", "stream", "verify-key", NULL };

	return is_one_of(word, names);
}

/* Why the word counts for nothing in this session; NULL: it counts. */
static const char *
without_effect(const struct swap_wish *wish, const char *word)
{
	if (wish->stream && is_for_loads(word))
		return "that streams";
	return wish->capture && is_not_for_captures(word) ? "that is captured" : NULL;
}

static int
check_words(const struct swap_wish *wish, struct err *e)
{
	const char *words = wish->words;

	while (*words != '\0') {
		size_t n = strcspn(words, " ");
		if (n > 0 && (!is_word(words, n) || !is_of_order(words)))
			return err_set(e, ERR_USAGE,
			    "\"%.*s\" cannot be a word of an order: frisbee.NAME=VALUE, which there "
			    "is, and which the controller does not set itself",
			    (int)(n < 100 ? n : 100), words);
		if (n > 0 && names_no_key(words, n))
			return err_set(e, ERR_USAGE, "\"%.*s\" names no key", (int)n, words);
		if (without_effect(wish, words) != NULL)
			return err_set(e, ERR_USAGE, "\"%.*s\" has no effect on a node %s",
			    (int)(n < 100 ? n : 100), words, without_effect(wish, words));
		words += n + strspn(words + n, " ");
	}
	return 0;
}

/* Can an image that is captured have this name?  netboot/receive takes such ones, and those that end
 * in .ndz are images (catalog.c). */
static bool
is_name_of_image(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && strchr("._-", name[i]) == NULL)
			return false;
	return n > 4 && name[0] != '.' && name[0] != '-' && strcmp(name + n - 4, ".ndz") == 0;
}

static int
check_capture(const struct swap *w, const struct swap_wish *wish, struct err *e)
{
	if (wish->replace && !wish->capture)
		return err_set(e, ERR_USAGE, "only what is captured replaces an image");
	if (!wish->capture)
		return 0;
	if (wish->stream)
		return err_set(e, ERR_USAGE, "a node that is captured does not stream");
	if (!is_name_of_image(wish->image))
		return err_set(e, ERR_USAGE,
		    "\"%.100s\" cannot be the name of an image: letters, digits and ._-, and .ndz at "
		    "the end",
		    wish->image);
	for (size_t i = 0; i < w->nsessions; i++) {
		const struct swap_session *s = w->sessions[i];
		if (s->state == SWAP_IS_RUNNING && s->capture && strcmp(s->image, wish->image) == 0)
			return err_set(e, ERR_REFUSED, "session %u captures an image %s, and runs",
			    s->id, s->image);
	}
	return 0;
}

static int
check_sending(const struct swap_wish *wish, struct err *e)
{
	const struct swap_sending *s = &wish->sending;
	bool any = s->bandwidth_bits_per_s != 0 || s->wait != 0 || s->until != 0 || s->orders[0] != '\0';

	if (wish->capture && any)
		return err_set(e, ERR_USAGE, "a session that captures sends nothing");
	if (s->bandwidth_bits_per_s != 0 && (s->bandwidth_bits_per_s < SWAP_BANDWIDTH_MIN ||
						s->bandwidth_bits_per_s > SWAP_BANDWIDTH_MAX))
		return err_set(e, ERR_USAGE, "the bandwidth is from %llu to %llu bits a second",
		    (unsigned long long)SWAP_BANDWIDTH_MIN, (unsigned long long)SWAP_BANDWIDTH_MAX);
	if (s->orders[0] != '\0' && s->orders[0] != '/')
		return err_set(e, ERR_USAGE, "the folder of orders is a path from / on, not \"%.100s\"",
		    s->orders);
	return 0;
}

/* Do the nodes suit the wish? */
static int
check_nodes(const struct swap_wish *wish, unsigned n, struct err *e)
{
	const struct swap_sending *s = &wish->sending;

	if (wish->capture && n != 1)
		return err_set(e, ERR_USAGE, "an image is captured from one node, not from %u", n);
	if (s->wait > n || s->until > n)
		return err_set(e, ERR_USAGE, "%llu nodes are waited for, and there are %u",
		    (unsigned long long)(s->wait > n ? s->wait : s->until), n);
	return 0;
}

/* Would a node take this image from elsewhere (netboot/node/media)? */
static bool
is_elsewhere(const char *image)
{
	static const char *const places[] = { "http://", "https://", "disk:", "/image/" };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (strncmp(image, places[i], strlen(places[i])) == 0)
			return true;
	return false;
}

static int
check_wish(const struct swap *w, const struct swap_wish *wish, struct err *e)
{
	size_t n = strlen(wish->request);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)wish->request[i]) && wish->request[i] != '-')
			return err_set(e, ERR_USAGE, "a request is named by letters, digits and -");
	if (!is_word(wish->image, strlen(wish->image)) || strchr(wish->image, '@') != NULL)
		return err_set(e, ERR_USAGE,
		    "an order cannot name the image \"%.100s\": letters, digits and "
		    "= . , : _ / + %% * ? - only",
		    wish->image);
	if (is_elsewhere(wish->image))
		return err_set(e, ERR_USAGE,
		    "an order cannot name the image \"%.100s\": a node would not take it from a server",
		    wish->image);
	if (wish->timeout_s < SWAP_TIMEOUT_MIN_S || wish->timeout_s > SWAP_TIMEOUT_MAX_S)
		return err_set(e, ERR_USAGE, "timeout_s is from %d to %d", SWAP_TIMEOUT_MIN_S,
		    SWAP_TIMEOUT_MAX_S);
	if (wish->tries < 1 || wish->tries > SWAP_TRIES_MAX)
		return err_set(e, ERR_USAGE, "tries is from 1 to %d", SWAP_TRIES_MAX);
	return check_sending(wish, e) == 0 && check_capture(w, wish, e) == 0 ? check_words(wish, e) : -1;
}

/* The node of this name, if it can be taken. */
static int
find_free(const struct swap *w, const char *name, uint32_t *number, struct err *e)
{
	const struct swap_node *n = swap_find_node(w, name);

	if (n == NULL)
		return err_set(e, ERR_ABSENT, "there is no node %.200s", name);
	const struct swap_session *s = n->session != 0 ? swap_find_session(w, n->session) : NULL;
	if (s != NULL && s->state == SWAP_IS_RUNNING)
		return err_set(e, ERR_REFUSED, "%s belongs to session %u, which runs", name, s->id);
	const struct swap_node *other = swap_confused(w, n);
	if (other != NULL)
		return err_set(e, ERR_REFUSED, "%s has the MAC address of %s, and nothing else tells it from that",
		    name, other->name);
	*number = (uint32_t)(n - w->nodes);
	return 0;
}

static int
by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The numbers of these nodes, each once, in ascending order; the caller frees them. */
static int
find_nodes(const struct swap *w, const char *text, uint32_t **numbers, unsigned *n, struct err *e)
{
	struct hostlist l = { 0 };
	unsigned kept = 0;
	int rc = hostlist_add(&l, text, e);

	if (rc == 0 && l.n == 0)
		rc = err_set(e, ERR_USAGE, "no node is named");
	uint32_t *all = rc == 0 ? calloc(l.n, sizeof *all) : NULL;
	if (rc == 0 && all == NULL)
		rc = err_nomem(e, "a session");
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		rc = find_free(w, l.names[i], &all[i], e);
	if (rc == 0)
		qsort(all, l.n, sizeof *all, by_number);
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		if (kept == 0 || all[kept - 1] != all[i])
			all[kept++] = all[i];
	hostlist_free(&l);
	if (rc != 0)
		free(all);
	else
		*numbers = all, *n = kept;
	return rc;
}

static int
check_running(const struct swap *w, struct err *e)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->nsessions; i++)
		n += w->sessions[i]->state == SWAP_IS_RUNNING;
	return n < SWAP_RUNNING_MAX ? 0 : err_set(e, ERR_REFUSED, "%d sessions run already", SWAP_RUNNING_MAX);
}

static void
begin(struct swap_session *s, struct swap_now now, const struct swap_wish *wish)
{
	strcpy(s->image, wish->image);
	strcpy(s->request, wish->request);
	strcpy(s->words, wish->words);
	snprintf(s->asked, sizeof s->asked, "%.1023s", wish->nodes);
	s->stream = wish->stream;
	s->capture = wish->capture;
	s->replace = wish->replace;
	s->sending = wish->sending;
	s->timeout_s = (unsigned)wish->timeout_s;
	s->tries = (unsigned)wish->tries;
	s->began_s = s->seen_s = now.wall_s;
	s->began_us = now.us;
	s->deadline_us = now.us + wish->timeout_s * 1000000;
}

int
swap_start(struct swap *w, struct swap_now now, const struct swap_wish *wish, uint32_t *id,
    bool *again, struct err *e)
{
	const struct swap_session *same = swap_find_request(w, wish->request);
	uint32_t *numbers = NULL;
	unsigned n = 0;

	*again = same != NULL;
	if (same != NULL) {
		*id = same->id;
		return 0;
	}
	if (check_wish(w, wish, e) != 0 || check_running(w, e) != 0 ||
	    find_nodes(w, wish->nodes, &numbers, &n, e) != 0)
		return -1;
	struct swap_session *s = NULL;
	if (check_nodes(wish, n, e) == 0 && (s = swap_session_add(w, w->last_id + 1)) == NULL)
		err_nomem(e, "a session");
	if (s == NULL) {
		free(numbers);
		return -1;
	}
	begin(s, now, wish);
	s->nodes = numbers;
	s->total = n;
	for (unsigned i = 0; i < n; i++)
		swap_join(w, now, &w->nodes[numbers[i]], s);
	swap_say(w, s, "%u node%s", n, n == 1 ? "" : "s");
	swap_settle(w, now, s);
	*id = s->id;
	return 0;
}

int
swap_stop(struct swap *w, struct swap_now now, uint32_t id, struct err *e)
{
	struct swap_session *s = swap_find_session(w, id);

	if (s == NULL)
		return err_set(e, ERR_ABSENT, "there is no session %u", id);
	if (s->state != SWAP_IS_RUNNING)
		return 0;
	swap_end_all(w, now, s, SWAP_STOPPED, "the session was stopped");
	return 0;
}

void
swap_take_back(struct swap *w, struct swap_now now, uint32_t id)
{
	struct swap_session *s = swap_find_session(w, id);

	if (s == NULL || s->state != SWAP_IS_RUNNING)
		return;
	s->request[0] = '\0';
	swap_end_all(w, now, s, SWAP_STOPPED, "its beginning could not be saved");
}

/* The phase that a node is in because of this report; SWAP_IDLE: the one that it was in. */
static enum swap_phase
phase_of_report(const struct swap *w, const struct swap_node *n, const struct swap_session *s,
    const char *word)
{
	bool streams = s != NULL && s->stream, captured = s != NULL && s->capture;
	static const struct {
		const char *name;
		enum swap_phase phase;
	} begins[] = { { "loading", SWAP_LOADING }, { "personalising", SWAP_PERSONALISING },
		{ "capturing", SWAP_CAPTURING }, { "verifying", SWAP_VERIFYING },
		{ "streaming", SWAP_STREAMING }, { "usable", SWAP_USABLE }, { "done", SWAP_DONE } };
	enum swap_phase next = SWAP_IDLE;

	for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
		if (strcmp(word, begins[i].name) == 0)
			next = begins[i].phase;
	/* A usable node is neither switched off nor tried again, so the word of a node is not
	 * enough for that: its session must stream, too. */
	if (!streams && (next == SWAP_STREAMING || next == SWAP_USABLE))
		return SWAP_IDLE;
	if (captured != (next == SWAP_CAPTURING || next == SWAP_VERIFYING) && next != SWAP_DONE)
		return SWAP_IDLE;
	if (!w->config.follow_up || n->phase == SWAP_USABLE)
		return next;
	/* The node says that its system was started; whether that answers is found out. */
	return next == SWAP_USABLE ? SWAP_IDLE : next == SWAP_DONE ? SWAP_REBOOTING : next;
}

/* "41 % of sda is there": the share. */
static double
filled_of(const char *text)
{
	unsigned percent;
	int n = 0;

	if (sscanf(text, "%3u %%%n", &percent, &n) != 1 || n == 0 || percent > 100)
		return -1;
	return percent / 100.0;
}

/* "41 % of sda is read, 85.0 MB/s, 120 s left": what is known of a node that is captured. */
static bool
view_of(const char *text, struct swap_view *v)
{
	unsigned rate_mb, tenths, left_s;
	const char *comma = strchr(text, ',');

	*v = (struct swap_view){ .progress = filled_of(text) };
	if (v->progress < 0 || comma == NULL ||
	    sscanf(comma, ", %9u.%1u MB/s, %9u s left", &rate_mb, &tenths, &left_s) != 3)
		return false;
	v->rate_bits_per_s = rate_mb * 8e6 + tenths * 8e5;
	v->seconds_left = left_s;
	return true;
}

/* How far the node is, as it says itself. */
static void
take_progress(struct swap *w, struct swap_now now, struct swap_node *n, struct swap_session *s,
    const char *text)
{
	if (n->phase == SWAP_USABLE)
		n->filled = filled_of(text);
	struct swap_view v;
	if (n->phase != SWAP_CAPTURING || s == NULL || !view_of(text, &v))
		return;
	n->viewed = true;
	n->view = v;
	swap_captured(w, now, s, &v);
}

int
swap_reported(struct swap *w, struct swap_now now, const struct swap_report *r,
    const uint8_t ip[4], struct err *e)
{
	char order[SWAP_ORDER_BYTES];
	struct swap_node *n = swap_who(w, now, r, e);

	if (n == NULL)
		return -1;
	swap_order_name(w, n, order);
	if (n->session == 0 || strcmp(order, r->order) != 0 || !swap_is_active(n->phase))
		return 0;
	struct swap_session *s = swap_find_session(w, n->session);
	enum swap_phase next = phase_of_report(w, n, s, r->phase);
	bool failed = strcmp(r->phase, "failed") == 0;
	if (memcmp(n->ip, ip, 4) != 0)
		swap_index_address(w, n, ip);
	n->sign_us = now.us;
	if (n->phase == SWAP_REBOOTING && !failed)
		return 0;
	if (failed) {
		swap_fail_node(w, now, n, r->text);
	} else if (next == SWAP_IDLE || next == n->phase) {
		strcpy(n->words, r->text);
		swap_touch_node(w, n);
	} else {
		swap_enter(w, now, n, next, r->text);
	}
	take_progress(w, now, n, s, r->text);
	if (s != NULL)
		swap_settle(w, now, s);
	return 0;
}

bool
swap_wants_order(const struct swap_node *n)
{
	return n->phase >= SWAP_BOOTING && n->phase <= SWAP_USABLE;
}

void
swap_order_name(const struct swap *w, const struct swap_node *n, char name[SWAP_ORDER_BYTES])
{
	snprintf(name, SWAP_ORDER_BYTES, "%s-%u-%u", w->config.salt, n->session, n->tries);
}

/* Counts the time that the session has run; it is saved every SAVE_EVERY_S, so that a controller
 * that was killed knows it. */
static void
spend(struct swap_session *s, struct swap_now now)
{
	double spent_s = (double)(now.us - s->began_us) / 1e6;

	if ((uint64_t)spent_s / SAVE_EVERY_S != (uint64_t)s->spent_s / SAVE_EVERY_S)
		s->unsaved = s->course_unsaved = true;
	s->spent_s = spent_s;
	s->seen_s = now.wall_s;
}

void
swap_tick(struct swap *w, struct swap_now now)
{
	for (size_t i = 0; i < w->nsessions; i++) {
		struct swap_session *s = w->sessions[i];
		if (s->state != SWAP_IS_RUNNING)
			continue;
		spend(s, now);
		if (now.us >= s->deadline_us) {
			swap_end_all(w, now, s, SWAP_FAILED, "the time of the session is over");
			continue;
		}
		for (unsigned k = 0; k < s->total; k++)
			swap_tick_node(w, now, &w->nodes[s->nodes[k]]);
		swap_measure_all(w, s);
		swap_settle(w, now, s);
	}
}
