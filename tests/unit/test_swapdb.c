/* The controller's state on a disk: what is saved comes back, a second controller is refused, and a
 * database that is damaged is an error or what it was, never something else. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/state/swapdb.h"
#include "tests/t.h"
#include "tests/tmp.h"

static const struct swap_now now = { 5000000000, 1.7e9 };
static char folder[256];

static void
fill(struct swap *w, const char *salt)
{
	struct swap_config c = { .patience_s = 60, .patience_boot_s = 60 };
	struct err e;

	strcpy(c.salt, salt);
	swap_init(w, &c);
	for (uint8_t i = 0; i < 3; i++)
		swap_add_node(w, (const char *[]){ "a", "b", "c" }[i], (uint8_t[]){ 2, 0, 0, 0, 0, i }, "", &e);
}

/* A controller begins: it opens the state, and has its three nodes. */
static struct swapdb *
begin(struct swap *w)
{
	char salt[SWAP_SALT_BYTES];
	struct swapdb *db = NULL;
	struct err e;

	T_CHECK(swapdb_open(&db, folder, salt, &e) == 0);
	fill(w, salt);
	return db;
}

/* Another one comes after it, which has the sessions of the state. */
static struct swapdb *
come_back(struct swap *w)
{
	struct swapdb *db = begin(w);
	struct err e;

	T_CHECK(swapdb_load(db, w, now, &e) == 0);
	return db;
}

/* It ends as a kill would end it: nothing is written. */
static void
end(struct swapdb *db, struct swap *w)
{
	swap_free(w);
	swapdb_close(db);
}

static int
run_sql(const char *path, const char *sql)
{
	sqlite3 *db;
	int rc = sqlite3_open(path, &db) == SQLITE_OK ? sqlite3_exec(db, sql, NULL, NULL, NULL) : -1;

	sqlite3_close(db);
	return rc;
}

static int
count_one(void *arg, const struct swap_session *s, struct err *e)
{
	(void)e;
	*(unsigned *)arg += s->id;
	return 0;
}

static int
count_node(void *arg, const struct swap_node *n, struct err *e)
{
	(void)e;
	*(unsigned *)arg += 1 + (n->phase == SWAP_STOPPED);
	return 0;
}

