/* The history of a master server: what is noted is in the database, once, also after it was opened again; a load
 * of a node is one event, whoever tells of it first, and how often; what is refused keeps nothing out; a database of an
 * older version is taken over; what is no such database is refused; old events go. */
#include "mfrisbeed/master/history_db.h"

#include <math.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"

#include "tests/unit/scratch.h"

static struct err e;

static struct history_event
event(const char *image, uint64_t began_us, enum history_outcome outcome)
{
	struct history_event v = { .kind = HISTORY_LOAD,
		.outcome = outcome,
		.host = { 10, 0, 0, 7 },
		.began_us = began_us,
		.seconds = 1.5,
		.bytes = 4096 };

	strcpy(v.image, image);
	return v;
}

static long long
ask(const char *question)
{
	sqlite3_stmt *s;
	struct db db;
	long long n = -1;

	if (history_db_open(&db, in_scratch(""), false, &e) == 0 &&
	    T_CHECK(db_prepare(&db, &s, question, &e) == 0)) {
		if (db_step(&db, s, &e) == 1)
			n = sqlite3_column_int64(s, 0);
		sqlite3_finalize(s);
	}
	db_close(&db);
	return n;
}

static struct history *
open_it(void)
{
	struct history *h = NULL;

	T_CHECK(history_open(&h, in_scratch(""), NULL, &e) == 0);
	return h;
}

static void
test_events(void)
{
	struct history *h = open_it();
	struct history_event a = event("web 'x'", 1000000, HISTORY_GONE),
			     b = event("db", 1000000, HISTORY_FAILED);

	strcpy(b.why, "No space left");
	b.kind = HISTORY_UPLOAD;
	history_note(h, &a);
	history_note(h, &b);
	a.outcome = HISTORY_DONE; /* it came back */
	history_note(h, &a);
	history_close(h);
	T_CHECK(ask("SELECT count(*) FROM event") == 2);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'web ''x''' AND kind = 'load' AND outcome = 'done' "
		    "AND host = '10.0.0.7' AND seconds = 1.5 AND bytes = 4096 AND why = ''") == 1);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'db' AND kind = 'upload' AND outcome = 'failed' "
		    "AND why = 'No space left'") == 1);
	T_CHECK(ask("SELECT count(*) FROM event WHERE at BETWEEN strftime('%s') - 1000000000 AND strftime('%s')") ==
		2);
	h = open_it(); /* another run has other times */
	history_note(h, &a);
	history_close(h);
	T_CHECK(ask("SELECT count(*) FROM event") == 3);
	history_note(NULL, &a);
}

/* What a controller says of a node. */
static struct history_event
of_node(const char *node, const char *holder, int64_t began_s, enum history_outcome outcome)
{
	struct history_event v = event("node.ndz", (uint64_t)began_s * 1000000, outcome);

	v.seconds = 60;
	v.bytes = 0;
	v.tries = 2;
	v.told = "{\"node\": 1}, cut off here";
	v.told_bytes = 11;
	strcpy(v.holder, holder);
	strcpy(v.node, node);
	return v;
}

/* The answer to a question; the caller frees it. */
static char *
told_of(struct history *h, const char *holder)
{
	static uint64_t last;
	uint64_t ticket;
	char *told;

	T_CHECK(history_ask(h, holder, ++last));
	while (!history_answer(h, &ticket, &told, &e))
		sched_yield();
	T_CHECK(ticket == last);
	return told;
}

static bool
is_told(struct history *h, const char *holder, const char *want)
{
	char *told = told_of(h, holder);
	bool same = told != NULL && strcmp(told, want) == 0;

	free(told);
	return same;
}

#define OF_NODES "SELECT count(*) FROM event WHERE image = 'node.ndz'"

