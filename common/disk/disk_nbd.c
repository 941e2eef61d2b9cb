/* disk_nbd.c: an NBD export as a disk.  Code that reads the disk calls this, in any thread.
 *
 * A thread that reads takes a connection that nobody uses, opens another one where the server
 * allows several, or waits for one. */
#include "common/disk/disk_nbd.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/number.h"
#include "common/base/retry.h"
#include "common/base/timed.h"
#include "common/disk/disk_impl.h"
#include "common/disk/disk_nbd_impl.h"

/* Each thread that reads has a connection to itself, and no more threads read at once. */
enum { CONNECTIONS_MAX = 8 };

struct nbd_disk {
	char *uri;
	uint64_t bytes;
	uint32_t align;
	uint64_t patience_us;
	struct rangeset stored; /* the sectors that are no holes; sealed */
	pthread_mutex_t lock;   /* of idle and open */
	pthread_cond_t given;   /* a connection was given back */
	struct nbd_conn *idle;
	unsigned open, most; /* connections, and the most that may be open */
};

bool
disk_nbd_is(const char *text)
{
	static const char *const schemes[] = { "nbd://", "nbds://", "nbd+unix://",
		"nbds+unix://" };

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return false;
}

/* --- connections --- */

/* Take an idle connection, or wait for one.  NULL: the caller may open another one. */
static struct nbd_conn *
take(struct nbd_disk *d)
{
	struct nbd_conn *c;

	pthread_mutex_lock(&d->lock);
	while (d->idle == NULL && d->open == d->most)
		pthread_cond_wait(&d->given, &d->lock);
	c = d->idle;
	if (c != NULL)
		d->idle = c->next;
	else
		d->open++;
	pthread_mutex_unlock(&d->lock);
	return c;
}

/* Give back a connection of take().  NULL: it was closed. */
static void
give_back(struct nbd_disk *d, struct nbd_conn *c)
{
	pthread_mutex_lock(&d->lock);
	if (c != NULL) {
		c->next = d->idle;
		d->idle = c;
	} else {
		d->open--;
	}
	pthread_cond_signal(&d->given);
	pthread_mutex_unlock(&d->lock);
}

static int
connect_again(struct nbd_disk *d, struct nbd_conn **c, uint64_t patience_us, struct err *e)
{
	if (nbd_conn_open(c, d->uri, patience_us, e) != 0)
		return -1;
	if ((*c)->bytes == d->bytes && (*c)->align <= d->align)
		return 0;
	err_set(e, ERR_FORMAT, "%s: has changed since it was opened: it had %" PRIu64
	    " bytes, and has %" PRIu64 " now", d->uri, d->bytes, (*c)->bytes);
	nbd_conn_close(*c);
	*c = NULL;
	return -1;
}

/* What is read, and what has come of it. */
struct reading {
	const struct disk_part *parts;
	size_t n;
	struct retry retry;
	bool broken;       /* the connection has failed, not the request */
	uint64_t moved_us; /* when something has come last, or else when the try began */
};

/* Read on a connection of take().  *c NULL: open it first.  *c becomes NULL when the connection
 * breaks and is closed. */
static int
try_read(struct nbd_disk *d, struct nbd_conn **c, struct reading *r, struct err *e)
{
	uint64_t left_us = (uint64_t)(r->retry.seconds * 1e6);

	r->broken = true;
	r->moved_us = clock_us();
	if (*c == NULL && connect_again(d, c, left_us, e) != 0)
		return -1;
	(*c)->patience_us = left_us;
	int rc = nbd_conn_read(*c, r->parts, r->n, &r->broken, e);
	if ((*c)->moved_us > r->moved_us)
		r->moved_us = (*c)->moved_us;
	if (rc != 0 && r->broken) {
		nbd_conn_close(*c);
		*c = NULL;
	}
	return rc;
}

/* Is the connection to be tried again, after a pause? */
static bool
again(struct reading *r, const struct err *e)
{
	uint64_t now = clock_us();

	if (!r->broken || e->kind != ERR_IO ||
	    !retry_again(&r->retry, 0, (double)(now - r->moved_us) / 1e6, now))
		return false;
	timed_pause(r->retry.due_us);
	return cancel_signal() == 0;
}

static int
read_again_and_again(
    struct nbd_disk *d, const struct disk_part *parts, size_t n, struct err *e)
{
	struct reading r = { .parts = parts,
		.n = n,
		.retry.seconds = (double)d->patience_us / 1e6 };
	struct nbd_conn *c = take(d);
	int rc;

	do
		rc = try_read(d, &c, &r, e);
	while (rc != 0 && again(&r, e));
	give_back(d, c);
	return rc;
}

/* Read aligned blocks, the last of which may end behind the disk. */
static int
read_aligned(void *ctx, void *buf, size_t n, uint64_t at, struct err *e)
{
	struct nbd_disk *d = ctx;
	uint64_t left = d->bytes - at;

	return read_again_and_again(
	    d, &(struct disk_part){ at, n < left ? n : (size_t)left, buf }, 1, e);
}

