/* The walk over fragments finds what a look-up finds, in whatever order it is asked; packs and
 * their spares; an index that is damaged; a signal ends what takes long. */
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli/cli.h"
#include "emustore/store/index.h"
#include "tests/random.h"
#include "tests/t.h"
#include "tests/tmp.h"

enum { LAST = 30000, QUESTIONS = 5000 };

static void
digest_of(uint64_t number, uint8_t out[SHA256_BYTES])
{
	memset(out, 0, SHA256_BYTES);
	memcpy(out, &number, sizeof number);
	out[8] = (uint8_t)(number * 37);
}

/* With gaps of many lengths. */
static bool
is_there(uint64_t number)
{
	return number % 3 != 0 && number % 100 < 80 && number <= LAST;
}

static bool
add_all(struct index *x)
{
	struct err e;

	for (uint64_t n = 1; n <= LAST; n++) {
		struct index_fragment i = { .pack = (uint32_t)(n % 7),
			.f = { .at = n * 1000, .bytes = (uint32_t)n + 5 } };
		digest_of(n, i.f.head.sha256);
		if (is_there(n) && index_add_fragment(x, &i, &e) != 0)
			return false;
	}
	return true;
}

static bool
answer_is_right(struct index_walk *w, uint64_t number)
{
	struct index_place p = { 0 };
	uint8_t digest[SHA256_BYTES];
	struct err e;

	digest_of(number, digest);
	int rc = index_walk_to(w, digest, &p, &e);
	if (!is_there(number))
		return rc == 0;
	return rc == 1 && p.pack == number % 7 && p.at == number * 1000 &&
	       p.bytes == number + 5;
}

/* Mostly a little further, sometimes anywhere. */
static void
test_walk(struct index *x)
{
	struct index_walk w = index_walk_of(x);
	uint64_t at = 1;
	unsigned right = 0;

	for (unsigned i = 0; i < QUESTIONS; i++) {
		at = draw(16) == 0 ? 1 + draw(LAST + 50) : at + draw(12);
		right += answer_is_right(&w, at);
		if (draw(97) == 0)
			index_walk_end(&w);
	}
	T_CHECK(right == QUESTIONS);
	T_CHECK(answer_is_right(&w, LAST + 1));
	T_CHECK(answer_is_right(&w, 1));
	T_CHECK(answer_is_right(&w, 1));
	T_CHECK(answer_is_right(&w, 2));
	index_walk_end(&w);
}

/* A pack of the fragments from..to-1 as its table has it. */
static int
add_pack(struct index *x, const char *id, uint64_t from, uint64_t to, struct err *e)
{
	struct buf fragments = { 0 }, table = { 0 };
	char made[PACK_ID_CHARS + 1];
	static const uint8_t bytes[100000];
	struct toc t;

	for (uint64_t n = from; n < to; n++) {
		struct pack_fragment f = { .at = 40 + (n - from) * 200, .bytes = 50 };
		digest_of(n, f.head.sha256);
		toc_add(&fragments, &f);
	}
	int rc = toc_make(&table, bytes, sizeof bytes, &fragments, made, e);
	if (rc == 0)
		rc = toc_open(&t, made, table.base, table.len, e);
	if (rc == 0)
		rc = index_add_pack(x, id, &t, e);
	buf_free(&fragments);
	buf_free(&table);
	return rc;
}

static uint32_t
pack_of(struct index *x, uint64_t number)
{
	struct index_fragment i = { .pack = 0 };
	uint8_t digest[SHA256_BYTES];
	struct err e;

	digest_of(number, digest);
	return index_find_fragment(x, digest, &i, &e) == 1 ? i.pack : 0;
}

/* A fragment that two packs have is found as long as one of them is there, and in one that is
 * not condemned if there is such. */
