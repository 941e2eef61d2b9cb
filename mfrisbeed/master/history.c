/* history.c: hands events to a thread that writes them into the database, and questions, which it
 * answers, so that serving does not wait for a disk (history.h).  Events that come while the thread
 * writes are written in one transaction; a question is answered behind it.  Those of a transaction that
 * fails are in the next one, too.  write_all() is that thread; everything else runs in the master's
 * first thread. */
#include "mfrisbeed/master/history.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/queue.h"
#include "common/base/random_bytes.h"
#include "common/base/zero.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/history_db.h"

enum {
	/* Events that wait for the disk: a few thousand machines may end their loads at once.
	 * Events that come while so many wait are not noted. */
	WAITING_MAX = 4096,
	KEPT_MAX = WAITING_MAX, /* events that could not be written: a few MB */
	PRUNE_EVERY = 1000, /* events between two removals of the oldest, which take longer */
};

/* What waits for the thread: an event, or, with a ticket, a question; and then its answer. */
struct item {
	struct item *next;      /* of those that are to be written */
	struct history_event v; /* v.told is the item's */
	uint64_t ticket;        /* 0: an event */
	char *answer;           /* NULL: `err` says why */
	struct err err;
};

/* What the thread does with the database. */
enum { ADD, JOIN, NOTE, DROP, TELL, STATEMENTS };

struct history {
	struct db db;
	sqlite3_stmt *q[STATEMENTS];
	struct loop *loop;
	int64_t run; /* random, so that events of other runs are not taken for the same */
	struct queue *waiting, *answered;
	atomic_uint nwaiting;
	pthread_t thread;
	unsigned left_out; /* events, since the last one for which there was room */
	/* These are used by write_all(): */
	struct item *first, **last; /* what is to be written */
	bool failed;                /* the last transaction was not written */
	unsigned lost;              /* events that were not written, and not kept */
	unsigned unpruned;          /* events since the oldest were removed */
	bool grows;                 /* since they could not be removed */
};

static const char *const kinds[] = {
	[HISTORY_LOAD] = "load", [HISTORY_UPLOAD] = "upload", [HISTORY_SESSION] = "session",
	[HISTORY_CAPTURE] = "capture"
};
static const char *const outcomes[] = { [HISTORY_DONE] = "done",
	[HISTORY_FAILED] = "failed",
	[HISTORY_LEFT] = "left",
	[HISTORY_GONE] = "gone",
	[HISTORY_STOPPED] = "stopped" };

const char *
history_outcome_name(enum history_outcome o)
{
	return outcomes[o];
}

/* Of a node's load, ?5 is when its session began, and ?6 for how many seconds it took.  Loads of its
 * host in that time are part of it; their beginning is rounded. */
#define OF_HOST "kind = ?1 AND image = ?3 AND host = ?4 "
#define LOADS_OF_NODE "FROM event WHERE node = '' AND " OF_HOST "AND at BETWEEN ?5 - 1 AND ?5 + ?6 + 1"

static const char *const texts[STATEMENTS] = {
	[ADD] = "INSERT OR REPLACE INTO event VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, '', '', 0, '')",
	[JOIN] = "UPDATE event SET bytes = max(bytes, ?7) WHERE node <> '' AND " OF_HOST
	         "AND ?5 BETWEEN at - 1 AND at + seconds + 1",
	[NOTE] = "INSERT OR REPLACE INTO event VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, "
	         "max(coalesce((SELECT bytes FROM event WHERE node <> '' AND holder = ?11 AND node = ?12), 0), "
	         "coalesce((SELECT max(bytes) " LOADS_OF_NODE "), 0)), ?8, 0, 0, ?11, ?12, ?13, ?14)",
	[DROP] = "DELETE " LOADS_OF_NODE,
	[TELL] = "SELECT told FROM event WHERE node <> '' AND holder = ? ORDER BY node",
};
/* The last million events stay. */
static const char prune_text[] =
    "DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - 1000000";

/* Converts a time of clock_us() to seconds since 1970, by a clock that may be set. */
static int64_t
wall_seconds(uint64_t at_us)
{
	uint64_t now = clock_us();

	return (int64_t)time(NULL) - (int64_t)((now > at_us ? now - at_us : 0) / 1000000);
}

/* Gives a statement the columns of the event that it has. */
static int
run(struct history *h, int what, const struct history_event *v, struct err *e)
{
	sqlite3_stmt *s = h->q[what];
	char host[ADDR_TEXT_MAX] = "";
	bool of_node = v->node[0] != '\0';

	if (!is_zero(v->host, sizeof v->host))
		addr_text(v->host, host);
	sqlite3_bind_text(s, 1, kinds[v->kind], -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, outcomes[v->outcome], -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, v->image, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 4, host, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 5, of_node ? (int64_t)(v->began_us / 1000000) : wall_seconds(v->began_us));
	sqlite3_bind_double(s, 6, v->seconds);
	sqlite3_bind_int64(s, 7, (int64_t)v->bytes);
	sqlite3_bind_text(s, 8, v->why, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 9, h->run);
	sqlite3_bind_int64(s, 10, (int64_t)v->began_us);
	sqlite3_bind_text(s, 11, v->holder, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 12, v->node, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 13, v->tries);
	sqlite3_bind_text(s, 14, v->told, (int)v->told_bytes, SQLITE_STATIC);
	return db_step(&h->db, s, e);
}

