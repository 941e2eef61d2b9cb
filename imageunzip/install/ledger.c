/* ledger.c: sums up digests of what is written to a target (ledger.h).  target.c notes
 * what it writes in the threads that write, resume.c what an earlier run has noted, and
 * recheck.c compares at the end, when all other threads are gone; a lock guards the struct.
 * */
#include "imageunzip/install/ledger.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/grow.h"
#include "common/base/random_bytes.h"
#include "common/base/xxh64.h"
#include "common/base/zero.h"

enum {
	FIRST_BLOCKS = (16 << 20) / LEDGER_BLOCK_BYTES, /* in a zone of the first GiB */
	GIB_BLOCKS = (1 << 30) / LEDGER_BLOCK_BYTES,
	FIRSTS = GIB_BLOCKS / FIRST_BLOCKS,
	PAGE_BLOCKS = 1024,
};

/* All places: blocks [number * PAGE_BLOCKS, ...). */
struct page {
	uint64_t number;
	struct {
		uint64_t has[2], sum[2];
	} b[PAGE_BLOCKS];
};

/* A few places: one block, at random, of a zone, which is 16 MiB of the first GiB, or
 * another GiB. */
struct zone {
	uint64_t number;
	uint64_t seen; /* blocks of it that were written so far */
	struct ledger_part part;
};

struct ledger {
	struct disk *disk; /* borrowed */
	bool all;
	uint64_t base; /* the first block of the target */
	uint64_t end;  /* the byte where data ends within a sector; 0: nowhere */
	pthread_mutex_t lock;
	struct page **pages; /* in the order of their numbers */
	size_t npages, pages_cap;
	struct zone *zones; /* in the order of their numbers */
	size_t nzones, zones_cap;
	uint64_t random;
};

int
ledger_new(
    struct ledger **out, struct disk *d, bool all, uint64_t base, struct err *e)
{
	struct ledger *l = calloc(1, sizeof *l);

	if (l == NULL)
		return err_nomem(e, "digests of what is written");
	pthread_mutex_init(&l->lock, NULL);
	l->disk = d;
	l->all = all;
	l->base = base / LEDGER_BLOCK_BYTES;
	random_bytes(&l->random, sizeof l->random);
	l->random |= 1; /* 0 would stay 0 */
	*out = l;
	return 0;
}

void
ledger_free(struct ledger *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->npages; i++)
		free(l->pages[i]);
	free(l->pages);
	free(l->zones);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

bool
ledger_is_whole(const struct ledger *l)
{
	return l->all;
}

/* Which blocks are chosen is no secret, so xorshift (Marsaglia, 2003) is random enough.
 * */
static uint64_t
draw(struct ledger *l, uint64_t below)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random % below;
}

/* The sum. */

static bool
has(const uint64_t bits[2], unsigned i)
{
	return (bits[i / 64] >> i % 64 & 1) != 0;
}

/* The bits of sectors [from, to) of a block. */
static void
bits_of(unsigned from, unsigned to, uint64_t bits[2])
{
	for (unsigned i = from; i < to; i++)
		bits[i / 64] |= UINT64_C(1) << i % 64;
}

/* Add the digest of the i-th sector; an odd factor tells sectors that have changed
 * places, and the second sum differs where differences cancel out in the first one. */
static void
add_digest(uint64_t sum[2], unsigned i, uint64_t digest)
{
	sum[0] += (2 * i + 1) * digest;
	sum[1] += (2 * i + 1) * (digest ^ digest >> 32) * (digest | 1);
}

/* Add those of sectors [from, to) that are in bits; p: the bytes from sector `from` on.
 * Zeros add nothing, which saves their digests. */
static void
add_sectors(uint64_t sum[2], const uint64_t bits[2], unsigned from, unsigned to,
    const uint8_t *p)
{
	for (unsigned i = from; i < to; i++, p += SECTOR_BYTES)
		if (has(bits, i) && !is_zero(p, SECTOR_BYTES))
			add_digest(sum, i, xxh64(p, SECTOR_BYTES));
}

/* A piece of what is written, within one block. */
struct piece {
	enum ledger_what what;
	uint64_t block;
	unsigned from;       /* its first sector in the block */
	const uint8_t *data; /* NULL: zeros */
	uint32_t bytes;
};