static void
test_comes_back(void)
{
	struct swapdb *db, *second;
	char salt[SWAP_SALT_BYTES], again[SWAP_SALT_BYTES];
	struct swap w;
	struct err e;
	uint32_t id;
	bool same;
	struct swap_wish wish = { .nodes = "a,b", .image = "x.ndz", .request = "r-1", .words = "frisbee.disk=sda",
		.sending = { 60000000, 2, 1, "/srv/orders" }, .timeout_s = 600, .tries = 3 };

	T_CHECK(swapdb_open(&db, folder, salt, &e) == 0 && strlen(salt) == 8);
	T_CHECK(swapdb_open(&second, folder, again, &e) != 0 && e.kind == ERR_REFUSED);
	fill(&w, salt);
	T_CHECK(swap_start(&w, now, &wish, &id, &same, &e) == 0);
	swap_powered(&w, now, &w.nodes[0], NULL);
	struct swap_report r = { .mac = { 2 }, .phase = "loading", .text = "<b>\"it's\"" };
	swap_order_name(&w, &w.nodes[0], r.order);
	swap_reported(&w, (struct swap_now){ now.us + 3000000, now.wall_s + 3 }, &r, (uint8_t[]){ 10, 9, 8, 7 }, &e);
	swap_serves(&w, w.sessions[0], (uint8_t[]){ 239, 1, 2, 3 }, 7707);
	strcpy(w.nodes[0].smbios, "serial:A1");
	strcpy(w.nodes[1].smbios, "serial:B1");
	w.nodes[0].of_two = w.nodes[1].of_two = true; /* reports of other machines had them */
	T_CHECK(swapdb_save(db, &w, &e) == 0 && !w.nodes[0].unsaved && !w.sessions[0]->unsaved);
	end(db, &w);

	T_CHECK(swapdb_open(&db, folder, again, &e) == 0 && strcmp(salt, again) == 0);
	fill(&w, again);
	strcpy(w.nodes[0].smbios, "serial:A1");
	strcpy(w.nodes[1].smbios, "serial:B2"); /* the file of nodes was mended */
	T_CHECK(swapdb_load(db, &w, now, &e) == 0);
	T_CHECK(!swap_by_smbios(&w.nodes[0]) && swap_by_smbios(&w.nodes[1]));
	struct swap_session *s = swap_find_session(&w, id);
	T_CHECK(s != NULL && s->state == SWAP_IS_RUNNING && s->total == 2 && s->tries == 3 && s->timeout_s == 600);
	T_CHECK(memcmp(&s->sending, &wish.sending, sizeof s->sending) == 0);
	T_CHECK(strcmp(s->image, "x.ndz") == 0 && strcmp(s->words, "frisbee.disk=sda") == 0 && s->group[3] == 3 && s->port == 7707 && !s->serves);
	T_CHECK(w.nodes[0].phase == SWAP_LOADING && !w.nodes[0].power && w.nodes[0].took_s[SWAP_BOOTING] == 3);
	T_CHECK(w.nodes[0].ip[0] == 10 && w.nodes[0].ip[3] == 7 && strcmp(w.nodes[0].words, "<b>\"it's\"") == 0);
	T_CHECK(w.nodes[1].phase == SWAP_BOOTING && w.nodes[1].power && w.nodes[2].phase == SWAP_IDLE);
	T_CHECK(swapdb_request(db, "r-1") == id && swapdb_request(db, "r-2") == 0 && swapdb_request(db, "") == 0);
	T_CHECK(swap_stop(&w, now, id, &e) == 0 && swapdb_save(db, &w, &e) == 0);
	unsigned sum = 0, members = 0;
	T_CHECK(swapdb_history(db, 0, 10, count_one, &sum, &e) == 0 && sum == id);
	T_CHECK(swapdb_members(db, id, count_node, &members, &e) == 0 && members == 4);
	T_CHECK(swapdb_session(db, 99, count_one, &sum, &e) != 0 && e.kind == ERR_ABSENT);
	end(db, &w);
}

/* A node that is usable, and times until it was, come back; a row of a controller that knew no such
 * phase is read. */
static void
test_stream(void)
{
	static const char old[] = "UPDATE session SET count = '0 1 0 0 1 0 0 0 0 ', took = '0 -1 -1 - 1 30.5 30.5 a "
				  "0 -1 -1 - 0 -1 -1 - 0 -1 -1 - 2 7 9 b 0 -1 -1 - 0 -1 -1 - 0 -1 -1 - ';"
				  "UPDATE node SET took = '-1 30.5 -1 -1 4 -1 -1 -1 -1 ' WHERE name = 'a'";
	char path[300];
	struct swap_wish wish = { .nodes = "a,b", .image = "x.ndz", .stream = true, .timeout_s = 600, .tries = 1 };
	struct swap_report r = { .mac = { 2 }, .phase = "usable" };
	struct swapdb *db;
	struct swap w;
	struct err e;
	uint32_t id;
	bool same;

	db = begin(&w);
	T_CHECK(swap_start(&w, now, &wish, &id, &same, &e) == 0);
	swap_order_name(&w, &w.nodes[0], r.order);
	swap_reported(&w, (struct swap_now){ now.us + 9000000, now.wall_s + 9 }, &r, (uint8_t[]){ 10, 9, 8, 7 }, &e);
	T_CHECK(swapdb_save(db, &w, &e) == 0);
	end(db, &w);
	for (int i = 0; i < 2; i++) {
		db = come_back(&w);
		struct swap_session *s = swap_find_session(&w, id);
		T_CHECK(s != NULL && s->stream && s->count[SWAP_USABLE] == 1 && w.nodes[0].phase == SWAP_USABLE);
		T_CHECK(swap_after_s(&w.nodes[0], SWAP_USABLE) == (i == 0 ? 9 : 34.5) && w.nodes[0].filled < 0);
		T_CHECK(s->usable_after.n == 1 && s->usable_after.median_s == (i == 0 ? 9 : 34.5));
		T_CHECK(i == 0 || (s->took[SWAP_STREAMING].n == 1 && w.nodes[0].took_s[SWAP_USABLE] < 0));
		T_CHECK(i == 0 || (swap_stop(&w, now, id, &e) == 0 && swapdb_save(db, &w, &e) == 0));
		end(db, &w);
		snprintf(path, sizeof path, "%s/state.db", folder);
		T_CHECK(i == 1 || run_sql(path, old) == 0);
	}
	T_CHECK(run_sql(path, "DELETE FROM node WHERE session = 2; DELETE FROM session WHERE id = 2") == 0);
}