static bool
add(struct history *h, const struct history_event *v, struct err *e)
{
	if (v->node[0] != '\0')
		return run(h, NOTE, v, e) == 0 && run(h, DROP, v, e) == 0;
	if (v->kind == HISTORY_LOAD && run(h, JOIN, v, e) != 0)
		return false;
	return (v->kind == HISTORY_LOAD && sqlite3_changes(h->db.sql) > 0) || run(h, ADD, v, e) == 0;
}

static void
free_item(struct item *x)
{
	free((char *)x->v.told);
	free(x->answer);
	free(x);
}

/* The next one that waits; NULL: none does. */
static struct item *
next(struct history *h)
{
	void *x;

	if (queue_try_get(h->waiting, &x) != QUEUE_OK)
		return NULL;
	atomic_fetch_sub(&h->nwaiting, 1);
	return x;
}

static void
append(struct history *h, struct item *x)
{
	x->next = NULL;
	*h->last = x;
	h->last = &x->next;
}

/* Drops an event that would be refused each time, so that those behind it are not kept waiting. */
static void
drop(struct item **at, const struct err *why)
{
	struct item *x = *at;

	log_warn("an event of \"%s\" is not noted, and lost: %s", x->v.image, why->text);
	*at = x->next;
	free_item(x);
}

static bool
add_all(struct history *h, struct err *e)
{
	struct item **at = &h->first;

	while (*at != NULL)
		if (add(h, &(*at)->v, e))
			at = &(*at)->next;
		else if (db_refuses_values(&h->db))
			drop(at, e);
		else
			return false;
	h->last = at;
	return true;
}

/* Writes events in one transaction. */
static bool
transact(struct history *h, struct err *e)
{
	struct err ignored;
	bool ok = db_run(&h->db, "BEGIN IMMEDIATE", e) == 0;

	ok = ok && add_all(h, e) && db_run(&h->db, "COMMIT", e) == 0;
	if (!ok && sqlite3_get_autocommit(h->db.sql) == 0)
		db_run(&h->db, "ROLLBACK", &ignored);
	return ok;
}

/* Frees what was written.  Of what was not, the events of this server are kept, since nobody tells it of
 * them again, as a controller does of its nodes. */
static void
leave(struct history *h, bool written)
{
	struct item *x = h->first, *rest;
	unsigned kept = 0;

	h->first = NULL;
	h->last = &h->first;
	for (; x != NULL; x = rest) {
		bool own = !written && x->v.node[0] == '\0';
		rest = x->next;
		if (own && kept++ < KEPT_MAX) {
			append(h, x);
			continue;
		}
		h->lost += own;
		free_item(x);
	}
}

/* Removes the oldest.  This is tried again after the next events where it fails, and keeps none from
 * being written. */
static void
prune(struct history *h)
{
	struct err e;
	bool ok = db_run(&h->db, prune_text, &e) == 0;

	if (!ok && !h->grows)
		log_warn("the oldest events stay for now: %s", e.text);
	if (ok)
		h->unpruned = 0;
	h->grows = !ok;
}

static void
write_some(struct history *h)
{
	struct err e;
	bool ok = transact(h, &e);

	if (!ok && !h->failed)
		log_warn("events are not noted for now: %s", e.text);
	if (ok && h->failed)
		log_warn("events are noted again, and %u are lost", h->lost);
	if (ok)
		h->lost = 0;
	h->failed = !ok;
	leave(h, ok);
	if (ok && h->unpruned >= PRUNE_EVERY)
		prune(h);
}

/* Writes this event and the events that wait behind it.  Returns the question that is next, or NULL. */
static struct item *
note(struct history *h, struct item *x)
{
	do {
		append(h, x);
		h->unpruned++;
		x = next(h);
	} while (x != NULL && x->ticket == 0);
	write_some(h);
	return x;
}

/* Tries once more to write what was kept, and frees it. */
static void
write_last(struct history *h)
{
	if (h->first != NULL)
		write_some(h);
	for (const struct item *x = h->first; x != NULL; x = x->next)
		h->lost++;
	if (h->lost > 0)
		log_warn("%u events were not noted, and are lost", h->lost);
	leave(h, true);
}

