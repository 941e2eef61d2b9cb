/* swapdb_rows.c: a session, and a node of a session, as rows of the database.  What is read is
 * checked, since the file may be damaged.  swapdb.c calls this, in the program's first thread. */
#include <stdio.h>
#include <string.h>

#include "common/base/number.h"
#include "common/wire/addr.h"
#include "controller/state/swapdb_impl.h"

#define SESSION_COLUMNS                                                                          \
	"id, image, request, words, stream, timeout_s, tries, state, place, began_s, ended_s, last, " \
	"server_failures, total, count, took, asked, spent_s, seen_s, away_s, capture, " \
	"bandwidth_bits_per_s, wait, until, orders, noted"
#define NODE_COLUMNS "session, name, mac, ip, phase, tries, power, since_s, took, words, smbios, of_two"

const char swapdb_schema[] =
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS session (id INTEGER PRIMARY KEY, image TEXT NOT NULL, request TEXT "
    "NOT NULL, words TEXT NOT NULL, stream INTEGER NOT NULL, timeout_s INTEGER NOT NULL, tries "
    "INTEGER NOT NULL, state INTEGER NOT NULL, slot INTEGER NOT NULL, began_s REAL NOT NULL, ended_s "
    "REAL NOT NULL, last TEXT NOT NULL, pid INTEGER NOT NULL, pid_start INTEGER NOT NULL, "
    "server_failures INTEGER NOT NULL, total INTEGER NOT NULL, count TEXT NOT NULL, took TEXT NOT "
    "NULL, asked TEXT NOT NULL, spent_s REAL NOT NULL);"
    "CREATE INDEX IF NOT EXISTS by_request ON session (request);"
    "CREATE TABLE IF NOT EXISTS node (session INTEGER NOT NULL, name TEXT NOT NULL, mac BLOB NOT "
    "NULL, ip BLOB NOT NULL, phase INTEGER NOT NULL, tries INTEGER NOT NULL, power INTEGER NOT NULL, "
    "since_s REAL NOT NULL, took TEXT NOT NULL, words TEXT NOT NULL, PRIMARY KEY (session, name));"
    "CREATE INDEX IF NOT EXISTS by_name ON node (name, session);"
    "PRAGMA user_version = 1;";
const char swapdb_upgrade[] =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE session ADD COLUMN seen_s REAL NOT NULL DEFAULT 0;"
    "ALTER TABLE session ADD COLUMN away_s REAL NOT NULL DEFAULT 0;"
    "CREATE TABLE course (session INTEGER PRIMARY KEY, chunks INTEGER NOT NULL, blocks_sent INTEGER "
    "NOT NULL, blocks_resent INTEGER NOT NULL, share_lost REAL NOT NULL, chunk_map TEXT NOT NULL, "
    "samples BLOB NOT NULL);"
    "PRAGMA user_version = 2;"
    "COMMIT;";
const char swapdb_captures[] = "BEGIN IMMEDIATE;"
			       "ALTER TABLE session ADD COLUMN capture INTEGER NOT NULL DEFAULT 0;"
			       "PRAGMA user_version = 3;"
			       "COMMIT;";
const char swapdb_places[] = "BEGIN IMMEDIATE;"
			     "ALTER TABLE session DROP COLUMN slot;"
			     "ALTER TABLE session DROP COLUMN pid;"
			     "ALTER TABLE session DROP COLUMN pid_start;"
			     "ALTER TABLE session ADD COLUMN place TEXT NOT NULL DEFAULT '0.0.0.0:0';"
			     "PRAGMA user_version = 4;"
			     "COMMIT;";
const char swapdb_sending[] =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE session ADD COLUMN bandwidth_bits_per_s INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE session ADD COLUMN wait INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE session ADD COLUMN until INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE session ADD COLUMN orders TEXT NOT NULL DEFAULT '';"
    "PRAGMA user_version = 5;"
    "COMMIT;";
const char swapdb_machines[] = "BEGIN IMMEDIATE;"
			       "ALTER TABLE node ADD COLUMN smbios TEXT NOT NULL DEFAULT '';"
			       "PRAGMA user_version = 6;"
			       "COMMIT;";
const char swapdb_twins[] = "BEGIN IMMEDIATE;"
			    "ALTER TABLE node ADD COLUMN of_two INTEGER NOT NULL DEFAULT 0;"
			    "PRAGMA user_version = 7;"
			    "COMMIT;";
const char swapdb_notes[] = "BEGIN IMMEDIATE;"
			    "ALTER TABLE session ADD COLUMN noted INTEGER NOT NULL DEFAULT 0;"
			    "CREATE INDEX unnoted ON session (id) WHERE noted = 0 AND state <> 0;"
			    "PRAGMA user_version = 8;"
			    "COMMIT;";
const char swapdb_put_session[] = "INSERT OR REPLACE INTO session (" SESSION_COLUMNS
				 ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
const char swapdb_put_node[] =
    "INSERT OR REPLACE INTO node (" NODE_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?)";
