/* swap_session.c: a session as a whole: its place in the table, the count of its nodes, its
 * server, and its end; and sessions as they were before a restart.  swap.c and swap_node.c call
 * this, and the controller's loop, in the program's first thread. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "controller/engine/swap_impl.h"

enum { SECOND_US = 1000000 };

void
swap_touch_session(struct swap *w, struct swap_session *s)
{
	s->unsaved = true;
	s->changed = ++w->changed;
}

void
swap_say(struct swap *w, struct swap_session *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->last, sizeof s->last, fmt, ap);
	va_end(ap);
	swap_touch_session(w, s);
}

void
swap_session_free(struct swap_session *s)
{
	if (s != NULL)
		free(s->nodes);
	free(s);
}

struct swap_session *
swap_session_add(struct swap *w, uint32_t id)
{
	static const struct swap_measure none = { .median_s = -1, .worst_s = -1 };
	struct err ignored;
	struct swap_session *s = calloc(1, sizeof *s);

	if (s == NULL || grow_array(&w->sessions, &w->sessions_cap, w->nsessions,
	    sizeof *w->sessions,
			     "a session", &ignored) != 0) {
		free(s);
		return NULL;
	}
	s->id = id;
	s->sample_every_s = 1;
	for (int p = 0; p < SWAP_PHASES; p++)
		s->took[p] = none;
	s->usable_after = s->done_after = none;
	w->sessions[w->nsessions++] = s;
	if (id > w->last_id)
		w->last_id = id;
	return s;
}

static int
by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double
took_s(const struct swap_node *n, enum swap_phase p)
{
	return n->took_s[p];
}

/* Median and worst of a time of the session's nodes.  room: one for each node. */
static void
measure(const struct swap *w, const struct swap_session *s, struct swap_measure *m,
    double (*time_s)(const struct swap_node *, enum swap_phase), enum swap_phase p, double *room)
{
	*m = (struct swap_measure){ .worst_s = -1 };
	for (unsigned i = 0; i < s->total; i++) {
		const struct swap_node *node = &w->nodes[s->nodes[i]];
		double t = time_s(node, p);
		if (t < 0)
			continue;
		if (t > m->worst_s) {
			m->worst_s = t;
			strcpy(m->worst, node->name);
		}
		room[m->n++] = t;
	}
	qsort(room, m->n, sizeof *room, by_size);
	m->median_s = m->n > 0 ? (room[(m->n - 1) / 2] + room[m->n / 2]) / 2 : -1;
}

void
swap_measure_all(const struct swap *w, struct swap_session *s)
{
	double *room = s->unmeasured && s->nodes != NULL ? calloc(s->total, sizeof *room) : NULL;

	if (room == NULL)
		return;
	for (int p = SWAP_BOOTING; p <= SWAP_REBOOTING; p++)
		measure(w, s, &s->took[p], took_s, (enum swap_phase)p, room);
	measure(w, s, &s->usable_after, swap_after_s, SWAP_USABLE, room);
	measure(w, s, &s->done_after, swap_after_s, SWAP_DONE, room);
	free(room);
	s->unmeasured = false;
}

void
swap_count(struct swap *w, struct swap_session *s, enum swap_phase from, enum swap_phase to)
{
	s->count[from]--;
	s->count[to]++;
	s->unmeasured = true;
	swap_touch_session(w, s);
}

/* How many nodes have something to do. */
static unsigned
active(const struct swap_session *s)
{
	unsigned n = 0;

	for (int p = 0; p < SWAP_PHASES; p++)
		n += swap_is_active((enum swap_phase)p) ? s->count[p] : 0;
	return n;
}

double
swap_seconds(const struct swap_session *s, struct swap_now now)
{
	bool runs = s->state == SWAP_IS_RUNNING;

	return s->away_s + (runs ? (double)(now.us - s->began_us) / SECOND_US : s->spent_s);
}

/* Every other sample is dropped. */
static void
thin(struct swap_session *s)
{
	for (unsigned i = 0; 2 * i < s->nsamples; i++)
		s->samples[i] = s->samples[2 * i];
	s->nsamples = (s->nsamples + 1) / 2;
	s->sample_every_s *= 2;
}

