/* What was written where last is remembered, and found again, or not, on a disk: sectors in any
 * order, written twice, zeros, a short end; a disk that wraps round; and the records of a
 * state. */
#include "imageunzip/install/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "imageunzip/install/recheck.h"
#include "imageunzip/install/state_log.h"
#include "tests/random.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { DISK_BYTES = 8 << 20, PIECES = 400, PIECE_MAX = 300 };

static uint8_t bytes[DISK_BYTES], data[PIECE_MAX * SECTOR_BYTES];
static struct mem m;
static struct disk *d;
static struct err e;

static void
begin(struct ledger **l, bool all)
{
	memset(bytes, 0x77, sizeof bytes);
	m = mem_of(bytes, sizeof bytes);
	d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ledger_new(l, d, all, 0, &e) == 0);
}

static void
end(struct ledger *l)
{
	ledger_free(l);
	disk_close(d, &e);
}

/* Note, and write, so many sectors of chance, or zeros. */
static void
put(struct ledger *l, uint64_t sector, unsigned n, bool zeros, struct ledger_parts *parts)
{
	for (unsigned i = 0; i < n * SECTOR_BYTES; i++)
		data[i] = zeros ? 0 : (uint8_t)draw(256);
	T_CHECK(ledger_note(l, LEDGER_DATA, sector * SECTOR_BYTES, zeros ? NULL : data,
		    (uint64_t)n * SECTOR_BYTES, parts, &e) == 0);
	T_CHECK(disk_write(d, data, n * SECTOR_BYTES, sector * SECTOR_BYTES, &e) == 0);
}

static uint64_t
bad(struct ledger *l)
{
	struct recheck k;

	T_CHECK(recheck_all(l, d, &k, &e) == 0);
	uint64_t n = rangeset_total(&k.bad);
	recheck_free(&k);
	return n;
}

/* What ends within a sector leaves the rest of the sector as it is, and that may be cut off. */
static void
test_short_end(bool all, bool zeros)
{
	struct ledger *l;

	begin(&l, all);
	for (unsigned i = 0; i < 700; i++)
		data[i] = zeros ? 0 : (uint8_t)draw(256);
	T_CHECK(ledger_note(l, LEDGER_DATA, 5 * SECTOR_BYTES, data, 700, NULL, &e) == 0);
	T_CHECK(disk_write(d, data, 700, 5 * SECTOR_BYTES, &e) == 0);
	T_CHECK(bad(l) == 0);
	memset(bytes + 5 * SECTOR_BYTES + 700, 0, SECTOR_BYTES);
	T_CHECK(bad(l) == 0);
	bytes[5 * SECTOR_BYTES + 699] ^= 1;
	T_CHECK(bad(l) != 0);
	end(l);
}

/* Pieces that overlap one another anyhow; then each byte that was written counts. */
static void
test_all(void)
{
	struct ledger *l;
	unsigned missed = 0, wrong = 0;

	begin(&l, true);
	for (unsigned i = 0; i < PIECES; i++) {
		unsigned n = 1 + (unsigned)draw(PIECE_MAX);
		put(l, draw(DISK_BYTES / SECTOR_BYTES - n), n, draw(4) == 0, NULL);
	}
	T_CHECK(bad(l) == 0);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t at = draw(DISK_BYTES);
		bool noted = ledger_touches(l, at, 1);
		bytes[at] ^= 1;
		missed += noted && bad(l) == 0;
		wrong += !noted && bad(l) != 0;
		bytes[at] ^= 1;
	}
	T_CHECK(missed == 0);
	T_CHECK(wrong == 0);
	end(l);
}

static void
test_moved(void)
{
	struct ledger *l;
	uint8_t one[SECTOR_BYTES];

	begin(&l, true);
	put(l, 10, 20, false, NULL);
	memcpy(one, bytes + 12 * SECTOR_BYTES, SECTOR_BYTES);
	memcpy(bytes + 12 * SECTOR_BYTES, bytes + 13 * SECTOR_BYTES, SECTOR_BYTES);
	memcpy(bytes + 13 * SECTOR_BYTES, one, SECTOR_BYTES);
	T_CHECK(bad(l) == 20);
	end(l);
}

/* Filled free space counts only where there is data. */
static void
test_fill(void)
{
	struct ledger *l;

	begin(&l, true);
	put(l, 0, 4, false, NULL);
	memset(data, 3, sizeof data);
	for (unsigned at = 0; at < 2; at++)
		T_CHECK(ledger_note(l, LEDGER_FILL, 2 * SECTOR_BYTES + at * (1 << 20),
			    data, 4 * SECTOR_BYTES, NULL, &e) == 0);
	memset(bytes + 2 * SECTOR_BYTES, 3, 4 * SECTOR_BYTES);
	T_CHECK(bad(l) == 0);
	T_CHECK(ledger_touches(l, 5 * SECTOR_BYTES, 1));
	T_CHECK(!ledger_touches(l, 6 * SECTOR_BYTES, 1));
	T_CHECK(!ledger_touches(l, 1 << 20, 1 << 20));
	end(l);
}

