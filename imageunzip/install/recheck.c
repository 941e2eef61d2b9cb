/* recheck.c: compares a disk with what was written to it (recheck.h).  install_end.c calls this
 * when all other threads are gone. */
#include "imageunzip/install/recheck.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/number.h"

enum {
	RUN_BLOCKS = 16, /* that are read at once */
	PAGE_BYTES = 4096,
	PAGE_SECTORS = PAGE_BYTES / SECTOR_BYTES,
	STEP_BYTES = 1 << 20, /* the real size of a disk is a multiple */
	WRAP_S = 10,          /* for so long it is looked for */
	PAGES_TRIED = 1024,
};

static void *
new_buffer(size_t bytes, struct err *e)
{
	void *buf = aligned_alloc(PAGE_BYTES, bytes);

	if (buf == NULL)
		err_nomem(e, "a buffer to read back into");
	return buf;
}

/* The sectors of a part, from the first to the last one. */
static struct range
span(const struct ledger_part *p)
{
	unsigned from = 0, to = LEDGER_BLOCK_SECTORS;

	while ((p->has[from / 64] >> from % 64 & 1) == 0)
		from++;
	while ((p->has[(to - 1) / 64] >> (to - 1) % 64 & 1) == 0)
		to--;
	return (struct range){ p->block * LEDGER_BLOCK_SECTORS + from, to - from };
}

/* Read blocks that follow one another, from the first sector that counts to the last
 * one.  A file may end before: holes at its end read as zeros. */
static int
read_run(struct disk *d, const struct ledger_part *run, unsigned n, uint8_t *buf,
    struct err *e)
{
	uint64_t start = run[0].block * LEDGER_BLOCK_BYTES;
	uint64_t from = span(&run[0]).off / PAGE_SECTORS * PAGE_BYTES;
	uint64_t to = range_end(span(&run[n - 1])) + PAGE_SECTORS - 1;
	size_t bytes = (size_t)(to / PAGE_SECTORS * PAGE_BYTES - from);
	uint8_t *into = buf + (from - start);
	ssize_t got = disk_read_back_upto(d, into, bytes, from, e);

	if (got < 0)
		return -1;
	memset(into + got, 0, bytes - (size_t)got);
	return 0;
}

static int
compare_run(const struct ledger *l, struct disk *d, const struct ledger_part *run, unsigned n,
    uint8_t *buf, struct recheck *k, struct err *e)
{
	if (cancel_check(e) != 0 || read_run(d, run, n, buf, e) != 0)
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (!ledger_holds(l, &run[i], buf + (size_t)i * LEDGER_BLOCK_BYTES) &&
		    rangeset_add(&k->bad, span(&run[i]), e) != 0)
			return -1;
	return 0;
}

/* The next blocks, up to RUN_BLOCKS, that follow one another. */
static unsigned
next_run(const struct ledger *l, uint64_t *from, struct ledger_part *run)
{
	unsigned n = 0;

	while (n < RUN_BLOCKS && ledger_next(l, *from, &run[n]) &&
	       (n == 0 || run[n].block == *from))
		*from = run[n++].block + 1;
	return n;
}

int
recheck_all(const struct ledger *l, struct disk *d, struct recheck *k, struct err *e)
{
	struct ledger_part run[RUN_BLOCKS];
	uint8_t *buf = new_buffer(RUN_BLOCKS * LEDGER_BLOCK_BYTES, e);
	uint64_t from = 0;
	unsigned n;
	int rc = buf != NULL ? 0 : -1;

	*k = (struct recheck){ .wraps = 0 };
	rangeset_init(&k->bad);
	while (rc == 0 && (n = next_run(l, &from, run)) > 0)
		rc = compare_run(l, d, run, n, buf, k, e);
	rangeset_seal(&k->bad);
	free(buf);
	return rc;
}

void
recheck_free(struct recheck *k)
{
	rangeset_free(&k->bad);
}

static bool
all_alike(const uint8_t *p)
{
	return memcmp(p, p + 1, PAGE_BYTES - 1) == 0;
}

static bool
read_page(struct disk *d, uint8_t *buf, uint64_t at)
{
	struct err why;

	return disk_read_back_upto(d, buf, PAGE_BYTES, at, &why) == PAGE_BYTES;
}

/* Find, among the first bad sectors, a page that is not the same byte over and over. */
static bool
find_page(struct disk *d, const struct rangeset *bad, uint8_t *buf, uint64_t *at)
{
	unsigned tries = PAGES_TRIED;

	for (size_t i = 0; i < rangeset_count(bad); i++) {
		struct range r = rangeset_get(bad, i);
		uint64_t page = r.off / PAGE_SECTORS;
		for (; page * PAGE_SECTORS < range_end(r) && tries > 0; page++, tries--) {
			*at = page * PAGE_BYTES;
			if (read_page(d, buf, *at) && !all_alike(buf))
				return true;
		}
	}
	return false;
}

static bool
same_page(struct disk *d, const uint8_t *page, uint8_t *buf, uint64_t at)
{
	return at <= disk_size_bytes(d) - PAGE_BYTES && read_page(d, buf, at) &&
	       memcmp(page, buf, PAGE_BYTES) == 0;
}

/* The disk reads alike wherever it wraps round, so the same bytes are that far away. */
static uint64_t
distance(struct disk *d, const uint8_t *page, uint8_t *buf, uint64_t at)
{
	uint64_t end = clock_us() + WRAP_S * UINT64_C(1000000);

	for (uint64_t by = STEP_BYTES; clock_us() < end; by += STEP_BYTES) {
		if (by > at && at + by >= disk_size_bytes(d))
			break;
		if (same_page(d, page, buf, at + by) ||
		    (by <= at && same_page(d, page, buf, at - by)))
			return by;
	}
	return 0;
}

void
recheck_find_wrap(struct disk *d, struct recheck *k)
{
	struct err why;
	uint8_t *page = new_buffer(2 * PAGE_BYTES, &why);
	uint64_t at;

	if (page == NULL)
		return;
	if (find_page(d, &k->bad, page, &at))
		k->wraps = distance(d, page, page + PAGE_BYTES, at) / SECTOR_BYTES;
	free(page);
}

int
recheck_fail(const struct recheck *k, const struct disk *d, struct err *e)
{
	uint64_t at = rangeset_get(&k->bad, 0).off;
	char size[32];

	if (k->wraps == 0)
		return err_set(e, ERR_IO,
		    "%s: what was written at sector %" PRIu64
		    " is not what is read back in the end: the disk has less room than "
		    "it says, or is failing",
		    disk_name(d), at);
	return err_set(e, ERR_IO,
	    "%s: what was written at sector %" PRIu64
	    " is not what is read back in the end, but what is read %" PRIu64
	    " sectors away: the disk seems to wrap round after %s, and to have less room "
	    "than it says",
	    disk_name(d), at, k->wraps,
	    human_bytes(k->wraps * SECTOR_BYTES, size, sizeof size));
}