/* Is that number of nodes done that the session waits for? */
static bool
has_enough(const struct swap_session *s)
{
	return s->sending.until != 0 && s->count[SWAP_DONE] >= s->sending.until;
}

static void
end(struct swap *w, struct swap_now now, struct swap_session *s)
{
	swap_measure_all(w, s);
	while (s->nsamples > SWAP_SAMPLES_KEPT)
		thin(s);
	s->course_unsaved = true;
	s->state = s->count[SWAP_DONE] == s->total || has_enough(s) ? SWAP_IS_DONE
	           : s->count[SWAP_STOPPED] > 0                      ? SWAP_IS_STOPPED
	                                                             : SWAP_IS_FAILED;
	s->spent_s = (double)(now.us - s->began_us) / SECOND_US;
	s->ended_s = now.wall_s > s->began_s ? now.wall_s : s->began_s;
	w->ended[s->state]++;
	if (s->state == SWAP_IS_DONE && s->count[SWAP_DONE] == s->total)
		swap_say(w, s, "all %u nodes are done", s->total);
	free(s->nodes);
	s->nodes = NULL;
}

void
swap_settle(struct swap *w, struct swap_now now, struct swap_session *s)
{
	if (s->state != SWAP_IS_RUNNING)
		return;
	if (active(s) == 0)
		end(w, now, s);
	else if (has_enough(s) && active(s) == s->count[SWAP_BOOTING])
		swap_end_all(w, now, s, SWAP_STOPPED, "as many nodes as it waits for are done");
}

void
swap_end_all(struct swap *w, struct swap_now now, struct swap_session *s, enum swap_phase phase,
    const char *why)
{
	char text[SWAP_TEXT_BYTES];

	for (unsigned i = 0; i < s->total; i++) {
		struct swap_node *n = &w->nodes[s->nodes[i]];
		if (!swap_is_active(n->phase))
			continue;
		snprintf(text, sizeof text, "while %s: %s", swap_phase_name(n->phase), why);
		swap_enter(w, now, n, phase, text);
	}
	swap_say(w, s, "%s", why);
	swap_settle(w, now, s);
}

double
swap_progress(const struct swap *w, const struct swap_session *s)
{
	double sum = 0;

	if (s->nodes == NULL)
		return s->total > 0 ? (double)s->count[SWAP_DONE] / s->total : 0;
	for (unsigned i = 0; i < s->total; i++)
		sum += swap_node_progress(&w->nodes[s->nodes[i]]);
	return s->total > 0 ? sum / s->total : 0;
}

bool
swap_wants_server(const struct swap *w, const struct swap_session *s, uint64_t now_us)
{
	if (s->state != SWAP_IS_RUNNING || s->capture || now_us < s->server_after_us)
		return false;
	for (unsigned i = 0; i < s->total; i++) {
		enum swap_phase p = w->nodes[s->nodes[i]].phase;
		if (p == SWAP_BOOTING || swap_receives(p))
			return true;
	}
	return false;
}

static const char waits[] = "waits for mfrisbeed";

bool
swap_has_place(const struct swap_session *s)
{
	return s->capture || s->port != 0;
}

void
swap_serves(struct swap *w, struct swap_session *s, const uint8_t group[4], uint16_t port)
{
	bool same = s->port == port && memcmp(s->group, group, sizeof s->group) == 0;

	if (s->serves && same)
		return;
	s->serves = true;
	s->server.blocks_sent = 0; /* another process counts from 0 */
	s->port = port;
	memcpy(s->group, group, sizeof s->group);
	swap_touch_session(w, s);
	if (strncmp(s->last, waits, sizeof waits - 1) == 0)
		swap_say(w, s, "mfrisbeed answers");
	for (unsigned i = 0; s->nodes != NULL && !same && i < s->total; i++)
		swap_show_node(w, &w->nodes[s->nodes[i]]); /* its order names the place */
}

