/* streamed.c: reads, writes and flushes a streaming disk.  The plugin calls this for its clients, in
 * any thread; behind.c and fill.c in a thread each.
 *
 * Whoever writes holds the pages in question, looks which sectors are absent, writes, and marks
 * what it wrote as present.  A sector that is present never becomes absent again, so a reader that
 * found it present needs no lock; and a reader that found it absent may give out what the source
 * has, because a write that has ended by then had not ended when the read began. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "stream/disk/streamed_impl.h"

void
streamed_tell(struct streamed *d, const char *fmt, ...)
{
	char sentence[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof sentence, fmt, ap);
	va_end(ap);
	d->cfg.tell(d->cfg.arg, sentence);
}

uint64_t
streamed_bytes(const struct streamed *d)
{
	return d->bytes;
}

/* Which sectors are there? */

/* Is everything present, so that no table needs to be asked? */
static bool
is_whole(struct streamed *d)
{
	return atomic_load(&d->finished) || table_present(d->table) == d->stored_sectors;
}

int
streamed_absent_run(
    struct streamed *d, struct range r, bool *absent, uint64_t *n, struct err *e)
{
	bool present;

	*absent = false;
	*n = is_whole(d) ? r.len : table_whole_run(d->table, r);
	if (*n > 0)
		return 0;
	*n = r.len;
	size_t i = rangeset_find(&d->stored, r.off);
	if (i == rangeset_count(&d->stored))
		return 0;
	struct range s = rangeset_get(&d->stored, i);
	if (s.off > r.off) {
		*n = s.off - r.off < r.len ? s.off - r.off : r.len;
		return 0;
	}
	uint64_t left = range_end(s) - r.off;
	r.len = left < r.len ? left : r.len;
	if (table_run(d->table, r, &present, n, e) != 0)
		return -1;
	*absent = !present;
	return 0;
}

int
streamed_each_present(struct streamed *d,
    int (*present)(struct streamed *, struct range, struct err *), struct err *e)
{
	bool absent;

	for (size_t i = 0; i < rangeset_count(&d->stored); i++) {
		struct range s = rangeset_get(&d->stored, i);
		for (uint64_t n; s.len > 0; s = (struct range){ s.off + n, s.len - n }) {
			if (streamed_absent_run(d, s, &absent, &n, e) != 0)
				return -1;
			if (!absent && present(d, (struct range){ s.off, n }, e) != 0)
				return -1;
		}
	}
	return 0;
}

/* The pages of the sectors are held.  Nothing is marked any more when the boot area is in its place,
 * since the table is cleared then. */
int
streamed_mark(struct streamed *d, struct range r, bool local, struct err *e)
{
	size_t n = rangeset_count(&d->stored);

	if (atomic_load(&d->below.boot_placed) || (local && table_is_settled(d->table, r)))
		return 0;
	for (size_t i = rangeset_find(&d->stored, r.off); i < n; i++) {
		struct range s = range_clip(rangeset_get(&d->stored, i), r.off, range_end(r));
		if (s.len == 0)
			break;
		if (table_mark(d->table, s, local, e) != 0)
			return -1;
	}
	return 0;
}

int
streamed_make_room(struct streamed *d, struct err *e)
{
	return table_is_crowded(d->table) ? streamed_flush_some(d, true, e) : 0;
}

/* Clients' requests. */

static int
begin_request(struct streamed *d, uint64_t n, uint64_t at, struct err *e)
{
	if (!range_within((struct range){ at, n }, d->bytes))
		return err_set(e, ERR_USAGE, "%s: %" PRIu64 " bytes at %" PRIu64 " are behind its end",
		    d->cfg.disk, n, at);
	atomic_fetch_add(&d->requests, 1);
	return 0;
}

static void
end_request(struct streamed *d)
{
	atomic_store(&d->last_request_us, clock_us());
	atomic_fetch_sub(&d->requests, 1);
}

/* Does a request of a client concern the place of the table?  *n becomes the number of bytes
 * from `at` on for which the answer is the same. */
static bool
is_table(struct streamed *d, uint64_t at, uint64_t *n)
{
	uint64_t from = d->table_at.off * SECTOR_BYTES;
	uint64_t end = range_end(d->table_at) * SECTOR_BYTES;

	if (d->table_at.len == 0 || at >= end || atomic_load(&d->finished))
		return false;
	uint64_t most = at < from ? from - at : end - at;
	*n = *n < most ? *n : most;
	return at >= from;
}

