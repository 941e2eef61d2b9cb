/* xfs_log.c: finds the head of an XFS log, and checks that the last record there is an
 * unmount. xfs.c calls this, in the thread that scans.
 *
 * The log is a ring of sectors of 512 bytes. The first word of each is the number of the
 * cycle (how often the ring has been written) in which the sector was written; a sector
 * that begins a record has a magic number there, and the cycle behind it. All sectors in
 * front of the head have cycle N; all sectors from the head on have cycle N - 1, or 0
 * where nothing was written since the log was made or cleared. The log is clean when the
 * record that ends at the head consists of one operation with the flag "unmount".
 *
 * When a machine dies, writes of eight buffers of 256 KiB may be under way, and may
 * arrive in any order. Therefore, within WINDOW_SECTORS on both sides of the head, and of
 * the place where the ring is closed, every sector must have the cycle that its place
 * implies. A log with any other cycle there is treated as not clean.
 *
 * Source: "XFS Algorithms & Data Structures", chapter on the journaling log, and the
 * declarations in the Linux kernel's fs/xfs/libxfs/xfs_log_format.h.
 */
#include "fsmods/xfs/xfs_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/disk/range.h"

enum {
	LOG_SECTOR = 512,
	CYCLES_PER_HEADER = 64, /* one header sector serves 32 KiB of data */
	HEADER_DATA_BYTES = CYCLES_PER_HEADER * LOG_SECTOR,
	RECORD_MAX_BYTES = 256 * 1024,
	RECORD_MAX_SECTORS = (RECORD_MAX_BYTES + RECORD_MAX_BYTES / CYCLES_PER_HEADER) /
	                     LOG_SECTOR,
	WINDOW_SECTORS = 8 * RECORD_MAX_SECTORS,
	PIECE_SECTORS = 1024,
	OP_UNMOUNT = 0x20,
	UUID_BYTES = 16,
};

static const uint32_t record_magic = 0xfeedbabe;

struct record {
	uint32_t version;
	uint32_t cycle;                 /* the header's own */
	uint64_t lsn;                   /* cycle, sector */
	uint32_t len_bytes, size_bytes; /* of the data; of the buffer it was made in */
	uint32_t ops;
	uint8_t uuid[UUID_BYTES];
};

static int
read_sectors(
    const struct xfs_log *log, void *buf, uint64_t first, uint64_t n, struct err *e)
{
	return disk_read(
	    log->disk, buf, n * LOG_SECTOR, log->at_bytes + first * LOG_SECTOR, e);
}

static uint32_t
cycle_of(const uint8_t *sector)
{
	struct rd r = rd_from(sector, LOG_SECTOR);
	uint32_t word = rd_be32(&r);

	return word == record_magic ? rd_be32(&r) : word;
}

static int
cycle_at(const struct xfs_log *log, uint64_t sector, uint32_t *cycle, struct err *e)
{
	uint8_t buf[LOG_SECTOR];

	if (read_sectors(log, buf, sector, 1, e) != 0)
		return -1;
	*cycle = cycle_of(buf);
	return 0;
}

/* in_front: the sector lies in front of the head. */
static bool
cycle_is_right(uint32_t cycle, bool in_front, uint32_t newest)
{
	return in_front ? cycle == newest : cycle == newest - 1 || cycle == 0;
}

/* Find the head, the first sector that is not of cycle N (*newest): 1 to log->sectors;
 * the latter when the head is where the ring is closed. */
static int
find_head(const struct xfs_log *log, uint32_t *newest, uint64_t *head, struct err *e)
{
	uint64_t lo = 0, hi = log->sectors;
	uint32_t last, cycle;

	if (cycle_at(log, 0, newest, e) != 0 || cycle_at(log, hi - 1, &last, e) != 0)
		return -1;
	if (*newest == 0)
		return err_set(e, ERR_FORMAT, "its log is empty");
	if (last != *newest && !cycle_is_right(last, false, *newest))
		return err_set(e, ERR_FORMAT,
		    "its log is damaged (cycles %" PRIu32 " and %" PRIu32 ")", *newest,
		    last);
	if (last == *newest)
		lo = hi;
	while (hi - lo > 1) {
		uint64_t middle = lo + (hi - lo) / 2;
		if (cycle_at(log, middle, &cycle, e) != 0)
			return -1;
		if (cycle == *newest)
			lo = middle;
		else
			hi = middle;
	}
	*head = hi;
	return 0;
}

/* Does every sector of the range have the cycle that this head implies? */
static int
check_cycles(const struct xfs_log *log, struct range r, uint32_t newest, uint64_t head,
    uint8_t *piece, struct err *e)
{
	for (uint64_t at = r.off; at < range_end(r);) {
		uint64_t left = range_end(r) - at,
			 n = left < PIECE_SECTORS ? left : PIECE_SECTORS;
		if (read_sectors(log, piece, at, n, e) != 0)
			return -1;
		for (uint64_t i = 0; i < n; i++, at++)
			if (!cycle_is_right(
				cycle_of(piece + i * LOG_SECTOR), at < head, newest))
				return err_set(e, ERR_FORMAT,
				    "its log is not clean: writes to it "
				    "were interrupted");
	}
	return 0;
}