void
swap_server_failed(struct swap *w, struct swap_now now, struct swap_session *s, const char *why,
    bool for_good)
{
	bool wanted = swap_wants_server(w, s, now.us);

	s->serves = false;
	swap_touch_session(w, s);
	if (!wanted)
		return;
	s->server.known = false;
	swap_say(w, s, "its image is not sent: %.200s", why);
	if (++s->server_failures >= SWAP_SERVER_FAILURES_MAX || for_good) {
		char text[SWAP_TEXT_BYTES];
		snprintf(text, sizeof text, "%s", s->last);
		swap_end_all(w, now, s, SWAP_FAILED, text);
		return;
	}
	s->server_after_us = now.us + (UINT64_C(1) << s->server_failures) * SECOND_US / 2;
}

void
swap_server_away(struct swap *w, struct swap_session *s, const char *why)
{
	char text[SWAP_TEXT_BYTES];

	snprintf(text, sizeof text, "%s: %.200s", waits, why);
	s->serves = false;
	if (s->state == SWAP_IS_RUNNING && !s->capture && strcmp(s->last, text) != 0)
		swap_say(w, s, "%s", text);
}

void
swap_holds(struct swap *w, struct swap_session *s, bool holds)
{
	s->holds = holds;
	s->serves &= holds;
	s->changed = ++w->changed;
}

void
swap_noted(struct swap *w, uint32_t id)
{
	struct swap_session *s = swap_find_session(w, id);

	if (s != NULL)
		s->noted = true;
}

static void
add_sample(struct swap_session *s, const struct swap_sample *at)
{
	if (s->nsamples > 0 &&
	    at->at_s < s->samples[s->nsamples - 1].at_s + (float)s->sample_every_s * 0.9f)
		return;
	if (s->nsamples == SWAP_SAMPLES_MAX)
		thin(s);
	s->samples[s->nsamples++] = *at;
}

/* Adds what is true at this moment, with this rate and loss. */
static void
sample(struct swap *w, struct swap_now now, struct swap_session *s, double rate, double lost)
{
	add_sample(s, &(struct swap_sample){ (float)swap_seconds(s, now), (float)rate, (float)lost,
			  (float)swap_progress(w, s) });
}

void
swap_captured(struct swap *w, struct swap_now now, struct swap_session *s, const struct swap_view *v)
{
	s->server.rate_bits_per_s = (uint64_t)v->rate_bits_per_s;
	sample(w, now, s, v->rate_bits_per_s, 0);
	s->changed = ++w->changed;
}

void
swap_served(struct swap *w, struct swap_now now, struct swap_session *s,
    const struct swap_server *v)
{
	if (v->blocks_sent > s->server.blocks_sent)
		s->server_failures = 0; /* only failures in a row count, and this process sends */
	s->server = *v;
	s->server.known = true;
	if (s->state == SWAP_IS_RUNNING)
		sample(w, now, s, (double)v->rate_bits_per_s, v->share_lost);
	else
		s->course_unsaved = true; /* its last words */
	s->changed = ++w->changed;
}

/* After a restart: the time without a controller counts for readers (away_s), unless the wall
 * clock cannot be right, and samples are taken at the same distance as before. */
static void
go_on(struct swap_session *s, double wall_s)
{
	double seen_s = s->seen_s > 0 ? s->seen_s : s->began_s + s->spent_s;
	double away_s = wall_s - seen_s;

	if (away_s > 0 && away_s < s->timeout_s)
		s->away_s += away_s;
	s->seen_s = wall_s;
	s->sample_every_s = 1;
	if (s->nsamples > 1)
		s->sample_every_s = (s->samples[s->nsamples - 1].at_s - s->samples[0].at_s) / (s->nsamples - 1);
	if (!(s->sample_every_s > 1))
		s->sample_every_s = 1;
}