const char swapdb_get_session[] = "SELECT " SESSION_COLUMNS " FROM session ";
const char swapdb_get_whole[] =
    "SELECT " SESSION_COLUMNS ", " SWAPDB_COURSE_COLUMNS " FROM session LEFT JOIN course ON course.session = id ";
const char swapdb_get_node[] = "SELECT " NODE_COLUMNS " FROM node ";

enum { PLACE_BYTES = 32, LIST_BYTES = 8192 };

/* The column `capture`. */
enum { NO_CAPTURE, CAPTURES_NEW, CAPTURES_AGAIN };

/* The phases in the order of their numbers here, which never change: new ones come last.  A row of
 * an older controller has the first FIRST_PHASES of them alone. */
static const enum swap_phase stored[SWAP_PHASES] = { SWAP_IDLE, SWAP_BOOTING, SWAP_LOADING,
	SWAP_PERSONALISING, SWAP_STREAMING, SWAP_REBOOTING, SWAP_DONE, SWAP_FAILED, SWAP_STOPPED,
	SWAP_USABLE, SWAP_CAPTURING, SWAP_VERIFYING };
enum { FIRST_PHASES = 9, MEASURED_PHASES = 10 };

static int
number_of(enum swap_phase p)
{
	int i = 0;

	while (stored[i] != p)
		i++;
	return i;
}

static void
text(sqlite3_stmt *q, int at, const char *s)
{
	sqlite3_bind_text(q, at, s, -1, SQLITE_TRANSIENT);
}

/* "3 0 17": the counts of the phases. */
static void
put_counts(char *out, const unsigned *count)
{
	size_t n = 0;

	for (int p = 0; p < SWAP_PHASES; p++)
		n += (size_t)snprintf(out + n, LIST_BYTES - n, "%u ", count[stored[p]]);
}

static size_t
put_measure(char *out, size_t cap, const struct swap_measure *m)
{
	return (size_t)snprintf(out, cap, "%u %.3f %.3f %s ", m->n, m->median_s, m->worst_s,
	    m->worst[0] != '\0' ? m->worst : "-");
}

/* The measure of entry i; NULL: there is none.  The times until nodes were usable and done have two
 * places between the phases, since there were MEASURED_PHASES when they came. */
static const struct swap_measure *
measure_at(const struct swap_session *s, int i)
{
	if (i == MEASURED_PHASES)
		return &s->usable_after;
	if (i == MEASURED_PHASES + 1)
		return &s->done_after;
	int p = i < MEASURED_PHASES ? i : i - 2;
	return p < SWAP_PHASES ? &s->took[stored[p]] : NULL;
}

/* "N MEDIAN WORST NAME " for each. */
static void
put_measures(char *out, const struct swap_session *s)
{
	const struct swap_measure *m;
	size_t n = 0;

	for (int i = 0; (m = measure_at(s, i)) != NULL; i++)
		n += put_measure(out + n, LIST_BYTES - n, m);
}

