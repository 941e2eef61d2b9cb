/* serve.c: how the sessions of one process come and go, and what they share (serve.h). 
 * Programs that serve images call this (frisbeed/daemon.c, tests), in any thread.  A session's
 * own thread never calls it: its last action is to put SESSION_HAS_ENDED into the mailbox. */
#include "frisbeed/serve/serve_impl.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "frisbeed/serve/neighbour.h"

enum { RETURNED_BYTES = 128 << 10 }; /* where the C library begins, too */

/* The buffers of a stream go back to the system when it has ended.  The C library would count
 * what was freed as what is needed again, and keep as much for each of 16 threads. */
static void
return_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, RETURNED_BYTES);
}

/* The number of streams that may share the rate. */
static unsigned
members_max(const struct serve_config *c)
{
	const struct session_config *o = c->session;

	return c->sessions_max *
	       (o->net.unicast || c->unicast_too ? (unsigned)o->unicast_max : 1);
}

int
serve_new(struct serve **out, const struct serve_config *c, struct err *e)
{
	struct serve *s = calloc(1, sizeof *s + c->sessions_max * sizeof s->session[0]);
	unsigned members = members_max(c);
	int rc = 0;

	if (s == NULL)
		return err_nomem(e, "the sessions");
	return_memory();
	s->cfg = *c;
	pthread_mutex_init(&s->lock, NULL);
	/* A stream that is alone keeps its own pace. */
	if (c->share != NULL) {
		rc = budget_open(&s->budget, c->share, e);
	} else if (c->rate != 0 && members > 1) {
		s->budget = budget_new(c->rate, members);
		if (s->budget == NULL)
			rc = err_nomem(e, "the sessions");
	}
	if (rc == 0)
		rc = mailbox_new(&s->ended, c->sessions_max, e);
	if (rc != 0)
		serve_free(s);
	else
		*out = s;
	return rc;
}

