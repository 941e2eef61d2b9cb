/* swapdb.c: the database of the controller (swapdb.h): its lock, what is saved of the engine, and
 * what is read from it.  The controller's loop calls this, in the program's first thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "common/base/number.h"
#include "common/base/path.h"
#include "common/base/random_bytes.h"
#include "common/base/replace.h"
#include "controller/state/swapdb_impl.h"

/* WAIT_MS: another program, such as a backup, may read the database for a moment.  SESSIONS_KEPT: a
 * session a day for 27 years. */
enum { VERSION = 8, WAIT_MS = 5000, SESSIONS_KEPT = 10000 };

static int
lock(struct swapdb *st, const char *folder, struct err *e)
{
	char path[PATH_BYTES];

	if (path_in(path, folder, "lock", e) != 0)
		return -1;
	return lock_file(&st->lock, path, folder, "another controllerd uses this folder", e);
}

static int
take_salt(void *salt, sqlite3_stmt *q, struct err *e)
{
	const char *got = (const char *)sqlite3_column_text(q, 0);

	(void)e;
	if (got != NULL && strlen(got) == 8 && strspn(got, "0123456789abcdef") == 8)
		strcpy(salt, got);
	return 0;
}

/* The salt that is saved, or a new one. */
static int
find_salt(struct swapdb *st, char salt[SWAP_SALT_BYTES], struct err *e)
{
	uint8_t raw[(SWAP_SALT_BYTES - 1) / 4];
	char sql[200], text[2 * sizeof raw + 1];

	random_bytes(raw, sizeof raw);
	snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO meta VALUES ('salt', '%s')",
	    number_hex(raw, sizeof raw, text));
	salt[0] = '\0';
	if (db_run(&st->db, sql, e) != 0 ||
	    db_each(&st->db, "SELECT value FROM meta WHERE key = 'salt'", take_salt, salt, e) != 0)
		return -1;
	return salt[0] != '\0' ? 0 : err_set(e, ERR_FORMAT, "the state: it has no salt");
}

static int
forget_oldest(struct swapdb *st, struct err *e)
{
	char sql[300];

	snprintf(sql, sizeof sql,
	    "DELETE FROM session WHERE id <= (SELECT max(id) FROM session) - %d AND noted = 1;"
	    "DELETE FROM node WHERE session NOT IN (SELECT id FROM session);"
	    "DELETE FROM course WHERE session NOT IN (SELECT id FROM session);",
	    SESSIONS_KEPT);
	return db_run(&st->db, sql, e);
}

/* Makes the folder, if it is not there.  SQLite syncs what is in it, and not where it is: without
 * that a power failure takes the whole state, and with it the salt that tells which orders are this
 * controller's. */
static int
make_folder(const char *folder, struct err *e)
{
	if (mkdir(folder, 0700) != 0)
		return errno == EEXIST ? 0 : err_os(e, "%s", folder);
	return replace_sync_name(folder, e);
}