/* A capture comes back, and so do the times of its phases; a row that older controllers have written has none. */
static void
test_capture(void)
{
	static const char old[] = "UPDATE session SET took = '0 -1 -1 - 1 30.5 30.5 a 0 -1 -1 - 0 -1 -1 - 0 -1 -1 - "
				  "0 -1 -1 - 0 -1 -1 - 0 -1 -1 - 0 -1 -1 - 0 -1 -1 - 1 8 8 a 2 7 9 b ' WHERE id = 2";
	char path[300];
	struct swap_wish wish = { .nodes = "a", .image = "x.ndz", .capture = true, .replace = true,
		.timeout_s = 600, .tries = 1 };
	struct swap_report r = { .mac = { 2 }, .phase = "capturing" };
	struct swapdb *db;
	struct swap w;
	struct err e;
	uint32_t id;
	bool same;

	db = come_back(&w);
	T_CHECK(swap_start(&w, now, &wish, &id, &same, &e) == 0);
	swap_order_name(&w, &w.nodes[0], r.order);
	swap_reported(&w, (struct swap_now){ now.us + 9000000, now.wall_s + 9 }, &r, (uint8_t[]){ 10, 9, 8, 7 }, &e);
	strcpy(r.phase, "verifying");
	swap_reported(&w, (struct swap_now){ now.us + 19000000, now.wall_s + 19 }, &r, (uint8_t[]){ 10, 9, 8, 7 }, &e);
	T_CHECK(swapdb_save(db, &w, &e) == 0);
	end(db, &w);
	for (int i = 0; i < 2; i++) {
		db = come_back(&w);
		struct swap_session *s = swap_find_session(&w, id);
		T_CHECK(s != NULL && s->capture && s->replace && w.nodes[0].phase == SWAP_VERIFYING);
		T_CHECK(w.nodes[0].took_s[SWAP_CAPTURING] == 10 && s->count[SWAP_VERIFYING] == 1);
		T_CHECK(swap_stop(&w, now, id, &e) == 0 && swapdb_save(db, &w, &e) == 0);
		end(db, &w);
		snprintf(path, sizeof path, "%s/state.db", folder);
		T_CHECK(i == 1 || run_sql(path, "UPDATE session SET state = 0 WHERE capture > 0; UPDATE node SET phase = 11 "
						"WHERE session = (SELECT id FROM session WHERE capture > 0)") == 0);
	}
	T_CHECK(run_sql(path, old) == 0);
	db = come_back(&w);
	struct swap_session *s = swap_find_session(&w, id);
	T_CHECK(s != NULL && s->done_after.n == 2 && s->usable_after.median_s == 8 && s->took[SWAP_CAPTURING].n == 0);
	end(db, &w);
	T_CHECK(run_sql(path, "DELETE FROM node WHERE session = 2; DELETE FROM session WHERE id = 2") == 0);
}

static int
take_name(void *arg, const struct swap_node *n, struct err *err)
{
	(void)err;
	strcpy(arg, n->name);
	return 0;
}