void
serve_free(struct serve *s)
{
	if (s == NULL)
		return;
	for (unsigned i = 0; i < s->cfg.sessions_max; i++)
		if (s->session[i] != NULL)
			session_stop(s->session[i]);
	for (unsigned i = 0; i < s->cfg.sessions_max; i++) {
		struct session *x = s->session[i];
		if (x != NULL && x->state == SESSION_SERVING)
			session_join(x);
		session_free(x);
	}
	mailbox_free(s->ended);
	budget_free(s->budget);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct session **
free_place(struct serve *s)
{
	struct session **at = s->session;

	/* There is a free entry for each session that `taken` counts. */
	while (*at != NULL)
		at++;
	return at;
}

/* Reserves room and numbers for n sessions. */
static int
reserve(struct serve *s, unsigned n, uint32_t *numbers, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	if (n > s->cfg.sessions_max - s->taken)
		rc = err_set(e, ERR_REFUSED,
		    "no room for another session: there may be %u at once",
		    s->cfg.sessions_max);
	else
		s->taken += n;
	for (unsigned i = 0; i < n; i++)
		numbers[i] = rc == 0 ? ++s->last : 0;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Frees sessions that no other thread can find and that have no thread; NULL: this session was
 * not made. */
static void
let_go(struct serve *s, struct session **sessions, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		session_free(sessions[i]);
	pthread_mutex_lock(&s->lock);
	s->taken -= n;
	pthread_mutex_unlock(&s->lock);
}

/* Makes all sessions, or none; after an error all numbers are 0. */
static int
make(struct serve *s, const struct place *places, unsigned n, uint32_t *numbers,
    struct source *image, struct session **sessions, struct err *e)
{
	if (reserve(s, n, numbers, e) != 0) {
		source_close(image);
		return -1;
	}
	for (unsigned i = 0; i < n; i++) {
		sessions[i] = session_new(
		    s->cfg.session, &places[i], image, numbers[i], &s->cfg.engine, e);
		if (sessions[i] == NULL) {
			let_go(s, sessions, n);
			memset(numbers, 0, n * sizeof *numbers);
			return -1;
		}
	}
	return 0;
}

static void
put_into_table(struct serve *s, struct session **sessions, unsigned n)
{
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < n; i++)
		*free_place(s) = sessions[i];
	pthread_mutex_unlock(&s->lock);
}

/* Opens n sessions.  Other threads do not see them until they are in the table, and need not
 * wait. */
int
serve_open(struct serve *s, const struct place *places, unsigned n, struct source *image,
    uint32_t *numbers, struct err *e)
{
	struct session **sessions = calloc(n, sizeof *sessions);

	memset(numbers, 0, n * sizeof *numbers);
	if (sessions == NULL) {
		source_close(image);
		return err_nomem(e, "the sessions");
	}
	int rc = make(s, places, n, numbers, image, sessions, e);
	if (rc == 0) {
		if (!s->cfg.force)
			rc = neighbour_look(sessions, n, e);
		for (unsigned i = 0; i < n; i++)
			session_open_second(sessions[i]);
		put_into_table(s, sessions, n);
	}
	free(sessions);
	return rc;
}

static int
start(struct serve *s, struct session *x, struct err *e)
{
	if (x->state == SESSION_SERVING || x->state == SESSION_ENDED)
		return err_set(
		    e, ERR_REFUSED, "session %u was started before", x->number);
	if (x->state == SESSION_OPEN && session_start(x, s->budget, s->ended) == 0)
		return 0;
	*e = x->err;
	return -1;
}

int
serve_start(struct serve *s, uint32_t number, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	struct session **at = serve_find(s, number, e);
	int rc = at != NULL ? start(s, *at, e) : -1;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int
serve_add(struct serve *s, const struct place *place, uint32_t *number, struct err *e)
{
	return serve_add_source(s, place, NULL, number, e);
}

int
serve_add_source(struct serve *s, const struct place *place, struct source *image,
    uint32_t *number, struct err *e)
{
	struct err ignored;

	if (serve_open(s, place, 1, image, number, e) == 0 &&
	    serve_start(s, *number, e) == 0)
		return 0;
	if (*number != 0)
		(void)serve_remove(s, *number, &ignored);
	*number = 0;
	return -1;
}

/* Removes the last event of a session from the mailbox, if nobody has taken it.  All other
 * events are taken and put back once. */
static void
forget_word(struct serve *s, uint32_t number)
{
	struct event ev;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->cfg.sessions_max && mailbox_take(s->ended, &ev); i++)
		if (ev.n != number)
			mailbox_put(s->ended, ev.what, ev.n);
	pthread_mutex_unlock(&s->lock);
}

int
serve_remove(struct serve *s, uint32_t number, struct err *e)
{
	struct session *x = NULL;

	pthread_mutex_lock(&s->lock);
	struct session **at = serve_find(s, number, e);
	if (at != NULL) {
		x = *at;
		*at = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	if (x == NULL)
		return -1;
	if (x->state == SESSION_SERVING) {
		session_stop(x);
		session_join(x);
		forget_word(s, number);
	}
	let_go(s, &x, 1);
	return 0;
}

int
serve_fd(const struct serve *s)
{
	return mailbox_fd(s->ended);
}

/* The thread of a session whose last event has come ends at once, so it is joined here.  A
 * session that is not in the table is being removed, and is left out. */
bool
serve_take_ended(struct serve *s, uint32_t *number)
{
	struct session **at = NULL;
	struct err ignored;
	struct event ev;

	pthread_mutex_lock(&s->lock);
	while (at == NULL && mailbox_take(s->ended, &ev))
		at = serve_find(s, ev.n, &ignored);
	if (at != NULL) {
		session_join(*at);
		*number = ev.n;
	}
	pthread_mutex_unlock(&s->lock);
	return at != NULL;
}