int
swap_restore_session(struct swap *w, struct swap_now now, const struct swap_session *was,
    struct err *e)
{
	if (was->id == 0 || swap_find_session(w, was->id) != NULL || was->state >= SWAP_STATES)
		return err_set(e, ERR_FORMAT, "session %u has values that no session has", was->id);
	struct swap_session *s = swap_session_add(w, was->id);
	if (s == NULL)
		return err_nomem(e, "a session");
	*s = *was;
	s->nodes = NULL;
	s->unmeasured = s->unsaved = s->course_unsaved = s->serves = s->holds = false;
	s->changed = ++w->changed;
	s->server_after_us = 0;
	if (s->state != SWAP_IS_RUNNING)
		return 0;
	s->total = 0;
	go_on(s, now.wall_s);
	/* The wall clock may have jumped, so the deadline of the session does not depend on how
	 * long the controller was away. */
	uint64_t spent_us = s->spent_s > 0 && s->spent_s < s->timeout_s
	                        ? (uint64_t)(s->spent_s * SECOND_US)
	                        : 0;
	/* After a boot of this machine its clock may be below spent_us: the number wraps, and
	 * so do the differences that are taken with it, which are right then. */
	s->began_us = now.us - spent_us;
	s->deadline_us = s->began_us + (uint64_t)s->timeout_s * SECOND_US;
	return 0;
}

static int
add_member(struct swap_session *s, uint32_t number, struct err *e)
{
	uint32_t *more = realloc(s->nodes, (s->total + 1) * sizeof *more);

	if (more == NULL)
		return err_nomem(e, "a session");
	s->nodes = more;
	s->nodes[s->total++] = number;
	return 0;
}

int
swap_restore_node(struct swap *w, struct swap_now now, const struct swap_node *was, struct err *e)
{
	struct swap_session *s = swap_find_session(w, was->session);
	struct swap_node *n = swap_find_node(w, was->name);
	bool running = s != NULL && s->state == SWAP_IS_RUNNING, leaves = n == NULL;

	if (was->phase >= SWAP_PHASES || (!running && swap_is_active(was->phase)))
		return err_set(e, ERR_FORMAT, "%.200s cannot be in this phase", was->name);
	if (n == NULL && !running)
		return 0;
	if (n == NULL) {
		if (swap_add_node(w, was->name, was->mac, was->smbios, e) != 0)
			return -1;
		n = &w->nodes[w->nnodes - 1];
	}
	struct swap_node machine = *n; /* as the file of nodes has it now */
	*n = *was;
	swap_take_machine(n, &machine);
	memcpy(n->ip, machine.ip, 4);
	swap_index_address(w, n, was->ip);
	n->viewed = n->unsaved = false;
	n->filled = -1;
	n->leaves = leaves;
	double ago = now.wall_s - n->since_s;
	uint64_t ago_us = ago > 0 && ago < 1e6 ? (uint64_t)(ago * SECOND_US) : 0;
	n->since_us = now.us - ago_us; /* may wrap, as began_us of a session */
	n->sign_us = now.us;
	swap_show_node(w, n);
	return running ? add_member(s, (uint32_t)(n - w->nodes), e) : 0;
}

static void
count_again(struct swap *w, struct swap_session *s)
{
	memset(s->count, 0, sizeof s->count);
	for (unsigned i = 0; i < s->total; i++)
		s->count[w->nodes[s->nodes[i]].phase]++;
	s->unmeasured = true;
	swap_measure_all(w, s);
	swap_touch_session(w, s);
}

void
swap_restored(struct swap *w, struct swap_now now)
{
	for (size_t i = 0; i < w->nsessions; i++) {
		struct swap_session *s = w->sessions[i];
		if (s->state == SWAP_IS_RUNNING)
			count_again(w, s);
		swap_settle(w, now, s);
	}
}

void
swap_saved(struct swap *w)
{
	for (size_t i = 0; i < w->nsessions; i++)
		w->sessions[i]->unsaved = w->sessions[i]->course_unsaved = false;
	for (size_t i = 0; i < w->nnodes; i++)
		w->nodes[i].unsaved = false;
}

void
swap_forget(struct swap *w)
{
	size_t ended = 0, kept = 0;

	for (size_t i = 0; i < w->nsessions; i++)
		ended += w->sessions[i]->state != SWAP_IS_RUNNING;
	for (size_t i = 0; i < w->nsessions; i++) {
		struct swap_session *s = w->sessions[i];
		if (s->state != SWAP_IS_RUNNING && ended > SWAP_RECENT_MAX && !s->unsaved &&
		    !s->course_unsaved && !s->holds) {
			ended--;
			swap_session_free(s);
		} else {
			w->sessions[kept++] = s;
		}
	}
	w->nsessions = kept;
}
