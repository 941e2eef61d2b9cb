/* target.c: writes, compares and clears sectors of the target, and holds back what
 * belongs into the first 4 KiB (boot_area.h). The writer of the installation calls this
 * while it runs, and its decoders read and compare; what is done at the beginning and at
 * the end is done when no other thread runs. */
#include "imageunzip/install/target.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/disk/flight.h"

enum {
	/* Shorter runs of zeros are written, because clearing is a command of its own. */
	CLEAR_MIN_BYTES = 1 << 20,
	COMPARE_BYTES = 1 << 20,
	PAGE_BYTES = 4096,
	DIRECT_MIN_BYTES = 64 << 10, /* smaller writes go through the cache, which gathers them */
};

static const uint8_t zeros[TARGET_FILL_BYTES];

/* Only a file can have a short last sector, which does not count among its sectors.  The image of a
 * file of the same length has the same short sector. */
void
target_note_image(struct target *t, const struct ext *x)
{
	uint64_t bytes = disk_size_bytes(t->disk);

	if (x->has_image && t->slice.len == 0 && disk_kind(t->disk) == DISK_FILE)
		t->ends_short = bytes % SECTOR_BYTES != 0 && x->image.kind == EXT_KIND_FILE &&
		                x->image.source_bytes == bytes;
}

void
target_set_only(struct target *t, const struct partition *p)
{
	t->only = p->sectors;
	t->only_mbr_type = p->mbr_type;
	t->as_is = maps_one(p->sectors);
}

int
target_check_fit(const struct target *t, uint64_t sectors, struct err *e)
{
	char has[32], needs[32];

	if (sectors <= t->room || (t->ends_short && sectors - 1 <= t->room))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s%s is too small: it has %" PRIu64 " sectors of 512 bytes (%s), "
	    "the image needs at least %" PRIu64 " (%s)",
	    disk_name(t->disk), t->slice.len != 0 ? ": the partition" : "", t->room,
	    human_bytes(t->room * SECTOR_BYTES, has, sizeof has), sectors,
	    human_bytes(sectors * SECTOR_BYTES, needs, sizeof needs));
}

static uint64_t
byte_of(const struct target *t, uint64_t sector)
{
	return (t->slice.off + sector) * SECTOR_BYTES;
}

static void
raise_to(_Atomic uint64_t *at, uint64_t v)
{
	uint64_t old = *at;

	while (v > old && !atomic_compare_exchange_weak(at, &old, v))
		;
}

/* Write, and once more when that failed; the second error is fatal. */
static int
write_twice(struct target *t, const void *data, size_t n, uint64_t at, struct err *e)
{
	struct err first;

	if (disk_write(t->disk, data, n, at, &first) == 0 ||
	    (disk_seekable(t->disk) && disk_write(t->disk, data, n, at, e) == 0))
		return 0;
	*e = first;
	return -1;
}

/* Write `bytes` bytes of the pattern, or of zeros. */
static int
write_fill(
    struct target *t, const void *fill, uint64_t at, uint64_t bytes, struct err *e)
{
	while (bytes > 0) {
		size_t n = bytes < TARGET_FILL_BYTES ? (size_t)bytes
		                                     : TARGET_FILL_BYTES;
		if (write_twice(t, fill, n, at, e) != 0)
			return -1;
		at += n;
		bytes -= n;
	}
	return 0;
}

/* Does it stay a hole of a new file? */
static bool
stays_hole(const struct target *t, const void *data)
{
	return data == NULL && t->fresh && t->fill == NULL;
}

static int
write_zeros(struct target *t, uint64_t at, uint64_t bytes, struct err *e)
{
	if (stays_hole(t, NULL))
		return 0;
	if (bytes >= CLEAR_MIN_BYTES && disk_seekable(t->disk))
		return disk_zero(t->disk, at, bytes, e);
	return write_fill(t, zeros, at, bytes, e);
}

/* Write a stream up to `sector`: a stream gets every byte, so free space becomes zeros or
 * the pattern. */
static int
stream_up_to(struct target *t, uint64_t sector, struct err *e)
{
	if (sector < t->stream_at)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: chunks must come in order, and sector %" PRIu64
		    " comes after %" PRIu64,
		    disk_name(t->disk), sector, t->stream_at);
	uint64_t bytes = (sector - t->stream_at) * SECTOR_BYTES;
	if (write_fill(t, t->fill != NULL ? (const void *)t->fill : zeros,
		byte_of(t, t->stream_at), bytes, e) != 0)
		return -1;
	t->bytes_filled += bytes;
	t->stream_at = sector;
	return 0;
}