static void
test_packs(struct index *x)
{
	struct index_pack a, b, again;
	struct err e;

	T_CHECK(add_pack(x, "one", 50000, 50010, &e) == 0);
	T_CHECK(add_pack(x, "two", 50005, 50015, &e) == 0);
	T_CHECK(index_find_pack(x, "one", &a, &e) == 1);
	T_CHECK(index_find_pack(x, "two", &b, &e) == 1);
	T_CHECK(pack_of(x, 50007) == a.number);
	T_CHECK(pack_of(x, 50012) == b.number);
	T_CHECK(index_condemn(x, a.number, &e) == 0);
	T_CHECK(index_settle(x, &e) == 0);
	T_CHECK(pack_of(x, 50007) == b.number);
	T_CHECK(pack_of(x, 50001) == a.number);
	T_CHECK(index_drop_pack(x, b.number, &e) == 0);
	T_CHECK(index_settle(x, &e) == 0);
	T_CHECK(pack_of(x, 50007) == a.number);
	T_CHECK(pack_of(x, 50012) == 0);
	T_CHECK(add_pack(x, "three", 50012, 50013, &e) == 0);
	T_CHECK(index_find_pack(x, "three", &again, &e) == 1);
	T_CHECK(again.number > b.number); /* none is given twice */
}

/* What takes SQLite long ends by a signal; undoing goes on. */
static void
test_signal_ends_query(struct index *x)
{
	struct index_totals t;
	uint8_t digest[SHA256_BYTES];
	struct index_fragment f;
	struct err e;

	cli_catch_signals(true);
	T_CHECK(index_begin(x, true, &e) == 0);
	memset(&f, 0, sizeof f);
	digest_of(UINT64_C(3) * LAST, f.f.head.sha256);
	T_CHECK(index_add_fragment(x, &f, &e) == 0);
	raise(SIGTERM);
	T_CHECK(index_totals(x, &t, &e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED);
	T_CHECK(strstr(e.text, "SIGTERM") != NULL);
	index_rollback(x);
	digest_of(2, digest);
	T_CHECK(index_find_fragment(x, digest, &f, &e) == 1);
	digest_of(UINT64_C(3) * LAST, digest);
	T_CHECK(index_find_fragment(x, digest, &f, &e) == 0);
}

/* One that is no index of ours says so, and can be removed. */
static void
test_foreign(const char *path)
{
	struct index *x;
	struct err e;
	FILE *f = fopen(path, "w");

	T_CHECK(f != NULL && fputs("not a database at all, but long enough to be one", f) > 0 &&
		fclose(f) == 0);
	T_CHECK(index_open(&x, path, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(unlink(path) == 0);
}

static bool
is_beside(const char *path, const char *end)
{
	char name[300];

	snprintf(name, sizeof name, "%s%s", path, end);
	return access(name, F_OK) == 0;
}

/* Memory that is shared through a file would be a file with holes, which kills whoever
 * writes to them when the disk is full.  Older programs have made indexes that need it.
 * */
static void
test_no_shared_memory(const char *path)
{
	struct index *x;
	struct err e;
	sqlite3 *db;

	T_CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	T_CHECK(sqlite3_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t (x); DROP TABLE t",
		    NULL, NULL, NULL) == SQLITE_OK);
	T_CHECK(is_beside(path, "-shm"));
	T_CHECK(sqlite3_close(db) == SQLITE_OK);
	T_CHECK(index_open(&x, path, &e) == 0);
	T_CHECK(index_begin(x, true, &e) == 0 && index_set_mark(x, "mark", &e) == 0);
	T_CHECK(!is_beside(path, "-shm") && !is_beside(path, "-wal"));
	T_CHECK(index_commit(x, &e) == 0);
	T_CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	T_CHECK(sqlite3_exec(db, "DELETE FROM state", NULL, NULL, NULL) == SQLITE_OK);
	T_CHECK(sqlite3_close(db) == SQLITE_OK);
	index_close(x);
}

int
main(void)
{
	char folder[200], path[220];
	struct index *x;
	struct err e;

	if (!tmp_folder(folder, sizeof folder, "index"))
		return 1;
	snprintf(path, sizeof path, "%s/index.db", folder);
	test_foreign(path);
	T_CHECK(index_open(&x, path, &e) == 0);
	T_CHECK(index_begin(x, true, &e) == 0);
	T_CHECK(add_all(x));
	test_walk(x);
	T_CHECK(index_commit(x, &e) == 0);
	index_close(x);
	T_CHECK(index_open(&x, NULL, &e) == 0);
	T_CHECK(add_all(x));
	test_packs(x);
	index_close(x);
	T_CHECK(index_open(&x, path, &e) == 0);
	test_signal_ends_query(x);
	index_close(x);
	test_no_shared_memory(path);
	T_CHECK(unlink(path) == 0);
	T_CHECK(rmdir(folder) == 0);
	return t_done();
}