static void
test_nodes(void)
{
	struct history *h = open_it();
	int64_t now_s = (int64_t)time(NULL);
	struct history_event n = of_node("n1", "cafe-1", now_s - 50, HISTORY_FAILED),
			     load = event("node.ndz", clock_us() - 20000000, HISTORY_GONE),
			     before = event("node.ndz", clock_us() - 90000000, HISTORY_DONE);

	T_CHECK(is_told(h, "cafe-1", "[]"));
	strcpy(n.why, "no disk");
	T_CHECK(history_note(h, &before)); /* another one */
	T_CHECK(history_note(h, &load));   /* its session's frisbeed tells of it first */
	T_CHECK(history_note(h, &n) && history_note(h, &n));
	T_CHECK(is_told(h, "cafe-1", "[{\"node\": 1}]"));
	T_CHECK(ask(OF_NODES) == 2);
	T_CHECK(ask(OF_NODES " AND node = 'n1' AND holder = 'cafe-1' AND outcome = 'failed' AND tries = 2 AND bytes = 4096 "
			     "AND why = 'no disk' AND seconds = 60 AND kind = 'load'") == 1);
	load.bytes = 8192;
	load.outcome = HISTORY_DONE;
	T_CHECK(history_note(h, &load)); /* ... or last */
	T_CHECK(is_told(h, "cafe-1", "[{\"node\": 1}]"));
	T_CHECK(ask(OF_NODES) == 2 && ask(OF_NODES " AND node = 'n1' AND bytes = 8192 AND outcome = 'failed'") == 1);
	history_close(h);
	h = open_it(); /* who was killed tells all of it again */
	T_CHECK(history_note(h, &n));
	n = of_node("n0", "cafe-1", now_s - 50, HISTORY_STOPPED);
	memset(n.host, 0, sizeof n.host);
	T_CHECK(history_note(h, &n)); /* it was never heard */
	n = of_node("n1", "cafe-2", now_s + 1000, HISTORY_DONE);
	T_CHECK(history_note(h, &n));
	n.kind = HISTORY_CAPTURE;
	strcpy(n.holder, "cafe-3");
	T_CHECK(history_note(h, &n));
	T_CHECK(is_told(h, "cafe-1", "[{\"node\": 1},{\"node\": 1}]") && is_told(h, "cafe-9", "[]"));
	T_CHECK(ask(OF_NODES) == 5 && ask(OF_NODES " AND node = 'n1' AND holder = 'cafe-1' AND bytes = 8192") == 1);
	T_CHECK(ask(OF_NODES " AND node = 'n0' AND host = '' AND outcome = 'stopped'") == 1);
	T_CHECK(ask(OF_NODES " AND kind = 'capture'") == 1);
	T_CHECK(history_ask(h, "cafe-1", 7)); /* nobody waits for that any more */
	history_close(h);
	T_CHECK(!history_note(NULL, &n));
}

/* One that cannot be written has nothing to show, and says so by that. */
static void
test_not_written(void)
{
	struct history *h = open_it();
	struct history_event n = of_node("n7", "cafe-7", 1000, HISTORY_DONE);
	struct db other;

	T_CHECK(history_db_open(&other, in_scratch(""), true, &e) == 0);
	T_CHECK(sqlite3_exec(other.sql, "ALTER TABLE event RENAME TO away", NULL, NULL, NULL) == SQLITE_OK);
	T_CHECK(history_note(h, &n));
	T_CHECK(told_of(h, "cafe-7") == NULL && e.text[0] != '\0');
	T_CHECK(sqlite3_exec(other.sql, "ALTER TABLE away RENAME TO event", NULL, NULL, NULL) == SQLITE_OK);
	db_close(&other);
	T_CHECK(is_told(h, "cafe-7", "[]"));
	T_CHECK(history_note(h, &n) && is_told(h, "cafe-7", "[{\"node\": 1}]"));
	history_close(h);
}

static bool none_begins; /* no transaction */
static bool one_waits;   /* who begins a transaction, until `go` */
static sem_t waits, go;
static bool none_goes;   /* no event that is there */
static sqlite3 *writes;

static int
may(void *arg, int what, const char *text, const char *a, const char *b, const char *c)
{
	(void)arg, (void)a, (void)b, (void)c;
	if (one_waits && what == SQLITE_TRANSACTION && strcmp(text, "BEGIN") == 0) {
		one_waits = false;
		sem_post(&waits);
		sem_wait(&go);
	}
	return (none_begins && what == SQLITE_TRANSACTION && strcmp(text, "BEGIN") == 0) ||
	               (none_goes && what == SQLITE_DELETE)
	           ? SQLITE_DENY
	           : SQLITE_OK;
}