static unsigned
end_of(const struct piece *p)
{
	return p->from + (p->bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
}

static struct ledger_part
sum_up(const struct piece *p)
{
	struct ledger_part part = { .block = p->block };
	unsigned whole = p->from + p->bytes / SECTOR_BYTES;
	uint8_t last[SECTOR_BYTES] = { 0 };

	bits_of(p->from, end_of(p), part.has);
	if (p->data == NULL)
		return part;
	add_sectors(part.sum, part.has, p->from, whole, p->data);
	if (whole == end_of(p))
		return part;
	memcpy(last, p->data + p->bytes / SECTOR_BYTES * SECTOR_BYTES,
	    p->bytes % SECTOR_BYTES);
	add_sectors(part.sum, part.has, whole, whole + 1, last);
	return part;
}

/* Only the end of a file's data lies within a sector. */
static void
note_end(struct ledger *l, const struct piece *p)
{
	if (p->bytes % SECTOR_BYTES != 0)
		l->end = p->block * LEDGER_BLOCK_BYTES + p->from * SECTOR_BYTES + p->bytes;
}

/* What stands behind the data's end, in its last sector, counts as zeros: it stays as it is,
 * or the file is cut off there later. */
static void
cut_at_end(const struct ledger *l, uint64_t block, uint8_t bytes[LEDGER_BLOCK_BYTES])
{
	uint32_t at = l->end % LEDGER_BLOCK_BYTES;

	if (l->end != 0 && l->end / LEDGER_BLOCK_BYTES == block)
		memset(bytes + at, 0, SECTOR_BYTES - at % SECTOR_BYTES);
}

bool
ledger_holds(const struct ledger *l, const struct ledger_part *p,
    uint8_t bytes[LEDGER_BLOCK_BYTES])
{
	uint64_t sum[2] = { 0, 0 };

	cut_at_end(l, p->block, bytes);
	add_sectors(sum, p->has, 0, LEDGER_BLOCK_SECTORS, bytes);
	return sum[0] == p->sum[0] && sum[1] == p->sum[1];
}

/* Where parts are kept. */

static bool
page_before(const void *ledger, size_t i, uint64_t number)
{
	const struct ledger *l = ledger;

	return l->pages[i]->number < number;
}

/* The first page that has this number or a higher one. */
static size_t
find_page(const struct ledger *l, uint64_t number)
{
	return bisect(l->npages, l, number, page_before);
}

static struct page *
page_of(struct ledger *l, uint64_t block, bool make, struct err *e)
{
	uint64_t number = block / PAGE_BLOCKS;
	size_t at = find_page(l, number);

	if (at < l->npages && l->pages[at]->number == number)
		return l->pages[at];
	if (!make)
		return NULL;
	struct page *p = calloc(1, sizeof *p);
	if (p == NULL || grow_array(&l->pages, &l->pages_cap, l->npages, sizeof *l->pages,
			     "digests of what is written", e) != 0) {
		if (p == NULL)
			err_nomem(e, "digests of what is written");
		free(p);
		return NULL;
	}
	memmove(&l->pages[at + 1], &l->pages[at], (l->npages - at) * sizeof *l->pages);
	l->npages++;
	p->number = number;
	return l->pages[at] = p;
}

/* The number of the zone of the target's nth block. */
static uint64_t
zone_number(uint64_t nth)
{
	return nth < GIB_BLOCKS ? nth / FIRST_BLOCKS : FIRSTS + nth / GIB_BLOCKS;
}

static bool
zone_before(const void *ledger, size_t i, uint64_t number)
{
	const struct ledger *l = ledger;

	return l->zones[i].number < number;
}

/* The first zone that has this number or a higher one. */
static size_t
find_zone(const struct ledger *l, uint64_t number)
{
	return bisect(l->nzones, l, number, zone_before);
}

/* Without memory for one more, there is one place less. */
static struct zone *
zone_of(struct ledger *l, uint64_t number, bool make)
{
	size_t at = find_zone(l, number);
	struct err none;

	if (at < l->nzones && l->zones[at].number == number)
		return &l->zones[at];
	if (!make || grow_array(&l->zones, &l->zones_cap, l->nzones, sizeof *l->zones,
			 "digests of what is written", &none) != 0)
		return NULL;
	memmove(&l->zones[at + 1], &l->zones[at], (l->nzones - at) * sizeof *l->zones);
	l->nzones++;
	l->zones[at] = (struct zone){ .number = number };
	return &l->zones[at];
}

static bool
is_used(const struct ledger_part *p)
{
	return (p->has[0] | p->has[1]) != 0;
}

/* Can it be seen that the piece is lost?  A place that was never written, or that the disk does
 * not have, reads as zeros, too. */
static bool
is_telling(const struct piece *p)
{
	return p->what == LEDGER_DATA && p->data != NULL && !is_zero(p->data, p->bytes);
}

/* The part that the block is remembered in, which it may be from now on; NULL: it is not. */
static struct ledger_part *
choose(struct ledger *l, const struct piece *p)
{
	bool telling = is_telling(p);
	struct zone *z = zone_of(l, zone_number(p->block - l->base), telling);

	if (z == NULL)
		return NULL;
	if (is_used(&z->part) && z->part.block == p->block)
		return &z->part;
	/* The last block is taken with a chance of 1 in the number of blocks so far. */
	if (!telling || draw(l, ++z->seen) != 0)
		return NULL;
	z->part = (struct ledger_part){ .block = p->block };
	return &z->part;
}

/* Take away what stands now where the part will be written. */
static int
subtract(struct ledger *l, struct ledger_part *to, const uint64_t bits[2], struct err *e)
{
	uint64_t both[2] = { to->has[0] & bits[0], to->has[1] & bits[1] };
	uint64_t sum[2] = { 0, 0 };

	if ((both[0] | both[1]) == 0)
		return 0;
	uint8_t *was = calloc(1, LEDGER_BLOCK_BYTES);
	if (was == NULL)
		return err_nomem(e, "a block to compare with");
	ssize_t n = disk_read_upto(
	    l->disk, was, LEDGER_BLOCK_BYTES, to->block * LEDGER_BLOCK_BYTES, e);
	cut_at_end(l, to->block, was);
	if (n >= 0)
		add_sectors(sum, both, 0, LEDGER_BLOCK_SECTORS, was);
	free(was);
	to->sum[0] -= sum[0];
	to->sum[1] -= sum[1];
	return n >= 0 ? 0 : -1;
}

static int
merge(
    struct ledger *l, struct ledger_part *to, const struct ledger_part *p, struct err *e)
{
	if (subtract(l, to, p->has, e) != 0)
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		to->has[i] |= p->has[i];
		to->sum[i] += p->sum[i];
	}
	return 0;
}