static void
put_times(char *out, const double *took_s)
{
	size_t n = 0;

	for (int p = 0; p < SWAP_PHASES; p++)
		n += (size_t)snprintf(out + n, LIST_BYTES - n, "%.6f ", took_s[stored[p]]);
}

static void
put_place(char *out, const struct swap_session *s)
{
	char group[ADDR_TEXT_MAX];

	snprintf(out, PLACE_BYTES, "%s:%u", addr_text(s->group, group), s->port);
}

void
swapdb_bind_session(sqlite3_stmt *q, const struct swap_session *s)
{
	char list[LIST_BYTES];

	sqlite3_bind_int64(q, 1, s->id);
	text(q, 2, s->image);
	text(q, 3, s->request);
	text(q, 4, s->words);
	sqlite3_bind_int(q, 5, s->stream);
	sqlite3_bind_int64(q, 6, s->timeout_s);
	sqlite3_bind_int64(q, 7, s->tries);
	sqlite3_bind_int(q, 8, (int)s->state);
	put_place(list, s);
	text(q, 9, list);
	sqlite3_bind_double(q, 10, s->began_s);
	sqlite3_bind_double(q, 11, s->ended_s);
	text(q, 12, s->last);
	sqlite3_bind_int64(q, 13, s->server_failures);
	sqlite3_bind_int64(q, 14, s->total);
	put_counts(list, s->count);
	text(q, 15, list);
	put_measures(list, s);
	text(q, 16, list);
	text(q, 17, s->asked);
	sqlite3_bind_double(q, 18, s->spent_s);
	sqlite3_bind_double(q, 19, s->seen_s);
	sqlite3_bind_double(q, 20, s->away_s);
	sqlite3_bind_int(q, 21, !s->capture ? NO_CAPTURE : s->replace ? CAPTURES_AGAIN : CAPTURES_NEW);
	sqlite3_bind_int64(q, 22, (sqlite3_int64)s->sending.bandwidth_bits_per_s);
	sqlite3_bind_int64(q, 23, (sqlite3_int64)s->sending.wait);
	sqlite3_bind_int64(q, 24, (sqlite3_int64)s->sending.until);
	text(q, 25, s->sending.orders);
	sqlite3_bind_int(q, 26, s->noted);
}

void
swapdb_bind_node(sqlite3_stmt *q, const struct swap_node *n)
{
	char list[LIST_BYTES];

	sqlite3_bind_int64(q, 1, n->session);
	text(q, 2, n->name);
	sqlite3_bind_blob(q, 3, n->mac, sizeof n->mac, SQLITE_TRANSIENT);
	sqlite3_bind_blob(q, 4, n->ip, sizeof n->ip, SQLITE_TRANSIENT);
	sqlite3_bind_int(q, 5, number_of(n->phase));
	sqlite3_bind_int64(q, 6, n->tries);
	sqlite3_bind_int(q, 7, n->power);
	sqlite3_bind_double(q, 8, n->since_s);
	put_times(list, n->took_s);
	text(q, 9, list);
	text(q, 10, n->words);
	text(q, 11, n->smbios);
	sqlite3_bind_int(q, 12, n->of_two);
}

/* A text of a row that has to fit. */
static bool
take_text(sqlite3_stmt *q, int at, char *out, size_t cap)
{
	const char *s = (const char *)sqlite3_column_text(q, at);
	int n = sqlite3_column_bytes(q, at);

	if (s == NULL || n < 0 || (size_t)n >= cap || memchr(s, '\0', (size_t)n) != NULL)
		return false;
	memcpy(out, s, (size_t)n);
	out[n] = '\0';
	return true;
}

static bool
take_number(sqlite3_stmt *q, int at, uint64_t max, uint64_t *out)
{
	sqlite3_int64 v = sqlite3_column_int64(q, at);

	*out = (uint64_t)v;
	return v >= 0 && (uint64_t)v <= max;
}

