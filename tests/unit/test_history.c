/* The history of a master server: what is noted is in the database, once, also after it was opened again; what
 * is no such database is refused; old events go. */
#include "mfrisbeed/master/history_db.h"

#include <string.h>

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

	T_CHECK(history_open(&h, in_scratch(""), &e) == 0);
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

/* As many as can wait, or more, while nothing is written: no call waits. */
static void
test_many(void)
{
	struct history *h = open_it();
	struct db other;

	T_CHECK(history_db_open(&other, in_scratch(""), true, &e) == 0);
	T_CHECK(sqlite3_exec(other.sql, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
	for (unsigned i = 0; i < 6000; i++) {
		struct history_event v = event("many", i, HISTORY_DONE);
		history_note(h, &v);
	}
	T_CHECK(sqlite3_exec(other.sql, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
	db_close(&other);
	history_close(h);
	long long n = ask("SELECT count(*) FROM event WHERE image = 'many'");
	T_CHECK(n >= 4096);
	T_CHECK(n < 6000);
}

static void
test_old_events_go(void)
{
	struct history *h = open_it();
	struct history_event v = event("last", 1, HISTORY_DONE);
	struct db db;

	T_CHECK(history_db_open(&db, in_scratch(""), true, &e) == 0);
	T_CHECK(sqlite3_exec(db.sql,
		    "INSERT INTO event VALUES (2000000, 'load', 'done', 'new', '', 0, 0, 0, '', 0, 0)", NULL,
		    NULL, NULL) == SQLITE_OK);
	db_close(&db);
	for (unsigned i = 0; i < 1000; i++) {
		v.began_us = i;
		history_note(h, &v);
	}
	history_close(h);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'many'") == 0);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'new'") == 1);
	T_CHECK(ask("SELECT count(*) FROM event WHERE image = 'last'") == 1000);
}

static void
test_what_is_none(void)
{
	struct history *h;

	T_CHECK(sh("sqlite3 history.db 'PRAGMA user_version = 2' || python3 -c \""
		   "import sqlite3; d = sqlite3.connect('history.db'); d.execute('PRAGMA user_version = 2')\"") == 0);
	T_CHECK(history_open(&h, in_scratch(""), &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, "version 2") != NULL);
	T_CHECK(sh("head -c 5000 /dev/urandom > history.db") == 0);
	T_CHECK(history_open(&h, in_scratch(""), &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(history_report(in_scratch(""), false, &e) == -1);
	T_CHECK(sh("rm history.db") == 0);
	T_CHECK(history_report(in_scratch(""), false, &e) == -1);
	T_CHECK(e.kind == ERR_ABSENT);
	T_CHECK(history_open(&h, in_scratch("nothing/here"), &e) == -1);
	T_CHECK(e.kind == ERR_IO);
}

int
main(void)
{
	scratch_init();
	T_CHECK(ask("SELECT 1") == -1);
	T_CHECK(e.kind == ERR_ABSENT);
	test_events();
	test_many();
	test_old_events_go();
	test_what_is_none();
	return t_done();
}
