#include "common/install/target.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/ptable.h"

enum {
	FILL_BYTES = 1 << 20,
	/* Shorter runs of zeros are written: clearing is a command of its own. */
	CLEAR_MIN_BYTES = 1 << 20,
};

static const uint8_t zeros[FILL_BYTES];

static int
find_slice(struct target *t, struct err *e)
{
	struct ptable pt;

	if (t->cfg->slice == 0)
		return 0;
	if (!disk_seekable(t->disk))
		return err_set(e, ERR_USAGE, "%s: has no partitions to install into",
		    disk_name(t->disk));
	if (ptable_read(&pt, t->disk, e) != 0)
		return -1;
	const struct partition *p = ptable_find(&pt, (unsigned)t->cfg->slice);
	if (p == NULL) {
		ptable_free(&pt);
		return err_set(e, ERR_USAGE, "%s: has no partition %" PRIu64, disk_name(t->disk),
		    t->cfg->slice);
	}
	t->slice = p->sectors;
	ptable_free(&pt);
	return 0;
}

static int
make_pattern(struct target *t, struct err *e)
{
	if (!t->cfg->has_pattern)
		return 0;
	t->fill = malloc(FILL_BYTES);
	if (t->fill == NULL)
		return err_nomem(e, "a buffer for the pattern");
	for (size_t i = 0; i < FILL_BYTES / sizeof *t->fill; i++)
		t->fill[i] = t->cfg->pattern;
	return 0;
}

int
target_init(struct target *t, struct disk *d, const struct install_config *cfg, bool fresh,
    struct err *e)
{
	*t = (struct target){ .disk = d, .cfg = cfg, .fresh = fresh, .room = UINT64_MAX };
	if (cfg->part_type != 0 && cfg->slice == 0) {
		err_set(e, ERR_USAGE, "-D sets the type of a partition: it needs -s");
		goto fail;
	}
	if (find_slice(t, e) != 0 || make_pattern(t, e) != 0)
		goto fail;
	if (t->slice.len != 0)
		t->room = t->slice.len;
	else if (!fresh && disk_seekable(d) && !(cfg->resize && disk_kind(d) == DISK_FILE))
		t->room = disk_size_bytes(d) / SECTOR_BYTES;
	return 0;
fail:
	free(t->fill);
	struct err ignored;		/* nothing was written, and *e tells more */
	disk_close(d, &ignored);
	t->disk = NULL;
	return -1;
}

int
target_close(struct target *t, struct err *e)
{
	free(t->fill);
	int rc = disk_close(t->disk, e);
	t->disk = NULL;
	return rc;
}

int
target_check_fit(const struct target *t, uint64_t sectors, struct err *e)
{
	if (sectors <= t->room)
		return 0;
	return err_set(e, ERR_REFUSED, "%s%s is too small: it has %" PRIu64 " sectors of 512 bytes, "
	    "the image needs at least %" PRIu64, disk_name(t->disk),
	    t->slice.len != 0 ? ": the partition" : "", t->room, sectors);
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

/* Streams get every byte, so what is free becomes zeros or the pattern. */
static int
stream_up_to(struct target *t, uint64_t sector, struct err *e)
{
	if (sector < t->stream_at)
		return err_set(e, ERR_UNSUPPORTED, "%s: chunks must come in order, and sector %" PRIu64
		    " comes after %" PRIu64, disk_name(t->disk), sector, t->stream_at);
	while (t->stream_at < sector) {
		uint64_t left = (sector - t->stream_at) * SECTOR_BYTES;
		size_t n = left < FILL_BYTES ? (size_t)left : FILL_BYTES;
		if (disk_write(t->disk, t->fill != NULL ? (const void *)t->fill : zeros, n,
		    byte_of(t, t->stream_at), e) != 0)
			return -1;
		t->stream_at += n / SECTOR_BYTES;
		t->bytes_filled += n;
	}
	return 0;
}

int
target_write(struct target *t, uint64_t sector, const void *data, uint64_t bytes,
    struct err *e)
{
	bool stream = disk_kind(t->disk) == DISK_STREAM;

	if (stream && stream_up_to(t, sector, e) != 0)
		return -1;
	if (disk_write(t->disk, data, bytes, byte_of(t, sector), e) != 0)
		return -1;
	if (stream)
		t->stream_at = sector + (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	t->bytes_written += bytes;
	raise_to(&t->end_bytes, sector * SECTOR_BYTES + bytes);
	return 0;
}

int
target_write_zeros(struct target *t, uint64_t sector, uint64_t bytes, struct err *e)
{
	bool hole = t->fresh && t->fill == NULL;

	if (hole || (bytes >= CLEAR_MIN_BYTES && disk_kind(t->disk) != DISK_STREAM)) {
		if (!hole && disk_zero(t->disk, byte_of(t, sector), bytes, e) != 0)
			return -1;
		t->bytes_written += bytes;
		raise_to(&t->end_bytes, sector * SECTOR_BYTES + bytes);
		return 0;
	}
	while (bytes > 0) {
		size_t n = bytes < FILL_BYTES ? (size_t)bytes : FILL_BYTES;
		if (target_write(t, sector, zeros, n, e) != 0)
			return -1;
		sector += n / SECTOR_BYTES;
		bytes -= n;
	}
	return 0;
}

static int
fill_pattern(struct target *t, uint64_t at, uint64_t bytes, struct err *e)
{
	while (bytes > 0) {
		size_t n = bytes < FILL_BYTES ? (size_t)bytes : FILL_BYTES;
		if (disk_write(t->disk, t->fill, n, at, e) != 0)
			return -1;
		at += n;
		bytes -= n;
	}
	return 0;
}

int
target_free_space(struct target *t, uint64_t from, uint64_t to, struct err *e)
{
	to = to < t->room ? to : t->room;
	if (from >= to)
		return 0;
	raise_to(&t->end_bytes, to * SECTOR_BYTES);
	if (disk_kind(t->disk) == DISK_STREAM)
		return stream_up_to(t, to, e);
	if (disk_kind(t->disk) == DISK_NULL || (!t->cfg->zero && t->fill == NULL))
		return 0;
	uint64_t bytes = (to - from) * SECTOR_BYTES;
	t->bytes_filled += bytes;
	if (t->fill != NULL)
		return fill_pattern(t, byte_of(t, from), bytes, e);
	return t->fresh ? 0 : disk_zero(t->disk, byte_of(t, from), bytes, e);
}

/* A file gets its exact length.  A disk that is kept in a file only grows: what
 * is behind the image's end may be somebody else's. */
static int
resize_file(struct target *t, struct err *e)
{
	uint64_t bytes = t->short_end != 0 ? t->short_end : t->covered_end * SECTOR_BYTES;

	if (!t->holds_file && bytes <= disk_size_bytes(t->disk))
		return 0;
	return disk_truncate(t->disk, bytes, e);
}

int
target_complete(struct target *t, struct err *e)
{
	uint64_t end = t->covered_end;

	if (t->fresh) {
		uint64_t bytes = t->short_end != 0 ? t->short_end : t->end_bytes;
		return disk_truncate(t->disk, bytes, e);
	}
	if (t->cfg->resize && disk_kind(t->disk) == DISK_FILE)
		return resize_file(t, e);
	if (t->slice.len == 0 && disk_seekable(t->disk))
		return target_free_space(t, end, t->room, e);
	return 0;
}