/* The sectors that have bytes of [at, at + n). */
static struct range
sectors_of(uint64_t at, uint64_t n)
{
	uint64_t from = at / SECTOR_BYTES;

	return (struct range){ from, (at + n + SECTOR_BYTES - 1) / SECTOR_BYTES - from };
}

/* The sectors all of whose bytes are in [at, at + n). */
static struct range
whole_sectors_of(uint64_t at, uint64_t n)
{
	uint64_t from = (at + SECTOR_BYTES - 1) / SECTOR_BYTES;
	uint64_t to = (at + n) / SECTOR_BYTES;

	return (struct range){ from, to > from ? to - from : 0 };
}

/* Recording. */

typedef void seen_fn(struct recorder *, struct range);

/* The record has these sectors of the disk, for which the image stores something, as they are in the
 * image. */
static void
record_stored(struct streamed *d, struct range r, seen_fn *seen)
{
	uint64_t from;

	for (uint64_t n; r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
		n = maps_back(&d->maps, r, &from);
		if (from != MAPS_NOWHERE)
			seen(d->recorder, (struct range){ from, n });
	}
}

/* Tell the recorder which of these sectors are the image's. */
static void
record(struct streamed *d, struct range r, seen_fn *seen)
{
	size_t n = d->recorder != NULL ? rangeset_count(&d->stored) : 0;

	for (size_t i = n > 0 ? rangeset_find(&d->stored, r.off) : 0; i < n; i++) {
		struct range s = range_clip(rangeset_get(&d->stored, i), r.off, range_end(r));
		if (s.len == 0)
			break;
		record_stored(d, s, seen);
	}
}

/* Reading. */

static int
read_absent(struct streamed *d, uint8_t *buf, size_t n, uint64_t at, struct err *e)
{
	struct range whole = whole_sectors_of(at, n);

	fill_hint(d, at / SECTOR_BYTES);
	atomic_fetch_add(&d->fetching, 1);
	int rc = streamed_fetch(d, buf, n, at, e);
	atomic_fetch_sub(&d->fetching, 1);
	if (rc != 0)
		return -1;
	atomic_fetch_add(&d->fetched_bytes, n);
	if (whole.len > 0)
		behind_put(d, whole, buf + (whole.off * SECTOR_BYTES - at));
	return 0;
}

/* Find how many of the first sectors of r a read treats alike (*n); *absent: it has to fetch
 * them.  Sectors that are being fetched for the order are not fetched twice: the read waits for
 * them.  *awaited: it has waited. */
static int
find_run(struct streamed *d, struct range r, bool *absent, bool *awaited, uint64_t *n, struct err *e)
{
	*awaited = false;
	if (streamed_absent_run(d, r, absent, n, e) != 0)
		return -1;
	if (!*absent || !fill_ahead_await(d, (struct range){ r.off, *n }))
		return 0;
	*awaited = true;
	return streamed_absent_run(d, r, absent, n, e);
}

/* The first *n sectors of r are present.  Add those behind them that are, too, so that all of them
 * are read at once. */
static int
extend_present(struct streamed *d, struct range r, uint64_t *n, struct err *e)
{
	bool absent = false;

	for (uint64_t more; *n < r.len && !absent; *n += absent ? 0 : more)
		if (streamed_absent_run(
			d, (struct range){ r.off + *n, r.len - *n }, &absent, &more, e) != 0)
			return -1;
	return 0;
}

/* Read some of [at, at + n), n > 0.  *done: how many bytes. */
static int
read_some(struct streamed *d, uint8_t *buf, uint64_t n, uint64_t at, uint64_t *done,
    struct err *e)
{
	uint64_t sectors;
	bool absent, awaited;

	*done = n;
	if (is_table(d, at, done)) {
		memset(buf, 0, *done);
		return 0;
	}
	n = *done;
	struct range all = sectors_of(at, n);
	if (find_run(d, all, &absent, &awaited, &sectors, e) != 0 ||
	    (!absent && extend_present(d, all, &sectors, e) != 0))
		return -1;
	uint64_t end = (at / SECTOR_BYTES + sectors) * SECTOR_BYTES;
	*done = end - at < n ? end - at : n;
	if (awaited && !absent)
		atomic_fetch_add(&d->awaited_bytes, *done);
	return absent ? read_absent(d, buf, *done, at, e)
	              : below_read(&d->below, buf, *done, at, e);
}