/* The nodes of a session stay until it is noted, and then the last row of each node. */
static void
test_noted(void)
{
	struct swap_wish wish = { .nodes = "a,b", .image = "x.ndz", .timeout_s = 600, .tries = 1 };
	unsigned members = 0;
	struct swapdb *db;
	struct swap w;
	struct err e;
	uint32_t first, second, id = 0;
	char name[SWAP_NAME_BYTES] = "", path[300];
	bool same;

	snprintf(path, sizeof path, "%s/state.db", folder);
	T_CHECK(run_sql(path, "CREATE TABLE s AS SELECT * FROM session; CREATE TABLE n AS SELECT * FROM node;"
			      "UPDATE session SET noted = 1") == 0); /* those of the tests before */
	db = come_back(&w);
	T_CHECK(swap_start(&w, now, &wish, &first, &same, &e) == 0 && swapdb_save(db, &w, &e) == 0);
	T_CHECK(swapdb_unnoted(db, 0, &id, &e) == 0 && id == 0); /* it runs */
	T_CHECK(swap_stop(&w, now, first, &e) == 0 && swapdb_save(db, &w, &e) == 0);
	strcpy(wish.nodes, "b,c");
	T_CHECK(swap_start(&w, now, &wish, &second, &same, &e) == 0 && swap_stop(&w, now, second, &e) == 0);
	T_CHECK(swapdb_save(db, &w, &e) == 0);
	T_CHECK(swapdb_unnoted(db, 0, &id, &e) == 0 && id == first && !swapdb_lacks_members(db, first));
	T_CHECK(swapdb_unnoted(db, first, &id, &e) == 0 && id == second && swapdb_unnoted(db, second, &id, &e) == 0 && id == 0);
	T_CHECK(swapdb_member_behind(db, first, "", take_name, name, &e) == 0 && strcmp(name, "a") == 0);
	T_CHECK(swapdb_member_behind(db, first, "a", take_name, name, &e) == 0 && strcmp(name, "b") == 0);
	T_CHECK(swapdb_member_behind(db, first, "b", take_name, strcpy(name, "none"), &e) == 0 && strcmp(name, "none") == 0);
	T_CHECK(swapdb_member_behind(db, first, "a' OR 'a", take_name, name, &e) == 0 && strcmp(name, "b") == 0);
	end(db, &w);
	db = come_back(&w); /* a kill before it is noted loses none */
	T_CHECK(swapdb_members(db, first, count_node, &members, &e) == 0 && members == 4);
	T_CHECK(swapdb_noted(db, first, &e) == 0 && swapdb_lacks_members(db, first) && !swapdb_lacks_members(db, second));
	swap_noted(&w, first);
	T_CHECK(swap_find_session(&w, first)->noted);
	members = 0;
	T_CHECK(swapdb_members(db, first, count_node, &members, &e) == 0 && members == 2); /* a */
	members = 0;
	T_CHECK(swapdb_members(db, second, count_node, &members, &e) == 0 && members == 4);
	T_CHECK(swapdb_unnoted(db, 0, &id, &e) == 0 && id == second);
	T_CHECK(swapdb_noted(db, second, &e) == 0 && swapdb_unnoted(db, 0, &id, &e) == 0 && id == 0);
	T_CHECK(!swapdb_lacks_members(db, second) && !swapdb_lacks_members(db, 99)); /* b and c have been in no other one */
	end(db, &w);
	db = come_back(&w); /* each node is what it was */
	T_CHECK(w.nodes[0].session == first && w.nodes[1].session == second && w.nodes[2].session == second);
	T_CHECK(swap_find_session(&w, first)->noted && w.nodes[1].phase == SWAP_STOPPED);
	end(db, &w);
	T_CHECK(run_sql(path, "DELETE FROM session; INSERT INTO session SELECT * FROM s; DELETE FROM node; DELETE FROM course;"
			      "INSERT INTO node SELECT * FROM n; DROP TABLE s; DROP TABLE n") == 0);
}

