/* history_report.c: prints what the database of events holds, for people and for programs.
 * main.c calls it in the program's first thread, while a server may be writing the database. */
#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "mfrisbeed/master/history_db.h"

#define EVENT "at, kind, image, host, seconds, bytes, outcome, why, holder, node, tries"

static const char images_text[] =
    "SELECT image, count(*), sum(outcome = 'done'), sum(outcome = 'failed'), "
    "sum(outcome = 'left'), sum(outcome = 'gone'), sum(outcome = 'stopped'), "
    "coalesce(avg(CASE WHEN outcome IN ('done', 'left') THEN seconds END), 0), max(at) "
    "FROM event WHERE kind = 'load' GROUP BY image ORDER BY image";
static const char failures_text[] =
    "SELECT " EVENT " FROM event "
    "WHERE outcome IN ('failed', 'gone') ORDER BY id DESC LIMIT 20";
static const char events_text[] =
    "SELECT " EVENT " FROM event "
    "ORDER BY id DESC LIMIT 10000";

enum { I_IMAGE, I_LOADS, I_DONE, I_FAILED, I_LEFT, I_GONE, I_STOPPED, I_SECONDS, I_LAST };
enum { E_AT, E_KIND, E_IMAGE, E_HOST, E_SECONDS, E_BYTES, E_OUTCOME, E_WHY, E_HOLDER, E_NODE, E_TRIES };

static const char *
text_of(sqlite3_stmt *s, int column)
{
	const char *t = (const char *)sqlite3_column_text(s, column);

	return t != NULL ? t : "";
}

static uint64_t
number_of(sqlite3_stmt *s, int column)
{
	return (uint64_t)sqlite3_column_int64(s, column);
}

static int
print_image(void *arg, sqlite3_stmt *s, struct err *e)
{
	unsigned *rows = arg;
	char when[32];

	(void)e;
	if ((*rows)++ == 0)
		say_text(stdout, "%-24s %6s %6s %6s %6s %6s %7s %8s  %s\n", "image",
		    "loads", "done",
		    "failed", "left", "gone", "stopped", "seconds", "the last one began");
	human_time(number_of(s, I_LAST), when, sizeof when);
	say_text(stdout, "%-24s %6llu %6llu %6llu %6llu %6llu %7llu %8.1f  %s\n",
	    text_of(s, I_IMAGE),
	    (unsigned long long)number_of(s, I_LOADS),
	    (unsigned long long)number_of(s, I_DONE),
	    (unsigned long long)number_of(s, I_FAILED),
	    (unsigned long long)number_of(s, I_LEFT),
	    (unsigned long long)number_of(s, I_GONE),
	    (unsigned long long)number_of(s, I_STOPPED), sqlite3_column_double(s, I_SECONDS),
	    when);
	return 0;
}

static int
print_failure(void *arg, sqlite3_stmt *s, struct err *e)
{
	unsigned *rows = arg;
	char when[32];
	const char *why = text_of(s, E_WHY);

	(void)e;
	if ((*rows)++ == 0)
		say_text(stdout, "what did not end well, the latest first:\n");
	human_time(number_of(s, E_AT), when, sizeof when);
	const char *node = text_of(s, E_NODE);
	say_text(stdout, "%s  %s of %s%s%s%s%s: %s after %.1f s%s%s\n", when, text_of(s, E_KIND),
	    text_of(s, E_IMAGE), node[0] != '\0' ? ", node " : "", node, text_of(s, E_HOST)[0] != '\0' ? ", host " : "",
	    text_of(s, E_HOST), text_of(s, E_OUTCOME), sqlite3_column_double(s, E_SECONDS),
	    why[0] != '\0' ? ": " : "", why);
	return 0;
}

static int
print(struct db *db, struct err *e)
{
	unsigned images = 0, failures = 0;

	if (db_each(db, images_text, print_image, &images, e) != 0)
		return -1;
	if (images == 0)
		say_text(stdout, "nothing was loaded yet\n");
	return db_each(db, failures_text, print_failure, &failures, e);
}

static int
json_image(void *arg, sqlite3_stmt *s, struct err *e)
{
	struct json *j = arg;

	(void)e;
	json_object(j, NULL);
	json_string(j, "name", text_of(s, I_IMAGE));
	json_uint(j, "loads", number_of(s, I_LOADS));
	json_uint(j, "loads_done", number_of(s, I_DONE));
	json_uint(j, "loads_failed", number_of(s, I_FAILED));
	json_uint(j, "loads_left", number_of(s, I_LEFT));
	json_uint(j, "loads_gone", number_of(s, I_GONE));
	json_uint(j, "loads_stopped", number_of(s, I_STOPPED));
	json_double(j, "mean_seconds", sqlite3_column_double(s, I_SECONDS));
	json_uint(j, "last_begun_at", number_of(s, I_LAST));
	json_end(j);
	return 0;
}

static int
json_event(void *arg, sqlite3_stmt *s, struct err *e)
{
	struct json *j = arg;

	(void)e;
	json_object(j, NULL);
	json_uint(j, "begun_at", number_of(s, E_AT));
	json_string(j, "kind", text_of(s, E_KIND));
	json_string(j, "image", text_of(s, E_IMAGE));
	json_string(j, "host", text_of(s, E_HOST));
	json_double(j, "seconds", sqlite3_column_double(s, E_SECONDS));
	json_uint(j, "bytes", number_of(s, E_BYTES));
	json_string(j, "outcome", text_of(s, E_OUTCOME));
	json_string(j, "reason", text_of(s, E_WHY));
	if (text_of(s, E_NODE)[0] != '\0') {
		json_string(j, "holder", text_of(s, E_HOLDER));
		json_string(j, "node", text_of(s, E_NODE));
		json_uint(j, "tries", number_of(s, E_TRIES));
	}
	json_end(j);
	return 0;
}

static int
print_json(struct db *db, struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_array(j, "images");
	int rc = db_each(db, images_text, json_image, j, e);
	json_end(j);
	json_array(j, "events");
	if (rc == 0)
		rc = db_each(db, events_text, json_event, j, e);
	json_end(j);
	json_end(j);
	if (rc == 0)
		return json_show(j, e);
	json_free(j);
	return -1;
}

int
history_report(const char *folder, bool json, struct err *e)
{
	struct db db;
	int rc = history_db_open(&db, folder, false, e);

	if (rc == 0)
		rc = json ? print_json(&db, e) : print(&db, e);
	db_close(&db);
	return rc;
}