static int
keep_few(struct ledger *l, const struct piece *p, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&l->lock);
	struct ledger_part *to = choose(l, p);
	note_end(l, p);
	if (to != NULL) {
		const struct ledger_part part = sum_up(p);
		rc = merge(l, to, &part, e);
	}
	pthread_mutex_unlock(&l->lock);
	return rc;
}

/* Called with the lock. */
static int
keep_in(struct ledger *l, struct page *page, const struct ledger_part *p, struct err *e)
{
	unsigned i = p->block % PAGE_BLOCKS;
	struct ledger_part now = { .block = p->block };

	memcpy(now.has, page->b[i].has, sizeof now.has);
	memcpy(now.sum, page->b[i].sum, sizeof now.sum);
	int rc = merge(l, &now, p, e);
	memcpy(page->b[i].has, now.has, sizeof now.has);
	memcpy(page->b[i].sum, now.sum, sizeof now.sum);
	return rc;
}

/* Add a part to what one chunk has written: to the last one, if that is of the same
 * block. */
static int
note_part(struct ledger_parts *parts, const struct ledger_part *p, struct err *e)
{
	struct ledger_part *last = parts->n > 0 ? &parts->p[parts->n - 1] : NULL;
	bool apart = last == NULL || last->block != p->block ||
	             (last->has[0] & p->has[0]) != 0 || (last->has[1] & p->has[1]) != 0;

	if (apart) {
		if (grow_array(&parts->p, &parts->cap, parts->n, sizeof *parts->p,
			"digests of what is written", e) != 0)
			return -1;
		parts->p[parts->n++] = *p;
		return 0;
	}
	for (unsigned i = 0; i < 2; i++) {
		last->has[i] |= p->has[i];
		last->sum[i] += p->sum[i];
	}
	return 0;
}

/* note_part() without a sector that the piece has in part: a later run does not know that data
 * end there. */
static int
note_whole(struct ledger_parts *parts, const struct piece *p,
    const struct ledger_part *part, struct err *e)
{
	struct piece whole = *p;

	whole.bytes -= p->bytes % SECTOR_BYTES;
	if (whole.bytes == p->bytes)
		return note_part(parts, part, e);
	struct ledger_part shorter = sum_up(&whole);
	return whole.bytes > 0 ? note_part(parts, &shorter, e) : 0;
}

/* Where data may be remembered, digests are made without the lock, by several threads at
 * once. */
static int
keep_all(struct ledger *l, const struct piece *p, struct ledger_parts *parts,
    struct err *e)
{
	struct ledger_part part = sum_up(p);
	unsigned i = p->block % PAGE_BLOCKS;
	int rc = 0;

	pthread_mutex_lock(&l->lock);
	note_end(l, p);
	struct page *page = page_of(l, p->block, p->what == LEDGER_DATA, e);
	bool known = page != NULL && (page->b[i].has[0] | page->b[i].has[1]) != 0;
	if (page == NULL && p->what == LEDGER_DATA)
		rc = -1;
	else if (known || p->what == LEDGER_DATA)
		rc = keep_in(l, page, &part, e);
	pthread_mutex_unlock(&l->lock);
	return rc == 0 && parts != NULL ? note_whole(parts, p, &part, e) : rc;
}