/* What is too old is forgotten when the state is opened, but for a session that runs still, and its nodes. */
static void
test_oldest(void)
{
	static const char copy[] =
	    "CREATE TABLE s AS SELECT * FROM session; CREATE TABLE n AS SELECT * FROM node; UPDATE n SET phase = 2;"
	    "UPDATE s SET id = 1, state = 0; INSERT OR REPLACE INTO session SELECT * FROM s;"
	    "UPDATE s SET id = 2, state = 3, noted = 1; INSERT INTO session SELECT * FROM s;"
	    "UPDATE s SET id = 10002; INSERT INTO session SELECT * FROM s;"
	    "INSERT OR REPLACE INTO node SELECT * FROM n; UPDATE n SET session = 2, name = 'c'; INSERT OR REPLACE INTO node SELECT * FROM n";
	static const char back[] = "DELETE FROM session WHERE id > 1; DELETE FROM node WHERE session > 1; DELETE FROM course;"
				   "UPDATE session SET state = 3; UPDATE node SET phase = 8; DROP TABLE s; DROP TABLE n";
	char path[300];
	struct swapdb *db;
	struct swap w;
	struct err e;
	unsigned left = 0;

	snprintf(path, sizeof path, "%s/state.db", folder);
	T_CHECK(run_sql(path, copy) == 0);
	db = come_back(&w);
	T_CHECK(w.nsessions == 2);
	struct swap_session *s = swap_find_session(&w, 1);
	T_CHECK(s != NULL && s->state == SWAP_IS_RUNNING && s->total == 2);
	T_CHECK(swapdb_members(db, 2, count_node, &left, &e) == 0 && left == 0);
	end(db, &w);
	T_CHECK(run_sql(path, back) == 0);
}

/* The course of a session: it comes back bit by bit; what cannot be so is left out, and nothing else. */
static void
course_of(const char *path, const char *sql, struct swap_session *s)
{
	struct swapdb *db;
	struct swap w;

	T_CHECK(sql == NULL || run_sql(path, sql) == 0);
	db = come_back(&w);
	T_CHECK(w.nsessions == 1);
	*s = *w.sessions[0];
	end(db, &w);
}

static int
known_one(void *arg, const struct swap_session *s, struct err *e)
{
	(void)e;
	*(unsigned *)arg = s->nsamples;
	return 0;
}

static void
test_course(void)
{
	static const char *const wrong_server[] = { "chunks = -1", "share_lost = 2", "chunk_map = 'xyz'", "chunk_map = printf('%.*c', 1025, 'f')" };
	static const char *const wrong_samples[] = { "samples = x'00'", "samples = zeroblob(9616)", "samples = x'0000c07f'||zeroblob(12)",
		"samples = x'0000803f000000000000000000000000'||zeroblob(16)", "samples = zeroblob(8)||x'00000040'||zeroblob(4)" };
	struct swap_server seen = { .known = true, .chunks = 5, .blocks_sent = 12345678901, .blocks_resent = 4, .share_lost = 0.25, .chunk_map = "0f9" };
	char path[300], sql[300];
	struct swap_session *is = malloc(sizeof *is);
	struct swapdb *db;
	struct swap w;
	struct err e;

	snprintf(path, sizeof path, "%s/state.db", folder);
	db = come_back(&w);
	T_CHECK(w.nsessions == 1 && !w.sessions[0]->server.known);
	struct swap_session *s = w.sessions[0];
	for (int i = 0; i < 3; i++)
		s->samples[i] = (struct swap_sample){ (float)i + 0.1f, 1e9f / 3, 0.3f, (float)i / 3 };
	s->nsamples = 3;
	swap_served(&w, now, s, &seen); /* it has ended: no sample is added */
	T_CHECK(s->course_unsaved && swapdb_save(db, &w, &e) == 0 && !s->course_unsaved);
	struct swap_session *was = malloc(sizeof *was);
	*was = *s;
	unsigned n = 0;
	T_CHECK(swapdb_session(db, s->id, known_one, &n, &e) == 0 && n == 3);
	T_CHECK(swapdb_history(db, 0, 10, known_one, &n, &e) == 0 && n == 0); /* lists have no courses */
	end(db, &w);
	course_of(path, NULL, is);
	T_CHECK(is->server.known && memcmp(&is->server, &was->server, sizeof is->server) == 0);
	T_CHECK(is->nsamples == 3 && memcmp(is->samples, was->samples, 3 * sizeof is->samples[0]) == 0);
	T_CHECK(run_sql(path, "CREATE TABLE c AS SELECT * FROM course") == 0);
	for (size_t i = 0; i < sizeof wrong_server / sizeof wrong_server[0]; i++) {
		snprintf(sql, sizeof sql, "UPDATE course SET %s", wrong_server[i]);
		course_of(path, sql, is);
		T_CHECK(!is->server.known && is->server.chunk_map[0] == '\0' && is->nsamples == 3);
		T_CHECK(run_sql(path, "DELETE FROM course; INSERT INTO course SELECT * FROM c") == 0);
	}
	for (size_t i = 0; i < sizeof wrong_samples / sizeof wrong_samples[0]; i++) {
		snprintf(sql, sizeof sql, "UPDATE course SET %s", wrong_samples[i]);
		course_of(path, sql, is);
		T_CHECK(is->server.known && is->nsamples == 0);
		T_CHECK(run_sql(path, "DELETE FROM course; INSERT INTO course SELECT * FROM c") == 0);
	}
	for (int cut = 0; cut < 48; cut++) { /* every truncation */
		snprintf(sql, sizeof sql, "UPDATE course SET samples = (SELECT CAST(substr(samples, 1, %d) AS BLOB) FROM c)", cut);
		course_of(path, sql, is);
		T_CHECK(is->nsamples == (cut % 16 == 0 ? (unsigned)cut / 16 : 0));
	}
	T_CHECK(run_sql(path, "DROP TABLE c; DELETE FROM course") == 0);
	free(is);
	free(was);
}

