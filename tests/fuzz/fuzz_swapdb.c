/* Rows of the controller's state: a file that anything may have damaged.  The first byte says which
 * row, and each column is a byte for its kind and its value.  What is taken is written as a row and read
 * to the same meaning. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "controller/state/swapdb_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* A statement that gives back as many values as were bound to it. */
static sqlite3_stmt *
row_of(sqlite3 *db, int columns)
{
	char sql[3 * SWAPDB_WHOLE_COLUMNS_N + 16] = "SELECT ?";
	sqlite3_stmt *q = NULL;

	for (int i = 1; i < columns; i++)
		strcat(sql, ",?");
	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
		abort();
	return q;
}

static void
bind_value(sqlite3_stmt *q, int at, struct rd *r)
{
	uint8_t kind = rd_u8(r) % 5;
	uint64_t number = kind == 1 || kind == 2 ? rd_le64(r) : 0;
	size_t n = kind > 2 ? rd_le16(r) : 0;
	double real;

	n = n < rd_left(r) ? n : rd_left(r);
	const char *bytes = (const char *)rd_bytes(r, n);
	memcpy(&real, &number, sizeof real);
	if (kind == 1)
		sqlite3_bind_int64(q, at, (sqlite3_int64)number);
	else if (kind == 2)
		sqlite3_bind_double(q, at, real);
	else if (kind == 3)
		sqlite3_bind_text(q, at, bytes, (int)n, SQLITE_TRANSIENT);
	else if (kind == 4)
		sqlite3_bind_blob(q, at, bytes, (int)n, SQLITE_TRANSIENT);
}

static void
step(sqlite3_stmt *q)
{
	if (sqlite3_step(q) != SQLITE_ROW)
		abort();
}

static void
try_node(sqlite3 *db, sqlite3_stmt *q)
{
	static struct swap_node node, again;
	sqlite3_stmt *second = row_of(db, SWAPDB_NODE_COLUMNS_N);
	struct err e;

	if (swapdb_read_node(q, &node, &e) == 0) {
		swapdb_bind_node(second, &node);
		step(second);
		assert(swapdb_read_node(second, &again, &e) == 0);
		assert(node.phase == again.phase && strcmp(node.name, again.name) == 0);
	}
	sqlite3_finalize(second);
}

static void
try_session(sqlite3 *db, sqlite3_stmt *q)
{
	static struct swap_session s, again;
	sqlite3_stmt *second = row_of(db, SWAPDB_SESSION_COLUMNS_N), *course = row_of(db, SWAPDB_COURSE_COLUMNS_N);
	struct err e;

	if (swapdb_read_session(q, &s, &e) == 0) {
		swapdb_bind_session(second, &s);
		step(second);
		assert(swapdb_read_session(second, &again, &e) == 0);
		assert(s.id == again.id && s.took[SWAP_LOADING].n == again.took[SWAP_LOADING].n);
		swapdb_bind_course(course, &s);
		step(course);
		swapdb_read_course(course, 0, &again);
		assert(s.nsamples == again.nsamples && s.server.known == again.server.known);
	}
	sqlite3_finalize(second);
	sqlite3_finalize(course);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static sqlite3 *db;
	struct rd r = rd_from(data, len);
	bool node = rd_u8(&r) % 2 == 1;
	int columns = node ? SWAPDB_NODE_COLUMNS_N : SWAPDB_WHOLE_COLUMNS_N;

	if (db == NULL && sqlite3_open(":memory:", &db) != SQLITE_OK)
		abort();
	sqlite3_stmt *q = row_of(db, columns);
	for (int i = 1; i <= columns; i++)
		bind_value(q, i, &r);
	step(q);
	if (node)
		try_node(db, q);
	else
		try_session(db, q);
	sqlite3_finalize(q);
	return 0;
}