/* Note what is to be written at this byte of the disk.  What is in flight to the same
 * place lands first, because it is read there. */
static int
note(struct target *t, enum ledger_what what, uint64_t at, const void *data,
    uint64_t bytes, struct ledger_parts *parts, struct err *e)
{
	if (t->ledger == NULL)
		return 0;
	t->touched = true;
	if (t->flight != NULL && ledger_touches(t->ledger, at, bytes) &&
	    target_land(t, e) != 0)
		return -1;
	return ledger_note(t->ledger, what, at, data, bytes, parts, e);
}

/* Write bytes, of which `at` counts from the beginning of the target area; data NULL:
 * zeros. */
static int
put(struct target *t, enum ledger_what what, uint64_t at, const uint8_t *data,
    uint64_t bytes, struct ledger_parts *parts, struct err *e)
{
	uint64_t off = t->slice.off * SECTOR_BYTES;
	size_t taken = boot_area_take(&t->boot_area, at, data, bytes);

	if (taken == bytes)
		return 0;
	if (boot_area_put_marker(&t->boot_area, e) != 0)
		return -1;
	at += taken;
	bytes -= taken;
	data = data != NULL ? data + taken : NULL;
	if (!stays_hole(t, data) && note(t, what, off + at, data, bytes, parts, e) != 0)
		return -1;
	if (data == NULL)
		return write_zeros(t, off + at, bytes, e);
	if (t->flight != NULL && bytes >= DIRECT_MIN_BYTES)
		return flight_write(t->flight, data, bytes, off + at, e);
	return write_twice(t, data, bytes, off + at, e);
}

uint64_t
target_ticket(const struct target *t)
{
	return t->flight != NULL ? flight_ticket(t->flight) : 0;
}

int
target_land_upto(struct target *t, uint64_t ticket, struct err *e)
{
	return t->flight != NULL ? flight_land_upto(t->flight, ticket, e) : 0;
}

int
target_land(struct target *t, struct err *e)
{
	return target_land_upto(t, UINT64_MAX, e);
}

int
target_write(struct target *t, uint64_t sector, const void *data, uint64_t bytes,
    struct ledger_parts *parts, struct err *e)
{
	bool stream = disk_kind(t->disk) == DISK_STREAM;

	t->begun = true;
	if (stream && stream_up_to(t, sector, e) != 0)
		return -1;
	if (put(t, LEDGER_DATA, sector * SECTOR_BYTES, data, bytes, parts, e) != 0)
		return -1;
	if (stream)
		t->stream_at = sector + (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	t->bytes_written += bytes;
	raise_to(&t->end_bytes, sector * SECTOR_BYTES + bytes);
	return 0;
}

ssize_t
target_read(struct target *t, uint64_t sector, void *buf, size_t bytes, struct err *e)
{
	uint64_t at = sector * SECTOR_BYTES;
	ssize_t n = disk_read_upto(t->disk, buf, bytes, byte_of(t, sector), e);

	if (n > 0 && t->boot_area.on && at < BOOT_AREA_BYTES) {
		size_t held = BOOT_AREA_BYTES - (size_t)at;
		memcpy(buf, t->boot_area.bytes + at, held < (size_t)n ? held : (size_t)n);
	}
	return n;
}

static bool
is_there(const uint8_t *got, const uint8_t *data, size_t n)
{
	return memcmp(got, data != NULL ? data : zeros, n) == 0;
}

static int
compare_piece(struct target *t, uint64_t off, const uint8_t *data, size_t n,
    uint8_t *got, struct err *e)
{
	if (disk_read_back(t->disk, got, n, off, e) != 0)
		return -1;
	if (is_there(got, data, n))
		return 0;
	if (disk_write(t->disk, data != NULL ? data : zeros, n, off, e) != 0 ||
	    disk_read_back(t->disk, got, n, off, e) != 0)
		return -1;
	if (is_there(got, data, n))
		return 0;
	return err_set(e, ERR_IO,
	    "%s: what was written at sector %" PRIu64 " is not what is "
	    "read back, twice: the disk is failing, or has less room than it says",
	    disk_name(t->disk), off / SECTOR_BYTES);
}

/* Compare bytes that lie behind the boot area, which is compared when it is written.
 * They are remembered, if they are those of an earlier run. */
static int
compare_all(struct target *t, uint64_t off, const uint8_t *p, uint64_t bytes,
    uint8_t *got, struct err *e)
{
	for (size_t n; bytes > 0; off += n, bytes -= n) {
		n = bytes < COMPARE_BYTES ? (size_t)bytes : COMPARE_BYTES;
		bool known = ledger_touches(t->ledger, off, n);
		if (compare_piece(t, off, p, n, got, e) != 0 ||
		    (!known && note(t, LEDGER_DATA, off, p, n, NULL, e) != 0))
			return -1;
		p = p != NULL ? p + n : NULL;
	}
	return 0;
}

int
target_compare(struct target *t, uint64_t sector, const void *data, uint64_t bytes,
    struct ledger_parts *unused, struct err *e)
{
	uint64_t at = sector * SECTOR_BYTES, skip = 0;
	const uint8_t *p = data;

