/* swapdb_course.c: the course of a session as a row of the database: what its frisbeed said last, and its
 * rate, loss and progress over time, four numbers of 32 bits (IEEE 754, little-endian) a sample.
 * swapdb.c calls this, in the program's first thread. */
#include <math.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "controller/state/swapdb_impl.h"

enum { SAMPLE_BYTES = 16, COLUMNS_BEFORE_MAP = 5 };

const char swapdb_put_course[] =
    "INSERT OR REPLACE INTO course (" SWAPDB_COURSE_COLUMNS ") VALUES (?,?,?,?,?,?,?)";

static void
put_float(struct wr *w, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	wr_le32(w, bits);
}

void
swapdb_bind_course(sqlite3_stmt *q, const struct swap_session *s)
{
	const struct swap_server *v = &s->server;
	uint8_t raw[SWAP_SAMPLES_MAX * SAMPLE_BYTES];
	struct wr w = wr_to(raw, sizeof raw);

	for (unsigned i = 0; i < s->nsamples; i++) {
		put_float(&w, s->samples[i].at_s);
		put_float(&w, s->samples[i].rate_bits_per_s);
		put_float(&w, s->samples[i].share_lost);
		put_float(&w, s->samples[i].progress);
	}
	sqlite3_bind_int64(q, 1, s->id);
	sqlite3_bind_int64(q, 2, (sqlite3_int64)v->chunks);
	sqlite3_bind_int64(q, 3, (sqlite3_int64)v->blocks_sent);
	sqlite3_bind_int64(q, 4, (sqlite3_int64)v->blocks_resent);
	sqlite3_bind_double(q, 5, v->share_lost);
	sqlite3_bind_text(q, 6, v->chunk_map, -1, SQLITE_TRANSIENT);
	sqlite3_bind_blob(q, 7, raw, (int)wr_len(&w), SQLITE_TRANSIENT);
}

static bool
take_float(struct rd *r, double max, float *out)
{
	uint32_t bits = rd_le32(r);

	memcpy(out, &bits, sizeof bits);
	return *out >= 0 && *out <= max; /* false for what is no number */
}

/* Samples are in the order of time. */
static bool
take_samples(struct rd r, struct swap_session *s)
{
	float before_s = 0;

	s->nsamples = 0;
	while (rd_left(&r) > 0) {
		if (s->nsamples == SWAP_SAMPLES_MAX)
			return false;
		struct swap_sample *at = &s->samples[s->nsamples];
		bool ok = take_float(&r, 1e9, &at->at_s) && take_float(&r, 1e18, &at->rate_bits_per_s) &&
		          take_float(&r, 1, &at->share_lost) && take_float(&r, 1, &at->progress);
		if (!ok || !rd_ok(&r) || at->at_s < before_s)
			return false;
		before_s = at->at_s;
		s->nsamples++;
	}
	return true;
}

static bool
take_server(sqlite3_stmt *q, int at, struct swap_server *v)
{
	const char *map = (const char *)sqlite3_column_text(q, at + COLUMNS_BEFORE_MAP);
	sqlite3_int64 chunks = sqlite3_column_int64(q, at + 1), sent = sqlite3_column_int64(q, at + 2);
	sqlite3_int64 resent = sqlite3_column_int64(q, at + 3);

	v->share_lost = sqlite3_column_double(q, at + 4);
	if (map == NULL || chunks < 0 || sent < 0 || resent < 0 || !(v->share_lost >= 0 && v->share_lost <= 1))
		return false;
	size_t n = strlen(map);
	if (n >= sizeof v->chunk_map || strspn(map, "0123456789abcdef") != n)
		return false;
	v->chunks = (uint64_t)chunks;
	v->blocks_sent = (uint64_t)sent;
	v->blocks_resent = (uint64_t)resent;
	memcpy(v->chunk_map, map, n + 1);
	return true;
}

void
swapdb_read_course(sqlite3_stmt *q, int at, struct swap_session *s)
{
	const void *raw = sqlite3_column_blob(q, at + COLUMNS_BEFORE_MAP + 1);
	int bytes = sqlite3_column_bytes(q, at + COLUMNS_BEFORE_MAP + 1);

	if (sqlite3_column_type(q, at) == SQLITE_NULL)
		return; /* nothing was sent yet, or it is of an older version */
	s->server.known = take_server(q, at, &s->server) && s->server.chunks > 0;
	if (!s->server.known)
		s->server = (struct swap_server){ 0 };
	if (!take_samples(rd_from(raw, raw != NULL && bytes > 0 ? (size_t)bytes : 0), s))
		s->nsamples = 0;
}