static int
watch_it(sqlite3 *db, char **why, const struct sqlite3_api_routines *api)
{
	(void)why, (void)api;
	writes = db;
	return sqlite3_set_authorizer(db, may, NULL);
}

/* Where no transaction can be begun, nothing is written without one: each event would wait for the disk, or for who has
 * locked the database.  What nobody tells of again is written later. */
static void
test_not_begun(void)
{
	struct history_event n = of_node("n8", "cafe-8", 1000, HISTORY_DONE);

	T_CHECK(sqlite3_auto_extension((void (*)(void))watch_it) == SQLITE_OK);
	struct history *h = open_it();
	T_CHECK(is_told(h, "cafe-8", "[]"));
	int before = sqlite3_total_changes(writes);
	none_begins = true;
	T_CHECK(history_note(h, &n) && is_told(h, "cafe-8", "[]"));
	for (unsigned i = 0; i < 5000; i++) {
		struct history_event v = event("kept", i, HISTORY_DONE);
		/* As many are kept as may wait; what is asked waits until they have been tried. */
		T_CHECK(history_note(h, &v) && (i % 1000 != 999 || is_told(h, "cafe-8", "[]")));
	}
	T_CHECK(sqlite3_total_changes(writes) == before);
	none_begins = false;
	T_CHECK(history_note(h, &n) && is_told(h, "cafe-8", "[{\"node\": 1}]"));
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'kept' AND outcome = 'done'") == 4096);
	none_begins = true;
	struct history_event last = event("kept", 5000, HISTORY_GONE);
	T_CHECK(history_note(h, &last) && is_told(h, "cafe-8", "[{\"node\": 1}]"));
	none_begins = false;
	history_close(h); /* it is tried once more */
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'kept' AND outcome = 'gone'") == 1);
	sqlite3_reset_auto_extension();
}

/* What the database refuses for what it is, such as a time that is no number, keeps nothing else out: neither what is
 * in its transaction nor what comes later. */
static void
test_refused(void)
{
	struct history_event good = event("refused", 1, HISTORY_DONE), bad = event("refused", 2, HISTORY_FAILED),
			     n = of_node("n10", "cafe-10", 1000, HISTORY_DONE);

	T_CHECK(sqlite3_auto_extension((void (*)(void))watch_it) == SQLITE_OK);
	struct history *h = open_it();
	T_CHECK(is_told(h, "cafe-10", "[]"));
	none_begins = true; /* they are in one transaction, the next one */
	bad.seconds = n.seconds = NAN;
	T_CHECK(history_note(h, &good) && history_note(h, &bad) && is_told(h, "cafe-10", "[]"));
	none_begins = false;
	good.began_us = 3;
	T_CHECK(history_note(h, &n) && history_note(h, &good) && history_note(h, &bad) && is_told(h, "cafe-10", "[]"));
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'refused'") == 2);
	T_CHECK(history_note(h, &bad)); /* and nothing behind it */
	history_close(h);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'refused'") == 2);
	h = open_it();
	good.began_us = 4;
	T_CHECK(history_note(h, &bad) && is_told(h, "cafe-10", "[]") && history_note(h, &good));
	history_close(h);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'refused'") == 3);
	sqlite3_reset_auto_extension();
}

