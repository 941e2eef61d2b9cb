/* order.c: the file that says in which order a disk is read.  recorder.c and merge.c make
 * orders; order_find.c, merging.c and the sessions of frisbeed (order_blocks.c) read
 * them; in any thread. */
#include "common/image/format/order.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/base/grow.h"
#include "common/base/readable.h"
#include "common/disk/output.h"
#include "common/disk/range.h"

static const char magic[8] = { 'N', 'D', 'Z', 'O', 'R', 'D', 'E', 'R' };

enum { VERSION = 1, CHECKED_FROM = 16 };

void
order_init(struct order *o, uint64_t disk_sectors, uint32_t machines)
{
	*o = (struct order){ .disk_sectors = disk_sectors, .machines = machines };
}

void
order_free(struct order *o)
{
	free(o->runs);
	order_init(o, 0, 0);
}

int
order_add(struct order *o, struct order_run run, struct err *e)
{
	if (o->n == ORDER_RUNS_MAX || run.sectors > ORDER_SECTORS_MAX - o->sectors)
		return 0;
	if (grow_array(&o->runs, &o->cap, o->n, sizeof *o->runs, "an order of reads", e) != 0)
		return -1;
	o->runs[o->n++] = run;
	o->sectors += run.sectors;
	return 1;
}

/* Writing. */

static void
put_run(const struct order_run *run, struct buf *out)
{
	buf_le64(out, run->first_sector);
	buf_le32(out, run->sectors);
	buf_le32(out, run->after_ms);
	buf_le32(out, run->machines);
}

void
order_put(const struct order *o, struct buf *out)
{
	struct buf checked = { 0 };

	buf_le64(&checked, o->disk_sectors);
	buf_le32(&checked, o->machines);
	buf_le32(&checked, (uint32_t)o->n);
	for (size_t i = 0; i < o->n; i++)
		put_run(&o->runs[i], &checked);
	buf_bytes(out, magic, sizeof magic);
	buf_le32(out, VERSION);
	buf_le32(out, crc32c(checked.base, checked.len));
	buf_bytes(out, checked.base, checked.len);
	out->failed |= checked.failed;
	buf_free(&checked);
}

static bool
begins(const uint8_t *head)
{
	return memcmp(head, magic, sizeof magic) == 0;
}

int
order_write(const struct order *o, const char *path, struct err *e)
{
	const struct output_kind kind = { "an order of reads", sizeof magic, begins };
	struct buf b = { 0 };
	struct output out;

	order_put(o, &b);
	int rc = buf_ok(&b) ? output_open(&out, path, &kind, false, e)
	                    : err_nomem(e, path);
	if (rc == 0 && (rc = output_write(&out, b.base, b.len, e)) != 0)
		output_abort(&out);
	else if (rc == 0)
		rc = output_commit(&out, false, e);
	buf_free(&b);
	return rc;
}

/* Reading. */

static int
damaged(const char *name, const char *why, struct err *e)
{
	return err_set(e, ERR_FORMAT, "%s: %s", name, why);
}

/* Read what is in front of the runs.  *n: how many there are. */
static int
get_header(struct order *o, struct rd *r, uint32_t *n, const char *name, struct err *e)
{
	const uint8_t *first = rd_bytes(r, sizeof magic);
	uint32_t version = rd_le32(r), sum = rd_le32(r);

	if (first == NULL || !begins(first))
		return damaged(name, "is no order of reads", e);
	if (rd_ok(r) && version != VERSION)
		return err_set(e, ERR_FORMAT,
		    "%s: is an order of reads of version %" PRIu32
		    ", of which this program knows %d",
		    name, version, VERSION);
	if (!rd_ok(r) || crc32c(r->base + CHECKED_FROM, r->len - CHECKED_FROM) != sum)
		return damaged(name, "the checksum is wrong: it is cut, or damaged", e);
	o->disk_sectors = rd_le64(r);
	o->machines = rd_le32(r);
	*n = rd_le32(r);
	if (!rd_ok(r) || !rd_can_hold(r, *n, ORDER_RUN_BYTES) ||
	    rd_left(r) != (size_t)*n * ORDER_RUN_BYTES)
		return damaged(name, "has not as many runs as it says", e);
	if (o->machines == 0 || o->disk_sectors > INT64_MAX / SECTOR_BYTES)
		return damaged(name,
		    "says how many machines or sectors there are, and cannot be right",
		    e);
	return 0;
}