static bool
take_blob(sqlite3_stmt *q, int at, uint8_t *out, int n)
{
	const void *p = sqlite3_column_blob(q, at);

	if (p == NULL || sqlite3_column_bytes(q, at) != n)
		return false;
	memcpy(out, p, (size_t)n);
	return true;
}

/* Seconds, of a clock or a duration: -1 is "not known", and the most is in the year 2286, so that a list
 * of them has room in LIST_BYTES.  False for what is no number, too. */
static bool
are_seconds(double v)
{
	return v >= -1 && v <= 1e10;
}

static bool
take_seconds(sqlite3_stmt *q, int at, double *out)
{
	*out = sqlite3_column_double(q, at);
	return are_seconds(*out);
}

/* Does the list end before entry i, because an older controller has written it? */
static bool
ends(const char *list, int i)
{
	return i >= FIRST_PHASES && list[strspn(list, " ")] == '\0';
}

/* Reads entry i, which *list points to, and moves *list behind it. */
static bool
take_measure(const char **list, int i, struct swap_measure *m)
{
	int n = 0;

	*m = (struct swap_measure){ .median_s = -1, .worst_s = -1 };
	if (ends(*list, i))
		return true;
	if (sscanf(*list, "%u %lf %lf %253s%n", &m->n, &m->median_s, &m->worst_s, m->worst, &n) != 4 ||
	    !are_seconds(m->median_s) || !are_seconds(m->worst_s))
		return false;
	if (strcmp(m->worst, "-") == 0)
		m->worst[0] = '\0';
	*list += n;
	return true;
}

static bool
take_measures(const char *list, struct swap_session *s)
{
	const struct swap_measure *m;

	for (int i = 0; (m = measure_at(s, i)) != NULL; i++)
		if (!take_measure(&list, i, (struct swap_measure *)m))
			return false;
	return true;
}

static bool
take_counts(const char *list, unsigned *count)
{
	for (int i = 0, n = 0; i < SWAP_PHASES; i++, list += n) {
		count[stored[i]] = 0;
		if (ends(list, i))
			n = 0;
		else if (sscanf(list, "%u%n", &count[stored[i]], &n) != 1)
			return false;
	}
	return true;
}

static bool
take_times(const char *list, double *took_s)
{
	for (int i = 0, n = 0; i < SWAP_PHASES; i++, list += n) {
		took_s[stored[i]] = -1;
		if (ends(list, i))
			n = 0;
		else if (sscanf(list, "%lf%n", &took_s[stored[i]], &n) != 1 || !are_seconds(took_s[stored[i]]))
			return false;
	}
	return true;
}

static bool
take_place(char *text, struct swap_session *s)
{
	char *port = strchr(text, ':');
	struct err ignored;
	uint64_t n;

	if (port == NULL)
		return false;
	*port = '\0';
	if (addr_parse(text, s->group, &ignored) != 0 ||
	    number_uint(port + 1, 0, UINT16_MAX, &n, &ignored) != 0)
		return false;
	s->port = (uint16_t)n;
	return true;
}