int
streamed_read(struct streamed *d, void *buf, size_t n, uint64_t at, struct err *e)
{
	uint8_t *out = buf;
	uint64_t done;
	int rc = 0;

	if (begin_request(d, n, at, e) != 0)
		return -1;
	atomic_fetch_add(&d->read_bytes, n);
	record(d, sectors_of(at, n), recorder_read);
	for (; rc == 0 && n > 0; out += done, at += done, n -= done)
		rc = read_some(d, out, n, at, &done, e);
	end_request(d);
	return rc;
}

/* Writing.  The callers hold the pages. */

/* Put a sector of which only a part will be written onto the disk, if it is absent. */
static int
complete_sector(struct streamed *d, uint64_t sector, struct err *e)
{
	struct range r = { sector, 1 };
	uint8_t data[SECTOR_BYTES];
	uint64_t n;
	bool absent;

	if (streamed_absent_run(d, r, &absent, &n, e) != 0)
		return -1;
	if (!absent)
		return 0;
	if (streamed_fetch(d, data, sizeof data, sector * SECTOR_BYTES, e) != 0 ||
	    below_write(&d->below, data, sizeof data, sector * SECTOR_BYTES, e) != 0)
		return -1;
	return streamed_mark(d, r, false, e);
}

/* Complete the first and the last sector of [at, at + n), where they are written in part. */
static int
complete_ends(struct streamed *d, uint64_t at, uint64_t n, struct err *e)
{
	uint64_t end = at + n;

	if (at % SECTOR_BYTES != 0 && complete_sector(d, at / SECTOR_BYTES, e) != 0)
		return -1;
	if (end % SECTOR_BYTES != 0 && complete_sector(d, end / SECTOR_BYTES, e) != 0)
		return -1;
	return 0;
}

/* Refuse to write where the table is. */
static int
check_place(struct streamed *d, uint64_t at, uint64_t n, struct err *e)
{
	uint64_t some = n;

	if (!is_table(d, at, &some) && some == n)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: the sector table is at sectors %" PRIu64 " to %" PRIu64
	    ", which cannot be written until the disk is complete",
	    d->cfg.disk, d->table_at.off, range_end(d->table_at) - 1);
}

/* Write bytes, or zeros if buf is NULL, and mark them. */
static int
write_held(struct streamed *d, const void *buf, uint64_t n, uint64_t at, struct err *e)
{
	if (complete_ends(d, at, n, e) != 0)
		return -1;
	int rc = buf != NULL ? below_write(&d->below, buf, n, at, e)
	                     : below_zero(&d->below, at, n, e);
	return rc == 0 ? streamed_mark(d, sectors_of(at, n), true, e) : -1;
}

/* Discard sectors that are present.  Where they are absent, the disk has what its former owner left
 * there, which a discard need not remove: that becomes zeros. */
static int
drop(struct streamed *d, struct range r, bool absent, struct err *e)
{
	uint64_t at = r.off * SECTOR_BYTES, n = r.len * SECTOR_BYTES;

	if (absent)
		return below_zero(&d->below, at, n, e);
	below_discard(&d->below, at, n);
	return 0;
}

static int
trim_held(struct streamed *d, const void *unused, uint64_t n, uint64_t at, struct err *e)
{
	struct range whole = whole_sectors_of(at, n), r = whole;
	bool absent;

	(void)unused;
	for (uint64_t run; r.len > 0; r = (struct range){ r.off + run, r.len - run })
		if (streamed_absent_run(d, r, &absent, &run, e) != 0 ||
		    drop(d, (struct range){ r.off, run }, absent, e) != 0)
			return -1;
	return whole.len > 0 ? streamed_mark(d, whole, true, e) : 0;
}

/* A request to clear may have 4 GB, and mark more than the memory of the table has room for, so it is
 * done in parts, each of which marks one frame of the table (eight pieces).  The smallest table has
 * room for some 130 frames, and half of them are free when a part begins: enough for nbdkit's 16
 * requests of each of a few connections, and for what is fetched meanwhile. */
