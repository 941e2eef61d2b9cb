/* history.c: hands events to a thread that writes them into the database, so that serving
 * does not wait for a disk (history.h).  Events that come while the thread writes are
 * written in one transaction.  write_all() is that thread; everything else runs in the
 * master's first thread. */
#include "mfrisbeed/master/history.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/queue.h"
#include "common/base/random_bytes.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/history_db.h"

enum {
	/* Events that wait for the disk: a few thousand machines may end their loads at once.
	 * Events that come while so many wait are not noted. */
	WAITING_MAX = 4096,
	PRUNE_EVERY = 1000, /* events between two removals of the oldest, which take longer */
};

struct history {
	struct db db;
	sqlite3_stmt *add;
	int64_t run; /* random, so that events of other runs are not taken for the same */
	struct queue *waiting;
	atomic_uint nwaiting;
	pthread_t thread;
	bool full;       /* the last event was left out */
	bool failed;     /* used by write_all(): the last transaction was not written */
	unsigned unpruned; /* used by write_all(): events since the oldest were removed */
};

static const char *const kinds[] = {
	[HISTORY_LOAD] = "load", [HISTORY_UPLOAD] = "upload", [HISTORY_SESSION] = "session"
};
static const char *const outcomes[] = { [HISTORY_DONE] = "done",
	[HISTORY_FAILED] = "failed",
	[HISTORY_LEFT] = "left",
	[HISTORY_GONE] = "gone" };

const char *
history_kind_name(enum history_kind k)
{
	return kinds[k];
}

const char *
history_outcome_name(enum history_outcome o)
{
	return outcomes[o];
}

static const char add_text[] =
    "INSERT OR REPLACE INTO event "
    "(kind, outcome, image, host, at, seconds, bytes, why, run, began_us) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
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

static bool
add(struct history *h, const struct history_event *v, struct err *e)
{
	static const uint8_t nobody[4];
	char host[ADDR_TEXT_MAX] = "";
	sqlite3_stmt *s = h->add;

	if (memcmp(v->host, nobody, sizeof nobody) != 0)
		addr_text(v->host, host);
	sqlite3_bind_text(s, 1, kinds[v->kind], -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, outcomes[v->outcome], -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, v->image, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 4, host, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 5, wall_seconds(v->began_us));
	sqlite3_bind_double(s, 6, v->seconds);
	sqlite3_bind_int64(s, 7, (int64_t)v->bytes);
	sqlite3_bind_text(s, 8, v->why, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 9, h->run);
	sqlite3_bind_int64(s, 10, (int64_t)v->began_us);
	return db_step(&h->db, s, e) == 0;
}

/* Adds this event and all events that wait behind it, and frees them. */
static bool
add_waiting(struct history *h, struct history_event *v, struct err *e)
{
	void *next = v;
	bool ok = true;

	do {
		ok = ok && add(h, next, e);
		h->unpruned++;
		free(next);
		atomic_fetch_sub(&h->nwaiting, 1);
	} while (queue_try_get(h->waiting, &next) == QUEUE_OK);
	if (ok && h->unpruned >= PRUNE_EVERY) {
		ok = db_run(&h->db, prune_text, e) == 0;
		h->unpruned = 0;
	}
	return ok;
}

static void *
write_all(void *arg)
{
	struct history *h = arg;
	struct err e, ignored;
	void *v;

	while (queue_get(h->waiting, &v) == QUEUE_OK) {
		bool ok = db_run(&h->db, "BEGIN IMMEDIATE", &e) == 0;
		ok = add_waiting(h, v, ok ? &e : &ignored) && ok;
		ok = ok && db_run(&h->db, "COMMIT", &e) == 0;
		if (!ok && !h->failed)
			log_warn("events are not noted: %s", e.text);
		if (!ok && sqlite3_get_autocommit(h->db.sql) == 0)
			db_run(&h->db, "ROLLBACK", &ignored);
		h->failed = !ok;
	}
	return NULL;
}

static int
start(struct history *h, const char *folder, struct err *e)
{
	if (history_db_open(&h->db, folder, true, e) != 0)
		return -1;
	if (db_prepare(&h->db, &h->add, add_text, e) != 0)
		return -1;
	random_bytes(&h->run, sizeof h->run);
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
history_open(struct history **out, const char *folder, struct err *e)
{
	struct history *h = calloc(1, sizeof *h);

	if (h == NULL)
		return err_nomem(e, "the history");
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
	if (h == NULL)
		return;
	if (h->waiting != NULL) {
		queue_close(h->waiting);
		pthread_join(h->thread, NULL);
		queue_free(h->waiting);
	}
	sqlite3_finalize(h->add);
	db_close(&h->db);
	free(h);
}

void
history_note(struct history *h, const struct history_event *v)
{
	if (h == NULL)
		return;
	bool full = atomic_load(&h->nwaiting) >= WAITING_MAX;
	if (full && !h->full)
		log_warn("the history is written too slowly: events are left out");
	h->full = full;
	struct history_event *copy = full ? NULL : malloc(sizeof *copy);
	if (copy == NULL)
		return;
	*copy = *v;
	atomic_fetch_add(&h->nwaiting, 1);
	queue_put(h->waiting, copy); /* there is room */
}
