/* fetch.c: reads what is absent from the source of a streaming disk.  streamed.c calls this for
 * clients, and fill.c for the background; in any thread.
 *
 * A source that does not answer is asked again until it does: a machine whose root disk is being
 * streamed must not get errors because a server is started anew. */
#include <inttypes.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/timed.h"
#include "stream/disk/streamed_impl.h"

enum {
	AGAIN_US = 1000000, /* between two questions to a source that does not answer */
};

/* Read from the image; what is behind its end reads as zeros. */
static int
read_image(struct streamed *d, void *to, size_t n, uint64_t at, struct err *e)
{
	uint8_t *buf = to;
	uint64_t end = export_bytes(d->source);
	uint64_t here = at >= end ? 0 : end - at < n ? end - at : n;

	memset(buf + here, 0, n - here);
	return here > 0 ? export_read(d->source, buf, here, at, e) : 0;
}

/* What lies on the disk where nothing of the image goes reads as zeros, too. */
int
streamed_fetch_once(struct streamed *d, void *to, size_t n, uint64_t at, struct err *e)
{
	uint8_t *buf = to;

	for (size_t done; n > 0; buf += done, at += done, n -= done) {
		uint64_t first = at / SECTOR_BYTES, skip = at % SECTOR_BYTES, from;
		uint64_t end = (at + n + SECTOR_BYTES - 1) / SECTOR_BYTES;
		uint64_t run = maps_back(&d->maps, (struct range){ first, end - first }, &from);
		done = run * SECTOR_BYTES - skip < n ? run * SECTOR_BYTES - skip : n;
		if (from == MAPS_NOWHERE)
			memset(buf, 0, done);
		else if (read_image(d, buf, done, from * SECTOR_BYTES + skip, e) != 0)
			return -1;
	}
	return 0;
}

typedef int read_fn(struct streamed *, void *, size_t, uint64_t, struct err *);

/* Does it make sense to ask again after this error? */
static bool
may_pass(const struct streamed *d, const struct err *e, uint64_t began_us)
{
	uint64_t most = d->cfg.timeout_ms * 1000;

	if (e->kind != ERR_IO && e->kind != ERR_NOMEM && e->kind != ERR_ABSENT)
		return false;
	return most == 0 || clock_us() - began_us < most;
}

/* Say that the source does not answer, and for how long it is asked. */
static void
tell_waiting(struct streamed *d, const struct err *e)
{
	if (d->cfg.timeout_ms == 0)
		streamed_tell(d, "%s; the source is asked again until it answers", e->text);
	else
		streamed_tell(d, "%s; the source is asked again, for %.1f s", e->text,
		    (double)d->cfg.timeout_ms / 1000);
}

/* Ask again and again, after a first failure. */
static int
ask_again(struct streamed *d, read_fn *read, void *buf, size_t n, uint64_t at, uint64_t began,
    struct err *e)
{
	int rc = -1;

	if (atomic_fetch_add(&d->waiting, 1) == 0)
		tell_waiting(d, e);
	while (rc != 0 && may_pass(d, e, began)) {
		timed_pause(clock_us() + AGAIN_US);
		if (cancel_check(e) != 0)
			break;
		rc = read(d, buf, n, at, e);
	}
	if (atomic_fetch_sub(&d->waiting, 1) == 1 && rc == 0)
		streamed_tell(d, "%s: the source answers again after %" PRIu64 " s",
		    d->cfg.disk, (clock_us() - began) / 1000000);
	if (rc != 0 && e->kind != ERR_CANCELLED)
		err_ctx(e, "%s: what is absent cannot be read", d->cfg.disk);
	return rc;
}

static int
fetch(struct streamed *d, read_fn *read, void *buf, size_t n, uint64_t at, struct err *e)
{
	uint64_t began = clock_us();

	if (read(d, buf, n, at, e) == 0)
		return 0;
	return may_pass(d, e, began) ? ask_again(d, read, buf, n, at, began, e) : -1;
}

int
streamed_fetch(struct streamed *d, void *buf, size_t n, uint64_t at, struct err *e)
{
	return fetch(d, streamed_fetch_once, buf, n, at, e);
}

int
streamed_fetch_image(struct streamed *d, void *buf, size_t n, uint64_t at, struct err *e)
{
	return fetch(d, read_image, buf, n, at, e);
}