/* Of what is written to a zone a block at random is found to be wrong, another one in another
 * run, so all of it surely; never one of zeros, which lie in front here. */
static void
test_few(void)
{
	unsigned all = 0, half = 0, runs = 40;

	for (unsigned run = 0; run < runs; run++) {
		struct ledger *l;
		begin(&l, false);
		memset(data, 0, sizeof data);
		for (uint64_t i = 0; i < 32; i++)
			T_CHECK(ledger_note(l, LEDGER_DATA, i * LEDGER_BLOCK_BYTES, data,
				    SECTOR_BYTES, NULL, &e) == 0);
		for (unsigned i = 32; i < 64; i++)
			put(l, i * LEDGER_BLOCK_SECTORS, 100, false, NULL);
		T_CHECK(bad(l) == 0);
		memset(bytes, 0, 48 * LEDGER_BLOCK_BYTES);
		half += bad(l) > 0;
		memset(bytes, 0, 64 * LEDGER_BLOCK_BYTES);
		all += bad(l) > 0;
		end(l);
	}
	T_CHECK(all == runs);
	T_CHECK(half > runs / 4);
	T_CHECK(half < runs);
}

/* Each zone of the first GiB has its block: what is lost of one is found. */
static void
test_zones(void)
{
	enum { ZONE_BYTES = 16 << 20, ZONES = 5 };
	struct ledger *l;
	struct ledger_part p;
	unsigned n = 0;
	uint64_t from = 0;

	begin(&l, false);
	for (unsigned i = 0; i < SECTOR_BYTES; i++)
		data[i] = 1;
	for (uint64_t at = 0; at < ZONES * (uint64_t)ZONE_BYTES; at += 1 << 20)
		T_CHECK(ledger_note(l, LEDGER_DATA, at, data, SECTOR_BYTES, NULL, &e) == 0);
	for (; ledger_next(l, from, &p); n++, from = p.block + 1)
		T_CHECK(p.block * LEDGER_BLOCK_BYTES / ZONE_BYTES == n);
	T_CHECK(n == ZONES);
	end(l);
}

static void
test_wrap(void)
{
	struct ledger *l;
	struct recheck k;

	begin(&l, true);
	put(l, 200, 100, false, NULL);
	put(l, 200 + (3 << 11), 100, false, NULL);
	memcpy(bytes + 200 * SECTOR_BYTES, bytes + (200 + (3 << 11)) * SECTOR_BYTES,
	    100 * SECTOR_BYTES);
	T_CHECK(recheck_all(l, d, &k, &e) == 0);
	recheck_find_wrap(d, &k);
	T_CHECK(k.wraps == 3 << 11);
	T_CHECK(recheck_fail(&k, d, &e) == -1);
	T_CHECK(strstr(e.text, "sector 200 ") != NULL);
	T_CHECK(strstr(e.text, "wrap round") != NULL);
	recheck_free(&k);
	end(l);
}

/* What one run has noted is known to the next one, and a log that is cut is shorter. */
static void
test_log(void)
{
	struct ledger_parts parts = { .n = 0 };
	struct state_log log = { .n = 0 };
	struct state_record r;
	struct ledger_part p;
	struct ledger *l, *again;
	size_t at = 0, whole = 0;

	begin(&l, true);
	put(l, 100, 300, false, &parts);
	T_CHECK(parts.n == 4);
	T_CHECK(state_log_add(&log, 7, &parts, &e) == 0);
	T_CHECK(state_log_add(&log, 8, &parts, &e) == 0);
	for (size_t n = 0; n < log.n; n++) {
		struct state_log cut = { log.bytes, n };
		for (at = 0; state_log_next(&cut, &at, &r);)
			whole++;
	}
	T_CHECK(whole == log.n / 2);
	at = 0;
	T_CHECK(state_log_next(&log, &at, &r));
	T_CHECK(r.chunk == 7);
	T_CHECK(ledger_new(&again, d, true, 0, &e) == 0);
	while (state_record_part(&r, &p))
		T_CHECK(ledger_take(again, &p, &e));
	T_CHECK(bad(again) == 0);
	bytes[399 * SECTOR_BYTES] ^= 1;
	T_CHECK(bad(again) > 0);
	T_CHECK(!ledger_take(again, &parts.p[0], &e));
	log.bytes[20] ^= 1;
	at = 0;
	T_CHECK(!state_log_next(&log, &at, &r));
	state_log_free(&log);
	free(parts.p);
	ledger_free(again);
	end(l);
}

int
main(void)
{
	draw_seed = 1;
	test_all();
	test_short_end(true, true);
	test_short_end(true, false);
	test_short_end(false, false);
	test_moved();
	test_fill();
	test_few();
	test_zones();
	test_wrap();
	test_log();
	return t_done();
}