static int
get_run(struct order *o, struct rd *r, const char *name, struct err *e)
{
	struct order_run run = { .first_sector = rd_le64(r) };

	run.sectors = rd_le32(r);
	run.after_ms = rd_le32(r);
	run.machines = rd_le32(r);
	struct range s = { run.first_sector, run.sectors };
	if (run.sectors == 0 || !range_within(s, o->disk_sectors) ||
	    run.machines == 0 || run.machines > o->machines)
		return err_set(e, ERR_FORMAT,
		    "%s: run %zu is not within the disk, or nobody's", name, o->n);
	int added = order_add(o, run, e);
	return added == 1  ? 0
	       : added < 0 ? -1
	                   : damaged(name,
				 "has more runs or sectors than an order may have", e);
}

int
order_get(struct order *o, const void *data, size_t n, const char *name, struct err *e)
{
	struct rd r = rd_from(data, n);
	uint32_t runs = 0;

	order_init(o, 0, 0);
	if (get_header(o, &r, &runs, name, e) != 0)
		return -1;
	for (uint32_t i = 0; i < runs; i++)
		if (get_run(o, &r, name, e) != 0) {
			order_free(o);
			return -1;
		}
	return 0;
}

static int
no_file(const char *path, struct err *e)
{
	return err_set(e, ERR_ABSENT, "%s: there is no such file", path);
}

/* Make an order of n bytes that were read; n is -1 after an error. */
static int
get_what_was_read(struct order *o, const struct buf *b, ssize_t n, const char *path, struct err *e)
{
	if (n < 0)
		return -1;
	if (n > ORDER_BYTES_MAX)
		return damaged(path, "is longer than an order of reads may be", e);
	return order_get(o, b->base, (size_t)n, path, e);
}

int
order_of_disk(struct order *o, struct disk *d, struct err *e)
{
	struct err ignored; /* it was only read */
	struct buf b = { 0 };
	/* One byte more shows that a file, or a pipe, is too long. */
	uint8_t *to = buf_room(&b, ORDER_BYTES_MAX + 1);
	ssize_t n = to != NULL ? disk_read_upto(d, to, ORDER_BYTES_MAX + 1, 0, e)
	                       : err_nomem(e, disk_name(d));
	int rc = get_what_was_read(o, &b, n, disk_name(d), e);

	disk_close(d, &ignored);
	buf_free(&b);
	return rc;
}

int
order_read(struct order *o, const char *path, struct err *e)
{
	struct disk *d;

	if (access(path, F_OK) != 0 && errno == ENOENT)
		return no_file(path, e);
	return disk_open(&d, path, DISK_READ, e) == 0 ? order_of_disk(o, d, e) : -1;
}

/* Read at most `most` bytes; how many there were, or -1. */
static ssize_t
read_upto(int fd, uint8_t *to, size_t most, const char *path, struct err *e)
{
	size_t at = 0;
	ssize_t n;

	do {
		n = read(fd, to + at, most - at);
		at += n > 0 ? (size_t)n : 0;
	} while (n > 0 && at < most);
	return n < 0 ? err_os(e, "%s", path) : (ssize_t)at;
}

static int
read_regular(struct order *o, int fd, const char *path, struct err *e)
{
	struct buf b = { 0 };
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_os(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_REFUSED,
		    "%s: is a folder, a device or a pipe, and not a file with an order of reads", path);
	uint8_t *to = buf_room(&b, ORDER_BYTES_MAX + 1);
	ssize_t n = to != NULL ? read_upto(fd, to, ORDER_BYTES_MAX + 1, path, e)
	                       : err_nomem(e, path);
	int rc = get_what_was_read(o, &b, n, path, e);
	buf_free(&b);
	return rc;
}

int
order_read_regular(struct order *o, const char *path, struct err *e)
{
	int fd = readable_open(path, e);

	if (fd < 0)
		return e->os == ENOENT ? no_file(path, e) : -1;
	int rc = read_regular(o, fd, path, e);
	close(fd);
	return rc;
}