static int
open_db(struct swapdb *st, const char *folder, struct err *e)
{
	static const char *const upgrade[VERSION] = { swapdb_schema, swapdb_upgrade, swapdb_captures,
		swapdb_places, swapdb_sending, swapdb_machines, swapdb_twins, swapdb_notes };
	char path[PATH_BYTES];

	if (make_folder(folder, e) != 0)
		return -1;
	if (lock(st, folder, e) != 0 || path_in(path, folder, "state.db", e) != 0)
		return -1;
	st->db.name = "the state";
	if (db_open(&st->db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, WAIT_MS, e) != 0 ||
	    db_run(&st->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", e) != 0 ||
	    db_upgrade(&st->db, upgrade, VERSION, e) != 0 || forget_oldest(st, e) != 0)
		return err_ctx(e, "%s", path);
	return 0;
}

int
swapdb_open(struct swapdb **out, const char *folder, char salt[SWAP_SALT_BYTES], struct err *e)
{
	struct swapdb *st = calloc(1, sizeof *st);

	*out = NULL;
	if (st == NULL)
		return err_nomem(e, "the state");
	st->lock = -1;
	if (open_db(st, folder, e) != 0 || find_salt(st, salt, e) != 0) {
		swapdb_close(st);
		return -1;
	}
	*out = st;
	return 0;
}

void
swapdb_close(struct swapdb *st)
{
	if (st == NULL)
		return;
	db_close(&st->db);
	if (st->lock >= 0)
		close(st->lock);
	free(st);
}

/* Whom the rows of a question are given to: session() or node(), of which the other one is NULL. */
struct rows {
	int (*session)(void *, const struct swap_session *, struct err *);
	int (*node)(void *, const struct swap_node *, struct err *);
	void *arg;
};

static int
take_row(void *rows, sqlite3_stmt *q, struct err *e)
{
	static struct swap_session s; /* too large for a stack; never in use twice at once */
	const struct rows *r = rows;
	struct swap_node n;

	if (r->session != NULL)
		return swapdb_read_session(q, &s, e) == 0 ? r->session(r->arg, &s, e) : -1;
	return swapdb_read_node(q, &n, e) == 0 ? r->node(r->arg, &n, e) : -1;
}

static int
each_row(struct swapdb *st, const char *sql, struct rows r, struct err *e)
{
	return db_each(&st->db, sql, take_row, &r, e) == 0
	           ? 0
	           : err_ctx(e, "%s", sqlite3_db_filename(st->db.sql, "main"));
}

struct loading {
	struct swap *w;
	struct swap_now now;
};

static int
load_session(void *arg, const struct swap_session *s, struct err *e)
{
	struct loading *l = arg;

	return swap_restore_session(l->w, l->now, s, e);
}

static int
load_node(void *arg, const struct swap_node *n, struct err *e)
{
	struct loading *l = arg;

	return swap_restore_node(l->w, l->now, n, e);
}

int
swapdb_load(struct swapdb *st, struct swap *w, struct swap_now now, struct err *e)
{
	struct loading l = { w, now };
	char sql[600];

	snprintf(sql, sizeof sql,
	    "%s WHERE state = 0 OR id IN (SELECT id FROM session ORDER BY id DESC LIMIT %d) ORDER BY id",
	    swapdb_get_whole, SWAP_RECENT_MAX);
	if (each_row(st, sql, (struct rows){ load_session, NULL, &l }, e) != 0)
		return -1;
	/* Each node as its last session has it. */
	snprintf(sql, sizeof sql,
	    "%s AS n WHERE session = (SELECT max(session) FROM node AS m WHERE m.name = n.name)",
	    swapdb_get_node);
	if (each_row(st, sql, (struct rows){ NULL, load_node, &l }, e) != 0)
		return -1;
	swap_restored(w, now);
	return 0;
}

static int
put_session(struct swapdb *st, const struct swap_session *s, const char *sql,
    void (*bind)(sqlite3_stmt *, const struct swap_session *), struct err *e)
{
	sqlite3_stmt *q;

	if (db_prepare(&st->db, &q, sql, e) != 0)
		return -1;
	bind(q, s);
	int rc = db_step(&st->db, q, e);
	sqlite3_finalize(q);
	return rc;
}

static int
put_nodes(struct swapdb *st, const struct swap *w, struct err *e)
{
	sqlite3_stmt *q;
	int rc = 0;

	if (db_prepare(&st->db, &q, swapdb_put_node, e) != 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < w->nnodes; i++) {
		if (!w->nodes[i].unsaved || w->nodes[i].session == 0)
			continue;
		swapdb_bind_node(q, &w->nodes[i]);
		rc = db_step(&st->db, q, e);
	}
	sqlite3_finalize(q);
	return rc;
}

static int
put_all(struct swapdb *st, const struct swap *w, struct err *e)
{
	struct err ignored;
	int rc = db_run(&st->db, "BEGIN IMMEDIATE", e);

	for (size_t i = 0; rc == 0 && i < w->nsessions; i++) {
		const struct swap_session *s = w->sessions[i];
		if (s->unsaved)
			rc = put_session(st, s, swapdb_put_session, swapdb_bind_session, e);
		if (rc == 0 && s->course_unsaved)
			rc = put_session(st, s, swapdb_put_course, swapdb_bind_course, e);
	}
	if (rc == 0)
		rc = put_nodes(st, w, e);
	if (rc == 0)
		rc = db_run(&st->db, "COMMIT", e);
	if (rc != 0)
		db_run(&st->db, "ROLLBACK", &ignored);
	return rc;
}

int
swapdb_save(struct swapdb *st, struct swap *w, struct err *e)
{
	bool any = false;

	for (size_t i = 0; i < w->nsessions; i++)
		any |= w->sessions[i]->unsaved || w->sessions[i]->course_unsaved;
	for (size_t i = 0; i < w->nnodes; i++)
		any |= w->nodes[i].unsaved;
	if (!any)
		return 0;
	if (put_all(st, w, e) != 0)
		return -1;
	swap_saved(w);
	return 0;
}

int
swapdb_history(struct swapdb *st, uint32_t before, unsigned most,
    int (*each)(void *arg, const struct swap_session *, struct err *), void *arg, struct err *e)
{
	char sql[500];

	snprintf(sql, sizeof sql, "%s WHERE state <> 0 AND id < %lld ORDER BY id DESC LIMIT %u",
	    swapdb_get_session, before != 0 ? (long long)before : (long long)UINT32_MAX, most);
	return each_row(st, sql, (struct rows){ each, NULL, arg }, e);
}

struct one {
	int (*each)(void *, const struct swap_session *, struct err *);
	void *arg;
	bool found;
};

static int
found_one(void *arg, const struct swap_session *s, struct err *e)
{
	struct one *o = arg;

	o->found = true;
	return o->each(o->arg, s, e);
}

int
swapdb_session(struct swapdb *st, uint32_t id,
    int (*each)(void *arg, const struct swap_session *, struct err *), void *arg, struct err *e)
{
	struct one o = { each, arg, false };
	char sql[500];

	snprintf(sql, sizeof sql, "%s WHERE id = %u", swapdb_get_whole, id);
	if (each_row(st, sql, (struct rows){ found_one, NULL, &o }, e) != 0)
		return -1;
	return o.found ? 0 : err_set(e, ERR_ABSENT, "there is no session %u", id);
}

int
swapdb_members(struct swapdb *st, uint32_t session,
    int (*each)(void *arg, const struct swap_node *, struct err *), void *arg, struct err *e)
{
	char sql[500];

	snprintf(sql, sizeof sql, "%s WHERE session = %u ORDER BY name", swapdb_get_node, session);
	return each_row(st, sql, (struct rows){ NULL, each, arg }, e);
}

static int
take_id(void *id, sqlite3_stmt *q, struct err *e)
{
	(void)e;
	*(uint32_t *)id = (uint32_t)sqlite3_column_int64(q, 0);
	return 0;
}

int
swapdb_unnoted(struct swapdb *st, uint32_t behind, uint32_t *id, struct err *e)
{
	char sql[200];

	*id = 0;
	snprintf(sql, sizeof sql,
	    "SELECT id FROM session WHERE noted = 0 AND state <> 0 AND id > %u AND id < %u ORDER BY id LIMIT 1", behind,
	    UINT32_MAX);
	return db_each(&st->db, sql, take_id, id, e);
}

int
swapdb_member_behind(struct swapdb *st, uint32_t session, const char *name,
    int (*each)(void *arg, const struct swap_node *, struct err *), void *arg, struct err *e)
{
	char sql[500 + 2 * SWAP_NAME_BYTES];

	sqlite3_snprintf(sizeof sql, sql, "%s WHERE session = %u AND name > %Q ORDER BY name LIMIT 1", swapdb_get_node,
	    session, name);
	return each_row(st, sql, (struct rows){ NULL, each, arg }, e);
}

int
swapdb_noted(struct swapdb *st, uint32_t session, struct err *e)
{
	char sql[500];

	/* The last row of each node is what the node is. */
	snprintf(sql, sizeof sql,
	    "UPDATE session SET noted = 1 WHERE id = %u;"
	    "DELETE FROM node WHERE session < (SELECT max(session) FROM node AS m WHERE m.name = node.name) "
	    "AND session IN (SELECT id FROM session WHERE noted = 1)",
	    session);
	return db_run(&st->db, sql, e);
}

static int
take_lacks(void *lacks, sqlite3_stmt *q, struct err *e)
{
	(void)e;
	*(bool *)lacks = sqlite3_column_int(q, 0) == 1;
	return 0;
}

bool
swapdb_lacks_members(struct swapdb *st, uint32_t session)
{
	struct err ignored;
	bool lacks = false;
	char sql[200];

	snprintf(sql, sizeof sql,
	    "SELECT noted = 1 AND total > (SELECT count(*) FROM node WHERE session = id) FROM session WHERE id = %u",
	    session);
	(void)db_each(&st->db, sql, take_lacks, &lacks, &ignored);
	return lacks;
}

uint32_t
swapdb_request(struct swapdb *st, const char *request)
{
	struct err ignored;
	uint32_t id = 0;
	sqlite3_stmt *q;

	if (request[0] == '\0' ||
	    db_prepare(&st->db, &q, "SELECT id FROM session WHERE request = ?", &ignored) != 0)
		return 0;
	sqlite3_bind_text(q, 1, request, -1, SQLITE_TRANSIENT);
	if (sqlite3_step(q) == SQLITE_ROW)
		id = (uint32_t)sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return id;
}