/* Writes the array of what was told of a holder's nodes, and a NUL. */
static int
tell(struct history *h, const char *holder, struct buf *b, struct err *e)
{
	sqlite3_stmt *s = h->q[TELL];
	int rc;

	sqlite3_bind_text(s, 1, holder, -1, SQLITE_STATIC);
	while ((rc = db_step(&h->db, s, e)) == 1) {
		buf_bytes(b, b->len == 0 ? "[" : ",", 1);
		buf_bytes(b, sqlite3_column_text(s, 0), (size_t)sqlite3_column_bytes(s, 0));
	}
	buf_bytes(b, b->len == 0 ? "[]" : "]", b->len == 0 ? 3 : 2);
	return rc == 0 && !buf_ok(b) ? err_nomem(e, "an answer") : rc;
}

/* Answers a question.  Returns the next one that waits, or NULL. */
static struct item *
give(struct history *h, struct item *x)
{
	struct buf b = { 0 };

	if (tell(h, x->v.holder, &b, &x->err) != 0)
		buf_free(&b);
	x->answer = (char *)b.base;
	queue_put(h->answered, x);
	if (h->loop != NULL)
		loop_wake(h->loop);
	return next(h);
}

static void *
write_all(void *arg)
{
	struct history *h = arg;
	void *first;

	while (queue_get(h->waiting, &first) == QUEUE_OK) {
		struct item *x = first;
		atomic_fetch_sub(&h->nwaiting, 1);
		while (x != NULL)
			x = x->ticket != 0 ? give(h, x) : note(h, x);
	}
	write_last(h);
	return NULL;
}

static int
start(struct history *h, const char *folder, struct err *e)
{
	if (history_db_open(&h->db, folder, true, e) != 0)
		return -1;
	for (int i = 0; i < STATEMENTS; i++)
		if (db_prepare(&h->db, &h->q[i], texts[i], e) != 0)
			return -1;
	random_bytes(&h->run, sizeof h->run);
	h->answered = queue_new(WAITING_MAX);
	if (h->answered == NULL)
		return err_nomem(e, "the history");
	h->waiting = queue_new(WAITING_MAX);
	if (h->waiting == NULL)
		return err_nomem(e, "the history");
	int rc = thread_start(&h->thread, write_all, h);
	if (rc == 0)
		return 0;
	queue_free(h->waiting);
	h->waiting = NULL;
	return err_set(e, ERR_IO, "cannot start a thread: %s", strerror(rc));
}

int
history_open(struct history **out, const char *folder, struct loop *loop, struct err *e)
{
	struct history *h = calloc(1, sizeof *h);

	if (h == NULL)
		return err_nomem(e, "the history");
	h->loop = loop;
	h->last = &h->first;
	if (start(h, folder, e) != 0) {
		history_close(h);
		return -1;
	}
	*out = h;
	return 0;
}

void
history_close(struct history *h)
{
	void *x;

	if (h == NULL)
		return;
	if (h->waiting != NULL) {
		queue_close(h->waiting);
		pthread_join(h->thread, NULL);
		while (queue_try_get(h->answered, &x) == QUEUE_OK)
			free_item(x);
		queue_free(h->waiting);
	}
	queue_free(h->answered);
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(h->q[i]);
	db_close(&h->db);
	free(h);
}

/* False: so many wait that there is no room. */
static bool
put(struct history *h, const struct item *x)
{
	bool full = atomic_load(&h->nwaiting) >= WAITING_MAX;
	struct item *copy = full ? NULL : malloc(sizeof *copy);

	if (full && h->left_out == 0)
		log_warn("the history is written too slowly: events are left out");
	if (!full && h->left_out > 0)
		log_warn("the history is written in time again: %u events were left out", h->left_out);
	h->left_out = full ? h->left_out + 1 : 0;
	if (copy == NULL)
		return false;
	*copy = *x;
	if (x->v.told_bytes > 0 && (copy->v.told = strndup(x->v.told, x->v.told_bytes)) == NULL) {
		free(copy);
		return false;
	}
	atomic_fetch_add(&h->nwaiting, 1);
	queue_put(h->waiting, copy); /* there is room */
	return true;
}

bool
history_note(struct history *h, const struct history_event *v)
{
	return h != NULL && put(h, &(struct item){ .v = *v });
}

bool
history_ask(struct history *h, const char *holder, uint64_t ticket)
{
	struct item x = { .ticket = ticket };

	snprintf(x.v.holder, sizeof x.v.holder, "%s", holder);
	return put(h, &x);
}

bool
history_answer(struct history *h, uint64_t *ticket, char **told, struct err *e)
{
	void *got;

	if (h == NULL || queue_try_get(h->answered, &got) != QUEUE_OK)
		return false;
	struct item *x = got;
	*ticket = x->ticket;
	*told = x->answer;
	*e = x->err;
	x->answer = NULL;
	free_item(x);
	return true;
}