	(void)unused;
	/* The zeros of a new file are holes, which may lie behind its end. */
	if (stays_hole(t, data))
		return 0;
	if (t->boot_area.on && at < BOOT_AREA_BYTES)
		skip = BOOT_AREA_BYTES - at < bytes ? BOOT_AREA_BYTES - at : bytes;
	uint8_t *got = aligned_alloc(PAGE_BYTES, COMPARE_BYTES);
	if (got == NULL)
		return err_nomem(e, "a buffer to read back into");
	int rc = compare_all(t, byte_of(t, sector) + skip, p != NULL ? p + skip : NULL,
	    bytes - skip, got, e);
	free(got);
	return rc;
}

/* Note what the target has, which is what the image stores. */
static int
note_present(struct target *t, uint64_t at, uint64_t bytes, struct ledger_parts *parts,
    struct err *e)
{
	uint8_t *buf = malloc(COMPARE_BYTES);
	int rc = buf != NULL ? 0 : err_nomem(e, "a buffer to compare with");

	while (rc == 0 && bytes > 0) {
		size_t n = bytes < COMPARE_BYTES ? (size_t)bytes : COMPARE_BYTES;
		rc = disk_read(t->disk, buf, n, at, e);
		if (rc == 0)
			rc = note(t, LEDGER_DATA, at, buf, n, parts, e);
		at += n;
		bytes -= n;
	}
	free(buf);
	return rc;
}

int
target_note_same(struct target *t, uint64_t sector, uint64_t bytes,
    struct ledger_parts *parts, struct err *e)
{
	uint64_t at = sector * SECTOR_BYTES, skip = 0;