static struct range
window_around(const struct xfs_log *log, uint64_t sector)
{
	uint64_t lo = sector > WINDOW_SECTORS ? sector - WINDOW_SECTORS : 0;
	uint64_t hi = log->sectors - sector > WINDOW_SECTORS ? sector + WINDOW_SECTORS
	                                                     : log->sectors;

	return (struct range){ lo, hi - lo };
}

static int
check_windows(const struct xfs_log *log, uint32_t newest, uint64_t head, struct err *e)
{
	uint64_t places[3] = { head, 0, log->sectors };
	uint8_t *piece = malloc(PIECE_SECTORS * LOG_SECTOR);
	int rc = 0;

	if (piece == NULL)
		return err_nomem(e, "reading a log");
	for (int i = 0; i < 3 && rc == 0; i++)
		rc = check_cycles(
		    log, window_around(log, places[i]), newest, head, piece, e);
	free(piece);
	return rc;
}

static bool
get_record(struct record *rec, const uint8_t *sector)
{
	struct rd r = rd_from(sector, LOG_SECTOR);
	uint32_t magic = rd_be32(&r);

	rec->cycle = rd_be32(&r);
	rec->version = rd_be32(&r);
	rec->len_bytes = rd_be32(&r);
	rec->lsn = rd_be64(&r);
	rd_skip(&r, 8 + 4 + 4); /* tail, checksum, previous record */
	rec->ops = rd_be32(&r);
	rd_skip(&r, 4 * CYCLES_PER_HEADER + 4); /* replaced words, byte order */
	rd_copy(&r, rec->uuid, sizeof rec->uuid);
	rec->size_bytes = rd_be32(&r);
	return rd_ok(&r) && magic == record_magic;
}

/* The number of header sectors: records made in large buffers have more than one. */
static uint64_t
header_sectors(const struct record *rec)
{
	if (rec->version != 2 || rec->size_bytes <= HEADER_DATA_BYTES)
		return 1;
	return (rec->size_bytes + (uint64_t)HEADER_DATA_BYTES - 1) / HEADER_DATA_BYTES;
}

/* Fails unless the last record is an unmount. tail: the n sectors in front of the head,
 * around the ring. */
static int
check_last_record(const struct xfs_log *log, const uint8_t *tail, uint64_t n,
    uint32_t newest, uint64_t head, struct err *e)
{
	struct record rec;
	uint64_t i = n;

	while (i > 0 && !get_record(&rec, tail + (i - 1) * LOG_SECTOR))
		i--;
	if (i-- == 0)
		return err_set(e, ERR_FORMAT, "its log has no record at its head");
	bool wrapped = n - i > head;
	uint64_t sector = wrapped ? log->sectors + head - (n - i) : head - (n - i);
	uint32_t cycle = wrapped ? newest - 1 : newest;
	if (rec.cycle != cycle || rec.lsn != ((uint64_t)cycle << 32 | sector) ||
	    (rec.version != 1 && rec.version != 2) ||
	    rec.len_bytes > RECORD_MAX_BYTES || rec.size_bytes > RECORD_MAX_BYTES)
		return err_set(e, ERR_FORMAT, "the last record of its log is damaged");
	if (memcmp(rec.uuid, log->uuid, UUID_BYTES) != 0)
		return err_set(e, ERR_FORMAT, "its log is that of another filesystem");
	uint64_t data = i + header_sectors(&rec);
	struct rd op = rd_from(tail + data * LOG_SECTOR, data < n ? LOG_SECTOR : 0);
	rd_skip(&op, 4 + 4 + 1); /* transaction, length, client */
	uint8_t flags = rd_u8(&op);
	if (rec.ops != 1 || !(flags & OP_UNMOUNT) ||
	    data + (rec.len_bytes + LOG_SECTOR - 1) / LOG_SECTOR != n)
		return err_set(
		    e, ERR_FORMAT, "its log is not clean: it was not unmounted");
	return 0;
}

/* Check the record that ends at the head. */
static int
check_last(const struct xfs_log *log, uint32_t newest, uint64_t head, struct err *e)
{
	uint64_t before = head < RECORD_MAX_SECTORS ? head : RECORD_MAX_SECTORS;
	uint64_t around = RECORD_MAX_SECTORS - before;
	uint8_t *tail = malloc(RECORD_MAX_SECTORS * LOG_SECTOR);
	int rc = -1;

	if (tail == NULL)
		return err_nomem(e, "reading a log");
	if (read_sectors(log, tail, log->sectors - around, around, e) == 0 &&
	    read_sectors(log, tail + around * LOG_SECTOR, head - before, before, e) ==
		0)
		rc = check_last_record(log, tail, RECORD_MAX_SECTORS, newest, head, e);
	free(tail);
	return rc;
}

int
xfs_log_check_clean(const struct xfs_log *log, uint64_t *head, struct err *e)
{
	uint32_t newest = 0;

	if (log->sectors < 2 * RECORD_MAX_SECTORS)
		return err_set(e, ERR_FORMAT, "its log is too short");
	if (find_head(log, &newest, head, e) != 0 ||
	    check_windows(log, newest, *head, e) != 0)
		return -1;
	return check_last(log, newest, *head, e);
}