/* A database without nodes. */
static void
test_older(void)
{
	static const char old[] =
	    "CREATE TABLE event (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, outcome TEXT NOT NULL, "
	    "image TEXT NOT NULL, host TEXT NOT NULL, at INTEGER NOT NULL, seconds REAL NOT NULL, "
	    "bytes INTEGER NOT NULL, why TEXT NOT NULL, run INTEGER NOT NULL, began_us INTEGER NOT NULL, "
	    "UNIQUE (kind, image, host, run, began_us));"
	    "INSERT INTO event VALUES (7, 'load', 'done', 'old.ndz', '10.0.0.7', 1000, 1.5, 4096, '', 11, 12);"
	    "INSERT INTO event VALUES (8, 'upload', 'failed', 'old.ndz', '10.0.0.8', 1001, 2.5, 0, 'full', 11, 13);"
	    "PRAGMA user_version = 1";
	struct history *h;
	sqlite3 *db;

	T_CHECK(sh("rm -f history.db") == 0);
	T_CHECK(sqlite3_open(in_scratch("history.db"), &db) == SQLITE_OK);
	T_CHECK(sqlite3_exec(db, old, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
	h = open_it();
	struct history_event n = of_node("n1", "cafe-1", 999, HISTORY_DONE);
	strcpy(n.image, "old.ndz");
	T_CHECK(history_note(h, &n));
	history_close(h);
	T_CHECK(ask("SELECT count(*) FROM event") == 2 && ask("PRAGMA user_version") == 2);
	T_CHECK(ask("SELECT count(*) FROM event WHERE id = 8 AND kind = 'upload' AND outcome = 'failed' AND at = 1001 AND "
		    "seconds = 2.5 AND why = 'full' AND run = 11 AND began_us = 13 AND node = ''") == 1);
	T_CHECK(ask("SELECT count(*) FROM event WHERE node = 'n1' AND bytes = 4096") == 1); /* that load */
}

/* As many as can wait, or more, while nothing is written: no call waits. */
static void
test_many(void)
{
	T_CHECK(sqlite3_auto_extension((void (*)(void))watch_it) == SQLITE_OK);
	T_CHECK(sem_init(&waits, 0, 0) == 0 && sem_init(&go, 0, 0) == 0);
	struct history *h = open_it();
	struct history_event v = event("many", 6000, HISTORY_DONE);

	one_waits = true;
	T_CHECK(history_note(h, &v));
	sem_wait(&waits); /* it is in the transaction that begins */
	for (unsigned i = 0; i < 6000; i++) {
		v.began_us = i;
		T_CHECK(history_note(h, &v) == (i < 4096));
	}
	sem_post(&go);
	history_close(h);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'many'") == 4097);
	sqlite3_reset_auto_extension();
}

/* Where the oldest cannot be removed, they are after the next event. */
static void
test_old_events_go(void)
{
	T_CHECK(sqlite3_auto_extension((void (*)(void))watch_it) == SQLITE_OK);
	struct history *h = open_it();
	struct history_event v = event("last", 1, HISTORY_DONE);
	struct db db;

	T_CHECK(history_db_open(&db, in_scratch(""), true, &e) == 0);
	T_CHECK(sqlite3_exec(db.sql,
		    "INSERT INTO event VALUES (2000000, 'load', 'done', 'new', '', 0, 0, 0, '', 0, 0, '', '', 0, '')", NULL,
		    NULL, NULL) == SQLITE_OK);
	db_close(&db);
	none_goes = true;
	for (unsigned i = 0; i < 1000; i++) {
		v.began_us = i;
		T_CHECK(history_note(h, &v));
	}
	T_CHECK(is_told(h, "cafe-9", "[]"));
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'last'") == 1000);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'many'") > 0);
	none_goes = false;
	v.began_us = 1000;
	T_CHECK(history_note(h, &v));
	history_close(h);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'many'") == 0);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'new'") == 1);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'last'") == 1001);
	sqlite3_reset_auto_extension();
}

static void
test_what_is_none(void)
{
	struct history *h;

	T_CHECK(sh("sqlite3 history.db 'PRAGMA user_version = 3' || python3 -c \""
		   "import sqlite3; d = sqlite3.connect('history.db'); d.execute('PRAGMA user_version = 3')\"") == 0);
	T_CHECK(history_open(&h, in_scratch(""), NULL, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, "version 3") != NULL);
	T_CHECK(sh("head -c 5000 /dev/urandom > history.db") == 0);
	T_CHECK(history_open(&h, in_scratch(""), NULL, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(history_report(in_scratch(""), false, &e) == -1);
	T_CHECK(sh("rm history.db") == 0);
	T_CHECK(history_report(in_scratch(""), false, &e) == -1);
	T_CHECK(e.kind == ERR_ABSENT);
	T_CHECK(history_open(&h, in_scratch("nothing/here"), NULL, &e) == -1);
	T_CHECK(e.kind == ERR_IO);
}

int
main(void)
{
	scratch_init();
	T_CHECK(ask("SELECT 1") == -1);
	T_CHECK(e.kind == ERR_ABSENT);
	test_events();
	test_nodes();
	test_not_written();
	test_not_begun();
	test_refused();
	test_many();
	test_old_events_go();
	test_older();
	test_what_is_none();
	return t_done();
}