int
swapdb_read_session(sqlite3_stmt *q, struct swap_session *s, struct err *e)
{
	char counts[LIST_BYTES], took[LIST_BYTES], place[PLACE_BYTES];
	uint64_t id, stream, timeout_s, tries, state, failures, total, capture, noted;

	*s = (struct swap_session){ 0 };
	bool ok = take_number(q, 0, UINT32_MAX - 1, &id) &&
	          take_text(q, 1, s->image, sizeof s->image) &&
	          take_text(q, 2, s->request, sizeof s->request) &&
	          take_text(q, 3, s->words, sizeof s->words) && take_number(q, 4, 1, &stream) &&
	          take_number(q, 5, SWAP_TIMEOUT_MAX_S, &timeout_s) &&
	          take_number(q, 6, SWAP_TRIES_MAX, &tries) &&
	          take_number(q, 7, SWAP_STATES - 1, &state) &&
	          take_text(q, 8, place, sizeof place) && take_place(place, s) &&
	          take_seconds(q, 9, &s->began_s) && take_seconds(q, 10, &s->ended_s) &&
	          take_text(q, 11, s->last, sizeof s->last) &&
	          take_number(q, 12, UINT32_MAX, &failures) &&
	          take_number(q, 13, SWAP_NODES_MAX, &total) &&
	          take_text(q, 14, counts, sizeof counts) && take_counts(counts, s->count) &&
	          take_text(q, 15, took, sizeof took) && take_measures(took, s) &&
	          take_text(q, 16, s->asked, sizeof s->asked) && take_seconds(q, 17, &s->spent_s) &&
	          take_seconds(q, 18, &s->seen_s) && take_seconds(q, 19, &s->away_s) &&
	          take_number(q, 20, CAPTURES_AGAIN, &capture) &&
	          take_number(q, 21, SWAP_BANDWIDTH_MAX, &s->sending.bandwidth_bits_per_s) &&
	          take_number(q, 22, SWAP_NODES_MAX, &s->sending.wait) &&
	          take_number(q, 23, SWAP_NODES_MAX, &s->sending.until) &&
	          take_text(q, 24, s->sending.orders, sizeof s->sending.orders) && take_number(q, 25, 1, &noted);
	if (!ok)
		return err_set(e, ERR_FORMAT, "the row of session %lld has a value that no session has",
		    (long long)sqlite3_column_int64(q, 0));
	s->id = (uint32_t)id;
	s->stream = stream != 0;
	s->noted = noted != 0;
	s->capture = capture != NO_CAPTURE;
	s->replace = capture == CAPTURES_AGAIN;
	s->timeout_s = (unsigned)timeout_s;
	s->tries = (unsigned)tries;
	s->state = (enum swap_state)state;
	s->server_failures = (unsigned)failures;
	s->total = (unsigned)total;
	if (sqlite3_column_count(q) > SWAPDB_SESSION_COLUMNS_N)
		swapdb_read_course(q, SWAPDB_SESSION_COLUMNS_N, s);
	return 0;
}

/* Is it empty, or what smbios_read() writes? */
static bool
is_machine(const char *smbios)
{
	char again[SMBIOS_BYTES];
	struct err ignored;

	return smbios[0] == '\0' ||
	       (smbios_read(smbios, strlen(smbios), again, &ignored) == 0 && strcmp(smbios, again) == 0);
}

int
swapdb_read_node(sqlite3_stmt *q, struct swap_node *n, struct err *e)
{
	char took[LIST_BYTES];
	uint64_t session, phase, tries, power, of_two;

	*n = (struct swap_node){ 0 };
	bool ok = take_number(q, 0, UINT32_MAX - 1, &session) &&
	          take_text(q, 1, n->name, sizeof n->name) &&
	          take_blob(q, 2, n->mac, sizeof n->mac) && take_blob(q, 3, n->ip, sizeof n->ip) &&
	          take_number(q, 4, SWAP_PHASES - 1, &phase) &&
	          take_number(q, 5, SWAP_TRIES_MAX, &tries) && take_number(q, 6, 1, &power) &&
	          take_seconds(q, 7, &n->since_s) &&
	          take_text(q, 8, took, sizeof took) && take_times(took, n->took_s) &&
	          take_text(q, 9, n->words, sizeof n->words) && take_text(q, 10, n->smbios, sizeof n->smbios) &&
	          is_machine(n->smbios) && take_number(q, 11, 1, &of_two);
	if (!ok)
		return err_set(e, ERR_FORMAT, "the row of a node of session %lld has a value that no node has",
		    (long long)sqlite3_column_int64(q, 0));
	n->session = (uint32_t)session;
	n->phase = stored[phase];
	n->tries = (unsigned)tries;
	n->power = power != 0;
	n->of_two = of_two != 0;
	return 0;
}
