/* disk_nbd_conn.c: one connection to an NBD server.  disk_nbd.c calls this, in any thread, but
 * for each connection in one at a time.
 *
 * libnbd's calls that wait for an answer may wait for ever.  Therefore requests are begun here
 * without waiting, and nbd_poll() is called for a short time again and again, until the requests
 * are done, the caller's work is to end, or nothing has come for too long. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/disk/disk_nbd_impl.h"

enum {
	LOOK_MS = 200, /* how often it is seen whether the work is to end */
	PIECE_BYTES = 256 << 10, /* the length of a request in a large read */
	PIECES_MAX = 16,         /* the most requests in flight */
	/* After this number of ranges (16 MiB of memory), the rest of the export counts as
	 * stored. */
	RANGES_MAX = 1 << 20,
	STATUS_BYTES = 1 << 30, /* of the export that one question is about */
};

static int
fail(const struct nbd_conn *c, const char *doing, struct err *e)
{
	const char *why = c->lib->get_error();

	return err_set(e, ERR_IO, "%s: %s: %s", c->uri, doing,
	    why != NULL ? why : "the connection has ended");
}

/* Let libnbd work for at most LOOK_MS.  *until_us: the time when nothing has come for too long;
 * it moves on when something comes. */
static int
turn(struct nbd_conn *c, uint64_t *until_us, const char *doing, struct err *e)
{
	if (cancel_check(e) != 0)
		return -1;
	int rc = c->lib->poll(c->handle, LOOK_MS);
	if (rc < 0)
		return fail(c, doing, e);
	if (rc > 0)
		*until_us = (c->moved_us = clock_us()) + c->patience_us;
	else if (clock_us() > *until_us)
		return err_set(e, ERR_IO, "%s: %s: nothing has come for %" PRIu64 " s",
		    c->uri, doing, c->patience_us / 1000000);
	return 0;
}

static int
connect_to(struct nbd_conn *c, struct err *e)
{
	uint64_t until_us = clock_us() + c->patience_us;

	if (c->lib->aio_connect_uri(c->handle, c->uri) != 0)
		return fail(c, "connecting", e);
	while (c->lib->aio_is_connecting(c->handle) > 0 ||
	       c->lib->aio_is_negotiating(c->handle) > 0)
		if (turn(c, &until_us, "connecting", e) != 0)
			return -1;
	return c->lib->aio_is_ready(c->handle) > 0 ? 0 : fail(c, "connecting", e);
}

/* Note what the server says of its export. */
static int
learn(struct nbd_conn *c, struct err *e)
{
	int64_t bytes = c->lib->get_size(c->handle);
	int64_t least = c->lib->get_block_size(c->handle, LIBNBD_SIZE_MINIMUM);
	int64_t most = c->lib->get_block_size(c->handle, LIBNBD_SIZE_MAXIMUM);

	if (bytes < 0)
		return fail(c, "its size", e);
	c->bytes = (uint64_t)bytes;
	c->align = least > 1 && least <= 65536 && (least & (least - 1)) == 0
	               ? (uint32_t)least
	               : 1;
	c->most_bytes = most >= c->align && most < PIECE_BYTES
	                    ? (size_t)most / c->align * c->align
	                    : PIECE_BYTES;
	c->several = c->lib->can_multi_conn(c->handle) > 0;
	c->map = c->lib->can_meta_context(c->handle, LIBNBD_CONTEXT_BASE_ALLOCATION) > 0;
	return 0;
}

int
nbd_conn_open(
    struct nbd_conn **out, const char *uri, uint64_t patience_us, struct err *e)
{
	const struct nbd_lib *lib = nbd_lib(e);
	struct nbd_conn *c;

	if (lib == NULL)
		return -1;
	c = calloc(1, sizeof *c);
	if (c == NULL)
		return err_nomem(e, uri);
	*c = (struct nbd_conn){ .lib = lib, .uri = uri, .patience_us = patience_us };
	c->handle = nbd_handle_for(lib, uri);
	if (c->handle == NULL) {
		free(c);
		return err_nomem(e, uri);
	}
	lib->add_meta_context(c->handle, LIBNBD_CONTEXT_BASE_ALLOCATION);
	if (connect_to(c, e) != 0 || learn(c, e) != 0) {
		nbd_conn_close(c);
		return -1;
	}
	*out = c;
	return 0;
}

void
nbd_conn_close(struct nbd_conn *c)
{
	if (c == NULL)
		return;
	c->lib->close(c->handle);
	free(c);
}

static bool
is_broken(struct nbd_conn *c)
{
	return c->lib->aio_is_ready(c->handle) <= 0 &&
	       c->lib->aio_is_processing(c->handle) <= 0;
}

/* Wait until a request is done.  -1: the request or the wait has failed. */
static int
await(struct nbd_conn *c, int64_t cookie, const char *doing, bool *broken, struct err *e)
{
	uint64_t until_us = clock_us() + c->patience_us;
	int done;

	while ((done = c->lib->aio_command_completed(c->handle, (uint64_t)cookie)) == 0)
		if (turn(c, &until_us, doing, e) != 0) {
			*broken = true;
			return -1;
		}
	if (done > 0)
		return 0;
	fail(c, doing, e);
	e->os = c->lib->get_errno();
	*broken = is_broken(c);
	return -1;
}