/* A state of version 1, without courses, becomes one of this version, and its sessions go on. */
static void
test_older(void)
{
	char path[300], salt[SWAP_SALT_BYTES];
	struct swapdb *db;
	struct swap w;
	struct err e;
	unsigned sum = 0;

	snprintf(path, sizeof path, "%s/state.db", folder);
	T_CHECK(run_sql(path, "ALTER TABLE session DROP COLUMN seen_s; ALTER TABLE session DROP COLUMN away_s; ALTER TABLE session DROP COLUMN capture; DROP TABLE course;"
			      "ALTER TABLE node DROP COLUMN smbios; ALTER TABLE node DROP COLUMN of_two; ALTER TABLE session DROP COLUMN place; ALTER TABLE session ADD COLUMN slot INTEGER NOT NULL DEFAULT 7;"
			      "ALTER TABLE session ADD COLUMN pid INTEGER NOT NULL DEFAULT 7; ALTER TABLE session ADD COLUMN pid_start INTEGER NOT NULL DEFAULT 7;"
			      "ALTER TABLE session DROP COLUMN bandwidth_bits_per_s; ALTER TABLE session DROP COLUMN wait;"
			      "ALTER TABLE session DROP COLUMN until; ALTER TABLE session DROP COLUMN orders;"
			      "DROP INDEX unnoted; ALTER TABLE session DROP COLUMN noted;"
			      "PRAGMA user_version = 1") == 0);
	db = come_back(&w);
	T_CHECK(w.nsessions == 1 && w.sessions[0]->away_s == 0 && w.sessions[0]->port == 0);
	T_CHECK(swapdb_history(db, 0, 10, count_one, &sum, &e) == 0 && sum == w.sessions[0]->id);
	uint32_t id = 0; /* the history is told of it */
	char name[SWAP_NAME_BYTES];
	T_CHECK(swapdb_unnoted(db, 0, &id, &e) == 0 && id == sum && swapdb_member_behind(db, id, "", take_name, name, &e) == 0);
	T_CHECK(strcmp(name, "a") == 0);
	end(db, &w);
	T_CHECK(run_sql(path, "PRAGMA user_version = 9") == 0);
	T_CHECK(swapdb_open(&db, folder, salt, &e) != 0 && e.kind == ERR_FORMAT);
	T_CHECK(run_sql(path, "PRAGMA user_version = 8") == 0);
}