enum { CHANGE_MAX_BYTES = 8 * PIECE_BITS * SECTOR_BYTES };

typedef int change_fn(struct streamed *, const void *, uint64_t, uint64_t, struct err *);

/* Do something with [at, at + n), n > 0, while its pages are held. */
static int
change_some(struct streamed *d, const void *buf, uint64_t n, uint64_t at, change_fn *held,
    struct err *e)
{
	struct hold hold;

	if (streamed_make_room(d, e) != 0)
		return -1;
	hold_take(&d->holds, &hold, at, n);
	image_view_written(&d->view, sectors_of(at, n));
	int rc = held(d, buf, n, at, e);
	hold_release(&d->holds, &hold);
	if (rc == 0)
		record(d, whole_sectors_of(at, n), recorder_written);
	if (rc == 0)
		atomic_fetch_add(&d->written_bytes, n);
	return rc;
}

static int
change(struct streamed *d, const void *buf, uint64_t n, uint64_t at, change_fn *held,
    struct err *e)
{
	const uint8_t *p = buf;
	int rc = 0;

	if (begin_request(d, n, at, e) != 0)
		return -1;
	if (n > 0)
		rc = check_place(d, at, n, e);
	for (uint64_t some; rc == 0 && n > 0; at += some, n -= some) {
		some = CHANGE_MAX_BYTES - at % CHANGE_MAX_BYTES;
		some = some < n ? some : n;
		rc = change_some(d, p, some, at, held, e);
		p = p != NULL ? p + some : NULL;
	}
	end_request(d);
	return rc;
}

int
streamed_write(struct streamed *d, const void *buf, size_t n, uint64_t at, struct err *e)
{
	return change(d, buf, n, at, write_held, e);
}

int
streamed_zero(struct streamed *d, uint64_t n, uint64_t at, struct err *e)
{
	return change(d, NULL, n, at, write_held, e);
}

int
streamed_trim(struct streamed *d, uint64_t n, uint64_t at, struct err *e)
{
	return change(d, NULL, n, at, trim_held, e);
}

/* Write the absent ones of these sectors, whose pages are held. */
static int
put_held(struct streamed *d, struct range r, const uint8_t *data, uint64_t *written,
    struct err *e)
{
	bool absent;

	for (uint64_t n; r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
		if (streamed_absent_run(d, r, &absent, &n, e) != 0)
			return -1;
		struct range run = { r.off, n };
		if (absent && (below_write(&d->below, data, n * SECTOR_BYTES,
				   r.off * SECTOR_BYTES, e) != 0 ||
				  streamed_mark(d, run, false, e) != 0))
			return -1;
		*written += absent ? n : 0;
		data += n * SECTOR_BYTES;
	}
	return 0;
}

int
streamed_put(struct streamed *d, struct range r, const uint8_t *data, uint64_t *written,
    struct err *e)
{
	struct hold hold;

	*written = 0;
	if (streamed_make_room(d, e) != 0)
		return -1;
	hold_take(&d->holds, &hold, r.off * SECTOR_BYTES, r.len * SECTOR_BYTES);
	int rc = put_held(d, r, data, written, e);
	hold_release(&d->holds, &hold);
	return rc;
}

/* Flushing. */

static int
sync_below(void *arg, struct err *e)
{
	struct streamed *d = arg;

	return below_sync(&d->below, e);
}

/* Called with flush_lock, which is released, while no flush runs. */
static void
begin_flush(struct streamed *d)
{
	d->flushing = true;
	d->flushes_begun++;
	pthread_mutex_unlock(&d->flush_lock);
}

/* Returns with flush_lock.  A flush that has failed does not count as done, so the threads that
 * wait for it fail, too. */
static void
end_flush(struct streamed *d, bool all, bool failed)
{
	pthread_mutex_lock(&d->flush_lock);
	d->flushing = false;
	if (!failed)
		d->flushes_done = d->flushes_begun;
	if (!failed && all)
		d->all_done = d->flushes_begun;
	d->flush_failed |= failed;
	if (failed)
		marks_note_failure(d->marks);
	pthread_cond_broadcast(&d->flush_ended);
}

static int
fail_flush(struct streamed *d, struct err *e)
{
	return err_set(e, ERR_IO,
	    "%s: an earlier flush has failed, so what was written may be lost", d->cfg.disk);
}