/* What is left of the parts that are to be read. */
struct left {
	const struct disk_part *parts;
	size_t n, done; /* parts; bytes of the first that were asked for */
};

/* Begin to read the next piece, of which there is one.  A cookie, or -1. */
static int64_t
begin_piece(struct nbd_conn *c, struct left *l)
{
	const struct disk_part *p = l->parts;
	size_t at = l->done, n = p->bytes - at;

	n = n < c->most_bytes ? n : c->most_bytes;
	l->done = at + n < p->bytes ? at + n : 0;
	l->n -= l->done == 0;
	l->parts += l->done == 0;
	return c->lib->aio_pread(
	    c->handle, p->to + at, n, p->at + at, NBD_NULL_COMPLETION, 0);
}

/* Read PIECES_MAX pieces, or all that are left.  All requests that were begun are awaited,
 * since each writes into memory of the caller. */
static int
read_pieces(struct nbd_conn *c, struct left *l, bool *broken, struct err *e)
{
	int64_t cookies[PIECES_MAX];
	unsigned begun = 0;
	int rc = 0;

	for (; l->n > 0 && begun < PIECES_MAX; begun++)
		if ((cookies[begun] = begin_piece(c, l)) < 0) {
			rc = fail(c, "reading", e);
			*broken = true;
			break;
		}
	for (unsigned i = 0; i < begun && !*broken; i++) {
		struct err why;
		if (await(c, cookies[i], "reading", broken, &why) != 0 && rc == 0) {
			*e = why;
			rc = -1;
		}
	}
	return rc;
}

int
nbd_conn_flush(struct nbd_conn *c, struct err *e)
{
	bool broken;

	if (c->lib->can_flush(c->handle) <= 0)
		return 0;
	int64_t cookie = c->lib->aio_flush(c->handle, NBD_NULL_COMPLETION, 0);
	if (cookie < 0)
		return fail(c, "flushing", e);
	return await(c, cookie, "flushing", &broken, e);
}

int
nbd_conn_read(struct nbd_conn *c, const struct disk_part *parts, size_t n, bool *broken,
    struct err *e)
{
	struct left l = { parts, n, 0 };
	int rc = 0;

	*broken = false;
	while (rc == 0 && l.n > 0)
		rc = read_pieces(c, &l, broken, e);
	return rc;
}

/* The answer to a question about the bytes from `at` to `end`. */
struct status {
	struct rangeset *stored;
	uint64_t at, end; /* bytes; `at` moves on with the answer */
	struct err *e;
	int rc;
};

/* Add the sectors that have any of the bytes [from, to). */
static int
add_stored(struct status *s, uint64_t from, uint64_t to)
{
	struct range r = { from / SECTOR_BYTES, 0 };

	r.len = to / SECTOR_BYTES + (to % SECTOR_BYTES != 0) - r.off;
	return rangeset_add(s->stored, r, s->e);
}

static int
on_status(void *user_data, const char *context, uint64_t offset, uint32_t *entries,
    size_t n, int *error)
{
	struct status *s = user_data;

	(void)error;
	if (strcmp(context, LIBNBD_CONTEXT_BASE_ALLOCATION) != 0 || offset != s->at)
		return 0;
	for (size_t i = 0; i + 1 < n && s->rc == 0 && s->at < s->end; i += 2) {
		uint64_t left = s->end - s->at;
		uint64_t to = s->at + (entries[i] < left ? entries[i] : left);
		if ((entries[i + 1] & LIBNBD_STATE_ZERO) == 0)
			s->rc = add_stored(s, s->at, to);
		s->at = to;
	}
	return 0;
}

/* Ask about the bytes from *at on, and move *at behind those that the server has described.  If
 * the server says nothing, or nothing that makes sense, *at stays. */
static int
ask_status(struct nbd_conn *c, struct rangeset *stored, uint64_t *at, struct err *e)
{
	uint64_t n = c->bytes - *at < STATUS_BYTES ? c->bytes - *at : STATUS_BYTES;
	struct status s = { .stored = stored, .at = *at, .end = *at + n, .e = e };
	nbd_extent_callback extent = { .callback = on_status, .user_data = &s };
	bool broken = false;
	struct err why;

	int64_t cookie = c->lib->aio_block_status(
	    c->handle, n, *at, extent, NBD_NULL_COMPLETION, 0);
	if (cookie >= 0 && await(c, cookie, "its map", &broken, &why) != 0 &&
	    (broken || why.kind == ERR_CANCELLED)) {
		*e = why;
		return -1;
	}
	*at = s.at;
	return s.rc;
}

int
nbd_conn_stored(struct nbd_conn *c, struct rangeset *stored, struct err *e)
{
	uint64_t at = 0, before;
	struct status rest = { .stored = stored, .e = e };

	while (c->map && at < c->bytes && stored->n < RANGES_MAX) {
		before = at;
		if (ask_status(c, stored, &at, e) != 0)
			return -1;
		if (at == before)
			break;
	}
	if (at < c->bytes && add_stored(&rest, at, c->bytes) != 0)
		return -1;
	rangeset_seal(stored);
	return 0;
}