/* Each of the fields that can be impossible is made so. */
static void
test_impossible(void)
{
	static const char *const wrong[] = { "UPDATE session SET state = 9", "UPDATE session SET place = '239.1.2.3:65536'", "UPDATE session SET place = '239.1.2:7'", "UPDATE session SET place = '239.1.2.3'",
		"UPDATE session SET image = printf('%.*c', 400, 'x')", "UPDATE session SET count = '1 2'",
		"UPDATE node SET phase = 77", "UPDATE node SET mac = x'0102'", "UPDATE node SET took = 'a'",
		"UPDATE node SET tries = -1", "UPDATE node SET of_two = 2", "UPDATE node SET smbios = '4C4C4544-0042-3510-8054-B4C04F4A3132'", "UPDATE node SET since_s = 1e300", "UPDATE node SET took = replace(took, ' ', ' 1e300 ')",
		"UPDATE session SET spent_s = -7", "UPDATE session SET wait = -1", "UPDATE session SET noted = 2", "UPDATE session SET orders = printf('%.*c', 256, '/')", "UPDATE session SET took = replace(took, '-1', '1e300')", "UPDATE node SET phase = 2" /* its session has ended */ };
	char path[300];

	snprintf(path, sizeof path, "%s/state.db", folder);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct swapdb *db;
		struct swap w;
		struct err e = { 0 };
		T_CHECK(run_sql(path, "CREATE TABLE s AS SELECT * FROM session; CREATE TABLE n AS SELECT * FROM node") == 0);
		T_CHECK(run_sql(path, wrong[i]) == 0);
		db = begin(&w);
		T_CHECK(swapdb_load(db, &w, now, &e) != 0 && e.kind == ERR_FORMAT);
		T_CHECK(strstr(e.text, "/state.db: ") != NULL);
		end(db, &w);
		T_CHECK(run_sql(path, "DELETE FROM session; INSERT INTO session SELECT * FROM s; DELETE FROM node;"
		                        "INSERT INTO node SELECT * FROM n; DROP TABLE s; DROP TABLE n") == 0);
	}
}

/* The file cut off at each place: an error, or all of it; what is not a database is an error. */
static void
test_cut_off(void)
{
	static const char *const names[] = { "state.db", "state.db-wal", "state.db-shm", "lock" };
	char path[300], salt[SWAP_SALT_BYTES];
	struct swapdb *db;
	struct swap w;
	struct err e = { 0 };

	snprintf(path, sizeof path, "%s/state.db", folder);
	T_CHECK(run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)") == 0);
	FILE *f = fopen(path, "r");
	static char all[1 << 18];
	size_t n = fread(all, 1, sizeof all, f), bad = 0, cuts = 0;
	fclose(f);
	for (size_t cut = n - 1; cut > 0; cut = cut > 1500 ? cut - 1500 : 0) {
		cuts++;
		f = fopen(path, "w");
		fwrite(all, 1, cut, f);
		fclose(f);
		unlink((snprintf(path, sizeof path, "%s/state.db-wal", folder), path));
		snprintf(path, sizeof path, "%s/state.db", folder);
		if (swapdb_open(&db, folder, salt, &e) != 0) {
			bad += e.text[0] != '\0' && e.kind != ERR_NONE;
			continue;
		}
		fill(&w, salt);
		/* Pages that nothing is in may lack. */
		bad += swapdb_load(db, &w, now, &e) != 0
		           ? e.text[0] != '\0'
		           : w.nsessions == 1 && w.sessions[0]->state == SWAP_IS_STOPPED && w.nodes[1].phase == SWAP_STOPPED;
		end(db, &w);
	}
	T_CHECK(n > 8192 && cuts > 10 && bad == cuts);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
}

int
main(void)
{
	if (!tmp_folder(folder, sizeof folder, "swapdb"))
		return 1;
	test_comes_back();
	test_stream();
	test_capture();
	test_noted();
	test_oldest();
	test_course();
	test_older();
	test_impossible();
	test_cut_off();
	T_CHECK(rmdir(folder) == 0);
	return t_done();
}