int
ledger_note(struct ledger *l, enum ledger_what what, uint64_t at, const void *data,
    uint64_t bytes, struct ledger_parts *parts, struct err *e)
{
	const uint8_t *p = data;
	int rc = 0;

	while (rc == 0 && bytes > 0) {
		uint32_t in = at % LEDGER_BLOCK_BYTES, left = LEDGER_BLOCK_BYTES - in;
		struct piece piece = { .what = what,
			.block = at / LEDGER_BLOCK_BYTES,
			.from = in / SECTOR_BYTES,
			.data = p,
			.bytes = bytes < left ? (uint32_t)bytes : left };
		rc = l->all ? keep_all(l, &piece, parts, e) : keep_few(l, &piece, e);
		p = p != NULL ? p + piece.bytes : NULL;
		at += piece.bytes;
		bytes -= piece.bytes;
	}
	return rc;
}

bool
ledger_take(struct ledger *l, const struct ledger_part *p, struct err *e)
{
	pthread_mutex_lock(&l->lock);
	struct page *page = page_of(l, p->block, true, e);
	unsigned i = p->block % PAGE_BLOCKS;
	bool free_yet = page != NULL && (page->b[i].has[0] & p->has[0]) == 0 &&
	                (page->b[i].has[1] & p->has[1]) == 0;
	if (free_yet)
		keep_in(l, page, p, e);
	else if (page != NULL)
		memset(&page->b[i], 0, sizeof page->b[i]);
	pthread_mutex_unlock(&l->lock);
	return free_yet;
}

/* Reading. */

static void
next_of_few(const struct ledger *l, uint64_t from, struct ledger_part *best)
{
	for (size_t i = 0; i < l->nzones && !is_used(best); i++)
		if (l->zones[i].part.block >= from)
			*best = l->zones[i].part;
}

static void
next_of_all(const struct ledger *l, uint64_t from, struct ledger_part *best)
{
	for (size_t k = find_page(l, from / PAGE_BLOCKS); k < l->npages; k++) {
		const struct page *page = l->pages[k];
		uint64_t first = page->number * PAGE_BLOCKS;
		unsigned i = from > first ? (unsigned)(from - first) : 0;
		for (; i < PAGE_BLOCKS; i++) {
			if ((page->b[i].has[0] | page->b[i].has[1]) == 0)
				continue;
			best->block = first + i;
			memcpy(best->has, page->b[i].has, sizeof best->has);
			memcpy(best->sum, page->b[i].sum, sizeof best->sum);
			return;
		}
	}
}

bool
ledger_next(const struct ledger *l, uint64_t from, struct ledger_part *out)
{
	*out = (struct ledger_part){ .block = 0 };
	(l->all ? next_of_all : next_of_few)(l, from, out);
	return is_used(out);
}

/* Has the part any of the sectors [from, to) of the disk? */
static bool
has_any(const struct ledger_part *p, uint64_t from, uint64_t to)
{
	uint64_t first = p->block * LEDGER_BLOCK_SECTORS;

	for (unsigned i = 0; i < LEDGER_BLOCK_SECTORS && first + i < to; i++)
		if (first + i >= from && has(p->has, i))
			return true;
	return false;
}

static bool
few_touch(const struct ledger *l, uint64_t from, uint64_t to)
{
	uint64_t zone = zone_number(from / LEDGER_BLOCK_SECTORS - l->base);
	uint64_t last = zone_number((to - 1) / LEDGER_BLOCK_SECTORS - l->base);
	size_t i = find_zone(l, zone);
	bool touch = false;

	for (; i < l->nzones && l->zones[i].number <= last; i++)
		touch |= has_any(&l->zones[i].part, from, to);
	return touch;
}

static bool
all_touch(const struct ledger *l, uint64_t from, uint64_t to)
{
	uint64_t block = from / LEDGER_BLOCK_SECTORS;
	struct ledger_part p;

	for (; block * LEDGER_BLOCK_SECTORS < to && ledger_next(l, block, &p);
	     block = p.block + 1)
		if (has_any(&p, from, to))
			return true;
	return false;
}

bool
ledger_touches(struct ledger *l, uint64_t at, uint64_t bytes)
{
	uint64_t from = at / SECTOR_BYTES;
	uint64_t to = (at + bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;

	if (bytes == 0)
		return false;
	pthread_mutex_lock(&l->lock);
	bool touches = (l->all ? all_touch : few_touch)(l, from, to);
	pthread_mutex_unlock(&l->lock);
	return touches;
}