	t->bytes_same += bytes;
	raise_to(&t->end_bytes, at + bytes);
	if (t->ledger == NULL || !ledger_is_whole(t->ledger))
		return 0;
	if (t->boot_area.on && at < BOOT_AREA_BYTES)
		skip = BOOT_AREA_BYTES - at < bytes ? BOOT_AREA_BYTES - at : bytes;
	return note_present(t, byte_of(t, sector) + skip, bytes - skip, parts, e);
}

void
target_note_covered(struct target *t, uint64_t from, uint64_t to)
{
	raise_to(&t->covered_end, to);
	raise_to(&t->end_bytes, to * SECTOR_BYTES);
	t->bytes_covered += (to - from) * SECTOR_BYTES;
}

static int
fill_pattern(struct target *t, uint64_t at, uint64_t bytes, struct err *e)
{
	size_t taken = boot_area_take(&t->boot_area, at, t->fill, bytes);

	if (boot_area_put_marker(&t->boot_area, e) != 0)
		return -1;
	at += t->slice.off * SECTOR_BYTES + taken;
	bytes -= taken;
	for (uint64_t done = 0, n; done < bytes; done += n) {
		n = bytes - done < TARGET_FILL_BYTES ? bytes - done : TARGET_FILL_BYTES;
		if (note(t, LEDGER_FILL, at + done, t->fill, n, NULL, e) != 0)
			return -1;
	}
	return write_fill(t, t->fill, at, bytes, e);
}

/* Discard bytes; what cannot be discarded is left as it is, and so is the boot area. */
static void
discard(struct target *t, uint64_t at, uint64_t bytes)
{
	uint64_t keep = t->boot_area.on && at < BOOT_AREA_BYTES ? BOOT_AREA_BYTES - at
	                                                        : 0;

	if (keep < bytes && !t->no_discard &&
	    !disk_discard(
		t->disk, t->slice.off * SECTOR_BYTES + at + keep, bytes - keep) &&
	    !atomic_exchange(&t->no_discard, true) && t->cfg->warn != NULL)
		t->cfg->warn("the target does not support discard: its free space is "
			     "not changed");
}

/* Handle free sectors [from, to), none of which is reserved or spared. */
static int
free_space(struct target *t, uint64_t from, uint64_t to, struct err *e)
{
	uint64_t at = from * SECTOR_BYTES, bytes = (to - from) * SECTOR_BYTES;

	if (t->cfg->discard && !t->fresh)
		discard(t, at, bytes);
	if (!t->cfg->zero && t->fill == NULL)
		return 0;
	t->bytes_filled += bytes;
	return t->fill != NULL ? fill_pattern(t, at, bytes, e)
	                       : put(t, LEDGER_FILL, at, NULL, bytes, NULL, e);
}

/* Handle free sectors [from, to), except those in kept[n]. */
static int
free_around(struct target *t, uint64_t from, uint64_t to, const struct range *kept,
    size_t n, struct err *e)
{
	if (from >= to)
		return 0;
	if (n == 0)
		return free_space(t, from, to, e);
	struct range r = range_clip(kept[0], from, to);
	if (r.len == 0)
		return free_around(t, from, to, kept + 1, n - 1, e);
	return free_around(t, from, r.off, kept + 1, n - 1, e) == 0
	           ? free_around(t, range_end(r), to, kept + 1, n - 1, e)
	           : -1;
}

int
target_free_space(struct target *t, uint64_t from, uint64_t to, struct err *e)
{
	to = to < t->room ? to : t->room;
	if (from >= to)
		return 0;
	raise_to(&t->end_bytes, to * SECTOR_BYTES);
	/* In a stream, free space in front of data was written together with it. */
	if (disk_kind(t->disk) == DISK_STREAM)
		return to > t->stream_at ? stream_up_to(t, to, e) : 0;
	if (disk_kind(t->disk) == DISK_NULL)
		return 0;
	struct range kept[] = { { 0, t->reserved_len }, { 0, t->spared_len } };
	kept[0].off = t->reserved_off;
	kept[1].off = t->spared_off;
	return free_around(t, from, to, kept, sizeof kept / sizeof kept[0], e);
}

void
target_reserve(struct target *t, struct range r)
{
	t->reserved_off = r.off;
	t->reserved_len = r.len;
}

void
target_spare(struct target *t, struct range r)
{
	t->spared_off = r.off;
	t->spared_len = r.len;
}

int
target_release(struct target *t, struct err *e)
{
	struct range r = { t->reserved_off, t->reserved_len };
	uint64_t at = byte_of(t, r.off), bytes = r.len * SECTOR_BYTES;

	t->reserved_len = 0;
	if (r.len == 0)
		return 0;
	if (t->fill != NULL)
		return write_fill(t, t->fill, at, bytes, e);
	/* Zeros first: a discard may leave what was there. */
	if (disk_zero(t->disk, at, bytes, e) != 0)
		return -1;
	if (t->cfg->discard && !t->fresh)
		discard(t, r.off * SECTOR_BYTES, bytes);
	return 0;
}

/* The length that a file gets, in bytes; UINT64_MAX: it keeps its length. A disk that is
 * kept in a file only grows: what is behind the image's end may be somebody else's. */
static uint64_t
wanted_bytes(const struct target *t)
{
	bool resize = t->cfg->resize && disk_kind(t->disk) == DISK_FILE;
	uint64_t end = resize ? t->covered_end * SECTOR_BYTES : t->end_bytes;

	if (!resize && !t->fresh)
		return UINT64_MAX;
	if (t->short_end != 0)
		end = t->short_end;
	return resize && !t->holds_file && end <= disk_size_bytes(t->disk) ? UINT64_MAX
	                                                                   : end;
}

int
target_size(struct target *t, struct err *e)
{
	/* The marker may be missing: all data of an image of a few sectors can be in the
	 * boot area. */
	if (t->end_bytes > 0 && boot_area_put_marker(&t->boot_area, e) != 0)
		return -1;
	uint64_t bytes = wanted_bytes(t);
	/* A file that is shorter than the boot area gets its length in put_boot_area():
	 * if it were cut now, a part of the marker would be lost. */
	return bytes != UINT64_MAX && bytes >= BOOT_AREA_BYTES
	           ? disk_truncate(t->disk, bytes, e)
	           : 0;
}

/* Note, before it is done, that n bytes at byte `at` of the disk become these: with the
 * rest of their sectors, which stays. */
static int
note_fix(struct target *t, uint64_t at, const void *data, size_t n, struct err *e)
{
	uint64_t from = at / SECTOR_BYTES;
	uint64_t to = (at + n + SECTOR_BYTES - 1) / SECTOR_BYTES;
	size_t bytes = (size_t)(to - from) * SECTOR_BYTES;
	uint8_t *all;

	if (t->ledger == NULL || n == 0)
		return 0;
	all = calloc(1, bytes);
	if (all == NULL)
		return err_nomem(e, "sectors that are corrected");
	int rc = disk_read_upto(t->disk, all, bytes, from * SECTOR_BYTES, e) < 0 ? -1 : 0;
	memcpy(all + (at - from * SECTOR_BYTES), data, n);
	if (rc == 0)
		rc = note(t, LEDGER_DATA, from * SECTOR_BYTES, all, bytes, NULL, e);
	free(all);
	return rc;
}

int
target_fix(struct target *t, uint64_t at, const void *data, size_t n, struct err *e)
{
	uint8_t *got;

	if (note_fix(t, at, data, n, e) != 0 || write_twice(t, data, n, at, e) != 0)
		return -1;
	if (!t->cfg->read_back)
		return 0;
	got = malloc(n);
	int rc = got != NULL ? compare_piece(t, at, data, n, got, e)
	                     : err_nomem(e, "a buffer to read back into");
	free(got);
	return rc;
}

int
target_recheck(struct target *t, struct recheck *k, struct err *e)
{
	struct boot_area *h = &t->boot_area;
	bool stands;

	*k = (struct recheck){ .wraps = 0 };
	if (t->ledger == NULL)
		return 0;
	t->touched = false;
	if (disk_sync(t->disk, e) != 0 || recheck_all(t->ledger, t->disk, k, e) != 0 ||
	    boot_area_is_marked(h, &stands, e) != 0)
		return -1;
	struct range marker = { h->at / SECTOR_BYTES, BOOT_AREA_SECTORS };
	if (!stands && rangeset_add(&k->bad, marker, e) != 0)
		return -1;
	rangeset_seal(&k->bad);
	return 0;
}

void
target_doubt(struct target *t)
{
	struct err later; /* what is wrong with the disk is told already */

	if (!t->boot_area.marked ||
	    boot_area_place_state(&t->boot_area, 0, 0, &later) != 0)
		return;
	(void)disk_sync(t->disk, &later);
}

/* Write the boot area over the incomplete marker; after that there is only flushing. */
static int
put_boot_area(struct target *t, struct err *e)
{
	uint8_t got[BOOT_AREA_BYTES];
	uint64_t bytes = wanted_bytes(t);

	if (boot_area_commit(&t->boot_area, e) != 0)
		return -1;
	if (t->cfg->read_back &&
	    compare_piece(t, t->boot_area.at, t->boot_area.bytes, BOOT_AREA_BYTES, got,
		e) != 0)
		return -1;
	if (bytes < BOOT_AREA_BYTES && disk_truncate(t->disk, bytes, e) != 0)
		return -1;
	return disk_sync(t->disk, e);
}

int
target_seal(struct target *t, struct err *e)
{
	struct err worse;

	if (disk_sync(t->disk, e) != 0)
		return -1;
	if (!t->boot_area.marked)
		return wanted_bytes(t) < BOOT_AREA_BYTES
		           ? disk_truncate(t->disk, wanted_bytes(t), e)
		           : 0;
	if (put_boot_area(t, e) == 0)
		return 0;
	/* After a failure it is not known what the boot area holds. */
	boot_area_mark_again(&t->boot_area, &worse);
	return -1;
}