/* Returns the end of the run of stored bytes, or of the hole, that has byte `at`; *stored: which
 * of the two it is. */
static uint64_t
run_end(const struct nbd_disk *d, uint64_t at, bool *stored)
{
	size_t i = rangeset_find(&d->stored, at / SECTOR_BYTES);

	*stored = false;
	if (i == rangeset_count(&d->stored))
		return d->bytes;
	struct range r = rangeset_get(&d->stored, i);
	*stored = r.off <= at / SECTOR_BYTES;
	uint64_t end = (*stored ? range_end(r) : r.off) * SECTOR_BYTES;
	return end < d->bytes ? end : d->bytes;
}

static int
read_range(void *ctx, void *buf, size_t n, uint64_t at, struct err *e)
{
	struct nbd_disk *d = ctx;
	const struct disk_units blocks = { d->align, read_aligned, d };
	bool stored;

	while (n > 0) {
		uint64_t left = run_end(d, at, &stored) - at;
		size_t now = left < n ? (size_t)left : n;
		if (!stored)
			memset(buf, 0, now);
		else if (disk_read_units(&blocks, buf, now, at, e) != 0)
			return -1;
		buf = (uint8_t *)buf + now;
		at += now;
		n -= now;
	}
	return 0;
}

/* Can the part be asked for as it is? */
static bool
is_plain(const struct nbd_disk *d, const struct disk_part *p)
{
	bool stored;

	return p->at % d->align == 0 && p->bytes % d->align == 0 &&
	       run_end(d, p->at, &stored) - p->at >= p->bytes && stored;
}

static int
read_parts(void *ctx, const struct disk_part *parts, size_t n, struct err *e)
{
	size_t plain = 0;
	int rc = 0;

	while (plain < n && is_plain(ctx, &parts[plain]))
		plain++;
	if (plain == n)
		return read_again_and_again(ctx, parts, n, e);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = read_range(ctx, parts[i].to, parts[i].bytes, parts[i].at, e);
	return rc;
}

/* --- the disk --- */

static int
nbd_disk_close(void *ctx)
{
	struct nbd_disk *d = ctx;
	struct nbd_conn *c;

	while ((c = d->idle) != NULL) {
		d->idle = c->next;
		nbd_conn_close(c);
	}
	rangeset_free(&d->stored);
	pthread_cond_destroy(&d->given);
	pthread_mutex_destroy(&d->lock);
	free(d->uri);
	free(d);
	return 0;
}

static void
nbd_disk_holes(void *ctx, uint64_t off, uint64_t *data, uint64_t *hole)
{
	const struct nbd_disk *d = ctx;
	bool stored;
	uint64_t end = run_end(d, off, &stored);

	*data = stored ? off : end;
	*hole = *data < d->bytes ? run_end(d, *data, &stored) : d->bytes;
}

static const struct disk_ops ops = { .read = read_range,
	.read_parts = read_parts,
	.holes = nbd_disk_holes,
	.close = nbd_disk_close,
	.one_process = true };

static uint64_t
patience_us(void)
{
	return (uint64_t)(number_seconds("DISK_NBD_SECONDS", DISK_NBD_SECONDS) * 1e6);
}

/* Open the first connection.  The others must have the same size and alignment. */
static int
begin(struct nbd_disk *d, struct err *e)
{
	struct nbd_conn *c;
	int rc = 0;

	if (nbd_conn_open(&c, d->uri, d->patience_us, e) != 0)
		return -1;
	d->bytes = c->bytes;
	if (d->bytes > DISK_BYTES_MAX)
		rc = err_set(e, ERR_REFUSED,
		    "%s: the server claims to export %" PRIu64 " bytes, which no disk has", d->uri,
		    d->bytes);
	d->align = c->align;
	d->most = c->several ? CONNECTIONS_MAX : 1;
	d->open = 1;
	d->idle = c;
	return rc == 0 ? nbd_conn_stored(c, &d->stored, e) : -1;
}

int
disk_open_nbd(struct disk **out, const char *uri, struct err *e)
{
	struct nbd_disk *d = calloc(1, sizeof *d);

	if (d == NULL)
		return err_nomem(e, uri);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->given, NULL);
	rangeset_init(&d->stored);
	d->patience_us = patience_us();
	d->uri = strdup(uri);
	int rc = d->uri == NULL ? err_nomem(e, uri) : begin(d, e);
	if (rc == 0)
		rc = disk_open_ops(out, uri, DISK_FILE, d->bytes, &ops, d, e);
	if (rc != 0)
		nbd_disk_close(d);
	return rc;
}

int
disk_nbd_stored(const struct disk *d, struct rangeset *out, struct err *e)
{
	const struct nbd_disk *n = d->ctx;

	rangeset_init(out);
	if (rangeset_union(out, &n->stored, e) == 0)
		return 0;
	rangeset_free(out);
	return -1;
}

int
disk_nbd_flush(const char *uri, struct err *e)
{
	struct nbd_conn *c;

	if (nbd_conn_open(&c, uri, patience_us(), e) != 0)
		return -1;
	int rc = nbd_conn_flush(c, e);
	nbd_conn_close(c);
	return rc;
}