/* Flush in this thread.  Called with flush_lock, which is released meanwhile. */
static int
flush_now(struct streamed *d, bool all, struct err *e)
{
	begin_flush(d);
	int rc = atomic_load(&d->finished) ? below_sync(&d->below, e)
	                                   : table_flush(d->table, all, sync_below, d, e);
	end_flush(d, all, rc != 0);
	return rc;
}

/* A flush that begins after this call covers it, if it writes as much; threads that wait at the same
 * time share one. */
int
streamed_flush_some(struct streamed *d, bool all, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&d->flush_lock);
	const uint64_t mine = d->flushes_begun + 1, *done = all ? &d->all_done : &d->flushes_done;
	while (rc == 0 && *done < mine) {
		if (d->flush_failed)
			rc = fail_flush(d, e);
		else if (d->flushing)
			pthread_cond_wait(&d->flush_ended, &d->flush_lock);
		else
			rc = flush_now(d, all, e);
	}
	pthread_mutex_unlock(&d->flush_lock);
	return rc;
}

int
streamed_flush(struct streamed *d, struct err *e)
{
	return streamed_flush_some(d, false, e);
}

/* The end. */

/* The headers name the disk by what is in the boot area, so nobody writes there meanwhile. */
static int
put_boot(struct streamed *d, struct err *e)
{
	uint8_t identity[TABLE_DISK_BYTES];
	struct hold hold;

	hold_take(&d->holds, &hold, 0, BELOW_BOOT_BYTES);
	below_identity(&d->below, identity);
	int rc = table_set_complete(d->table, identity, e);
	if (rc == 0)
		rc = below_put_boot(&d->below, e);
	hold_release(&d->holds, &hold);
	return rc;
}

/* Wait until nobody marks any more.  Whoever marks holds pages, and who holds pages from now on does
 * not mark, because the boot area is in its place. */
static void
end_marks(struct streamed *d)
{
	struct hold all;

	hold_take(&d->holds, &all, 0, d->bytes);
	hold_release(&d->holds, &all);
}

/* After a power cut before the boot area is in its place, the disk goes on as one that is being
 * streamed; afterwards the headers say that it is complete, so that it does not begin anew. */
static int
finish(struct streamed *d, struct err *e)
{
	if (table_flush(d->table, true, sync_below, d, e) != 0 || put_boot(d, e) != 0)
		return -1;
	end_marks(d);
	if (table_clear(d->table, e) != 0)
		return -1;
	atomic_store(&d->finished, true);
	return 0;
}

/* No flush runs meanwhile, and none writes to the place of the table afterwards. */
int
streamed_finish(struct streamed *d, struct err *e)
{
	int rc = 0;

	if (!is_whole(d))
		return err_set(e, ERR_USAGE,
		    "%s: is not complete: %" PRIu64 " sectors are absent", d->cfg.disk,
		    d->stored_sectors - table_present(d->table));
	pthread_mutex_lock(&d->flush_lock);
	while (d->flushing)
		pthread_cond_wait(&d->flush_ended, &d->flush_lock);
	if (d->flush_failed)
		rc = fail_flush(d, e);
	if (rc == 0) {
		begin_flush(d);
		rc = atomic_load(&d->finished) ? below_sync(&d->below, e) : finish(d, e);
		end_flush(d, true, rc != 0);
	}
	pthread_mutex_unlock(&d->flush_lock);
	return rc;
}

struct streamed_status
streamed_status(struct streamed *d)
{
	return (struct streamed_status){ .stored_bytes = d->stored_sectors * SECTOR_BYTES,
		.present_bytes = (is_whole(d) ? d->stored_sectors : table_present(d->table)) *
		                 SECTOR_BYTES,
		.read_bytes = atomic_load(&d->read_bytes),
		.written_bytes = atomic_load(&d->written_bytes),
		.fetched_bytes = atomic_load(&d->fetched_bytes),
		.awaited_bytes = atomic_load(&d->awaited_bytes),
		.filled_bytes = atomic_load(&d->filled_bytes),
		.ordered_bytes = atomic_load(&d->ordered_bytes),
		.waiting = atomic_load(&d->waiting) > 0,
		.finished = atomic_load(&d->finished) };
}
