/* Sector tables: pieces and headers; marks that survive a flush; damage; paging; against a plain
 * array of bits. */
#include "stream/table/table.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/disk/disk.h"
#include "tests/random.h"
#include "tests/t.h"
#include "tests/unit/frozen.h"
#include "tests/tmp.h"

static const uint8_t id[TABLE_ID_BYTES] = "sixteen bytes id";

static struct piece
some_piece(void)
{
	struct piece p = { .kind = PIECE_OF_SECTORS,
		.local = true,
		.sequence = UINT64_C(0x123456789abcdef0),
		.index = UINT64_C(0xfedcba9876543210) };

	for (unsigned i = 0; i < PIECE_BITS_BYTES; i++)
		p.bits[i] = (uint8_t)draw(256);
	return p;
}

static void
pieces(void)
{
	struct piece p = some_piece(), got;
	uint8_t block[PIECE_BYTES], other[TABLE_ID_BYTES] = "another table";
	bool right = true;

	piece_put(&p, id, block);
	T_CHECK(piece_get(&got, id, block, sizeof block));
	T_CHECK(got.kind == p.kind && got.local && got.sequence == p.sequence &&
	        got.index == p.index && memcmp(got.bits, p.bits, sizeof p.bits) == 0);
	T_CHECK(!piece_get(&got, other, block, sizeof block));
	for (size_t n = 0; n < sizeof block; n++)
		right &= !piece_get(&got, id, block, n);
	T_CHECK(right); /* every truncation */
	for (size_t i = 0; i < sizeof block * 8; i++) {
		block[i / 8] ^= (uint8_t)(1 << i % 8);
		right &= !piece_get(&got, id, block, sizeof block);
		block[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	T_CHECK(right); /* every flipped bit */
	p.sequence = 0;
	piece_put(&p, id, block);
	T_CHECK(!piece_get(&got, id, block, sizeof block));
}

static struct table_header
some_header(uint64_t sectors)
{
	struct table_header h = { .sequence = 7,
		.sectors = sectors,
		.disk_bytes = (sectors + 100) * SECTOR_BYTES,
		.at_bytes = TABLE_ELSEWHERE,
		.begun = true };

	memcpy(h.id, id, sizeof h.id);
	memset(h.image, 0x42, sizeof h.image);
	memset(h.disk, 0x43, sizeof h.disk);
	return h;
}

static void
headers(void)
{
	struct table_header h = some_header(123456), got;
	uint8_t block[PIECE_BYTES];
	bool right = true;

	h.closed = true;
	table_header_put(&h, block);
	T_CHECK(table_header_get(&got, block, sizeof block));
	T_CHECK(got.closed && !got.complete && got.sequence == 7 && got.sectors == h.sectors && got.begun &&
	        got.disk_bytes == h.disk_bytes && got.at_bytes == TABLE_ELSEWHERE &&
	        memcmp(got.id, id, sizeof got.id) == 0 &&
	        memcmp(got.image, h.image, sizeof got.image) == 0 &&
	        memcmp(got.disk, h.disk, sizeof got.disk) == 0);
	for (size_t n = 0; n < sizeof block; n++)
		right &= !table_header_get(&got, block, n);
	T_CHECK(right); /* every truncation */
	for (size_t i = 0; i < sizeof block * 8; i++) {
		block[i / 8] ^= (uint8_t)(1 << i % 8);
		right &= !table_header_get(&got, block, sizeof block);
		block[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	T_CHECK(right); /* every flipped bit */
	h.sectors = UINT64_MAX / 2;
	table_header_put(&h, block);
	T_CHECK(!table_header_get(&got, block, sizeof block));
}

/* Headers with maps: one that is cut or flipped is none, nor is one whose maps lead nowhere. */

static bool
comes_back(const struct table_header *h)
{
	uint8_t block[PIECE_BYTES];
	struct table_header got;

	table_header_put(h, block);
	if (!table_header_get(&got, block, sizeof block) || got.maps.n != h->maps.n)
		return false;
	for (unsigned i = 0; i < h->maps.n; i++)
		if (got.maps.map[i].from.off != h->maps.map[i].from.off ||
		    got.maps.map[i].from.len != h->maps.map[i].from.len ||
		    got.maps.map[i].to != h->maps.map[i].to)
			return false;
	return true;
}

static void
headers_with_maps(void)
{
	struct table_header h = some_header(123456), got;
	uint8_t block[PIECE_BYTES];
	bool right = true;

	for (unsigned i = 0; i < TABLE_MAPS_MAX; i++) {
		h.maps.map[i] = (struct map){ { 1000 * i, 999 }, 2000 * i };
		h.maps.n = i + 1;
		right &= comes_back(&h);
	}
	T_CHECK(right);
	table_header_put(&h, block);
	for (size_t n = 0; n < sizeof block; n++)
		right &= !table_header_get(&got, block, n);
	T_CHECK(right); /* every truncation */
	for (size_t i = 0; i < sizeof block * 8; i++) {
		block[i / 8] ^= (uint8_t)(1 << i % 8);
		right &= !table_header_get(&got, block, sizeof block);
		block[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	T_CHECK(right); /* every flipped bit */
	h.maps.map[3].to = h.disk_bytes / SECTOR_BYTES - 999;
	T_CHECK(comes_back(&h));
	h.maps.map[3].to++;
	T_CHECK(!comes_back(&h)); /* behind the disk's end */
	h.maps.map[3].to = h.maps.map[4].to;
	T_CHECK(!comes_back(&h)); /* where another one leads */
	h.maps.map[3] = (struct map){ { 3000, 0 }, 6000 };
	T_CHECK(!comes_back(&h));
	h.maps.map[3] = (struct map){ { UINT64_MAX / SECTOR_BYTES - 998, 999 }, 6000 };
	T_CHECK(!comes_back(&h));
}

/* A header and a piece are written as they were written first, and so are a header that is closed, and one
 * with maps. */
static void
frozen(void)
{
	struct table_header h = some_header(123456);
	struct piece p = some_piece();
	struct frozen z = frozen_open("table");
	uint8_t block[PIECE_BYTES];

	for (unsigned i = 0; i < PIECE_BITS_BYTES; i++)
		p.bits[i] = (uint8_t)(i * 7);
	p.sequence = 9;
	p.index = 3;
	table_header_put(&h, block);
	T_CHECK(frozen_next(&z, block, sizeof block));
	piece_put(&p, id, block);
	T_CHECK(frozen_next(&z, block, sizeof block));
	h.closed = true;
	table_header_put(&h, block);
	T_CHECK(frozen_next(&z, block, sizeof block));
	h.maps.n = 2;
	h.maps.map[0] = (struct map){ { 0, 50000 }, 0 };
	h.maps.map[1] = (struct map){ { 50100, 40000 }, 60000 };
	table_header_put(&h, block);
	T_CHECK(frozen_next(&z, block, sizeof block));
	T_CHECK(frozen_close(&z));
}

/* Tables in files. */

enum {
	SECTORS = 1000000,
	FRAME_SECTORS = 8 * PIECE_BITS,
	FIRST_FRAME = 4, /* headers, boot area, summary */
	FRAMES_IN_MEMORY = 6,
	MEMORY_BYTES = FRAMES_IN_MEMORY * 4000,
};

static struct disk *file;
static struct table *table;
static struct rangeset stored;
static uint8_t *model;    /* a byte for each sector */
static unsigned syncs;

static int
sync_nothing(void *arg, struct err *e)
{
	(void)arg, (void)e;
	syncs++;
	return 0;
}

static struct table_config
config(void)
{
	return (struct table_config){ .on = file, .memory_bytes = MEMORY_BYTES };
}

static int
open_again(struct err *e)
{
	struct table_config cfg = config();

	table_close(table);
	table = NULL;
	return table_open(&table, &cfg, &stored, e);
}

static int
sync_fails(void *arg, struct err *e)
{
	(void)arg;
	return err_set(e, ERR_IO, "the data cannot be synced");
}

static void
mark_these(struct range r, struct err *e)
{
	if (table_is_crowded(table) && table_flush(table, true, sync_nothing, NULL, e) != 0)
		abort();
	if (table_mark(table, r, draw(2) == 0, e) != 0)
		abort();
	memset(model + r.off, 1, r.len);
}

static void
mark_some(struct err *e)
{
	struct range r = { draw(SECTORS), 0 };

	r.len = 1 + draw(draw(20) == 0 ? 40000 : 300);
	r.len = r.len < SECTORS - r.off ? r.len : SECTORS - r.off;
	mark_these(r, e);
}

/* Does the table say of each sector what the model says? */
static bool
is_right(void)
{
	uint64_t present = 0, n;
	struct err e;
	bool is;

	for (uint64_t at = 0; at < SECTORS; at += n) {
		if (table_run(table, (struct range){ at, SECTORS - at }, &is, &n, &e) != 0)
			return false;
		for (uint64_t i = at; i < at + n; i++)
			if (model[i] != is)
				return false;
		present += is ? n : 0;
	}
	return present == table_present(table);
}

/* How many sectors from r.off on, r.len at most, are in frames of which nothing is absent, as the model
 * has it? */
static uint64_t
whole_in_model(struct range r)
{
	uint64_t at = r.off;

	while (at < range_end(r)) {
		uint64_t from = at - at % FRAME_SECTORS;
		uint64_t end = from + FRAME_SECTORS < SECTORS ? from + FRAME_SECTORS : SECTORS;
		if (memchr(model + from, 0, end - from) != NULL)
			break;
		at = end < range_end(r) ? end : range_end(r);
	}
	return at - r.off;
}

/* What is answered without reading agrees with the model, from a sector of frame i on. */
static bool
whole_is_right(uint64_t i)
{
	uint64_t off = i * FRAME_SECTORS + draw(FRAME_SECTORS);
	uint64_t from = off < SECTORS ? off : SECTORS - 1;
	struct range all = { from, SECTORS - from }, some = { from, 1 + draw(SECTORS - from) };

	return table_whole_run(table, all) == whole_in_model(all) &&
	       table_whole_run(table, some) == whole_in_model(some);
}

static unsigned wholes; /* that were seen */

static bool
wholes_are_right(void)
{
	bool right = true;

	for (uint64_t i = 0; i * FRAME_SECTORS < SECTORS; i++) {
		right &= whole_is_right(i);
		wholes += table_whole_run(table, (struct range){ i * FRAME_SECTORS, 1 }) == 1;
	}
	return right;
}

static void
paging(void)
{
	struct err e;
	bool right = true;

	for (unsigned i = 0; i < 40; i++) {
		for (unsigned j = 0; j < 20; j++)
			mark_some(&e);
		right &= is_right() && wholes_are_right();
		right &= table_flush(table, true, sync_nothing, NULL, &e) == 0;
		right &= open_again(&e) == 0 && is_right() && wholes_are_right();
	}
	T_CHECK(right && wholes > 0);
	mark_these((struct range){ 3 * FRAME_SECTORS, 2 * FRAME_SECTORS }, &e);
	mark_these((struct range){ 31 * FRAME_SECTORS, SECTORS - 31 * FRAME_SECTORS }, &e);
	T_CHECK(is_right() && wholes_are_right());
	T_CHECK(table_header(table)->sequence > 40);
}

/* What is not flushed is forgotten; a flush of local marks leaves others out. */
static void
flushes(void)
{
	struct range a = { 10, 5 }, b = { 10 * FRAME_SECTORS, 5 };
	uint64_t n;
	struct err e;
	bool is;

	T_CHECK(table_mark(table, a, true, &e) == 0 && table_is_dirty(table));
	T_CHECK(open_again(&e) == 0 && table_present(table) == 0 && !table_is_dirty(table));
	T_CHECK(table_mark(table, a, true, &e) == 0 && table_mark(table, b, false, &e) == 0);
	syncs = 0;
	T_CHECK(table_flush(table, false, sync_nothing, NULL, &e) == 0 && syncs == 1);
	T_CHECK(table_is_dirty(table));
	T_CHECK(open_again(&e) == 0 && table_present(table) == 5);
	T_CHECK(table_run(table, a, &is, &n, &e) == 0 && is && n == 5);
	T_CHECK(table_run(table, b, &is, &n, &e) == 0 && !is && n == 5);
	T_CHECK(table_flush(table, true, sync_nothing, NULL, &e) == 0 && syncs == 2);
}

/* Data that may not be on the medium are not called present there. */
static void
after_the_data(void)
{
	struct range r = { 4 * FRAME_SECTORS, 100 };
	uint64_t before = table_present(table), n;
	struct err e;
	bool is;

	T_CHECK(table_mark(table, r, true, &e) == 0);
	T_CHECK(table_flush(table, true, sync_fails, NULL, &e) == -1);
	T_CHECK(open_again(&e) == 0);
	T_CHECK(table_present(table) == before);
	T_CHECK(table_run(table, r, &is, &n, &e) == 0);
	T_CHECK(!is);
}

/* A mark that would change nothing is known as such: its frame is whole, it is of a piece with local
 * data, and this was written, or the next flush writes it. */
static void
settled(void)
{
	struct range frame = { 2 * FRAME_SECTORS, FRAME_SECTORS };
	struct range piece = { frame.off + PIECE_BITS, PIECE_BITS };
	struct range next = { range_end(piece), 1 }, both = { range_end(piece) - 1, 2 };
	struct err e;

	T_CHECK(table_mark(table, piece, true, &e) == 0);
	T_CHECK(table_flush(table, true, sync_nothing, NULL, &e) == 0);
	T_CHECK(!table_is_settled(table, piece)); /* not whole */
	T_CHECK(table_mark(table, frame, false, &e) == 0);
	T_CHECK(!table_is_settled(table, piece)); /* an ordinary flush would leave it out */
	T_CHECK(table_flush(table, false, sync_nothing, NULL, &e) == 0 && table_is_dirty(table));
	T_CHECK(table_mark(table, piece, true, &e) == 0 && table_is_settled(table, piece));
	T_CHECK(table_flush(table, false, sync_nothing, NULL, &e) == 0 && !table_is_dirty(table));
	T_CHECK(table_is_settled(table, piece) && !table_is_settled(table, next));
	T_CHECK(table_mark(table, piece, true, &e) == 0 && !table_is_dirty(table));
	T_CHECK(table_mark(table, next, true, &e) == 0 && table_is_dirty(table));
	T_CHECK(table_is_settled(table, both)); /* the next flush takes it */
	T_CHECK(table_flush(table, false, sync_nothing, NULL, &e) == 0);
	T_CHECK(!table_is_dirty(table) && table_is_settled(table, both));
	T_CHECK(open_again(&e) == 0 && table_is_settled(table, both) &&
	        !table_is_settled(table, (struct range){ both.off, PIECE_BITS + 2 }));
	T_CHECK(!table_is_settled(table, (struct range){ frame.off - 1, 2 }));
}

static void
spoil(uint64_t at)
{
	uint8_t byte;

	if (pread(disk_fd(file), &byte, 1, (off_t)at) != 1)
		abort();
	byte ^= 0x10;
	if (pwrite(disk_fd(file), &byte, 1, (off_t)at) != 1)
		abort();
}

/* Piece 0 has local data, and the first piece of frame 3 has not. */
static void
damage(void)
{
	const uint64_t filled = 3 * FRAME_SECTORS;
	uint8_t boot[TABLE_BOOT_BYTES], got[TABLE_BOOT_BYTES];
	struct err e;

	memset(boot, 0x77, sizeof boot);
	T_CHECK(table_write_boot(table, boot, &e) == 0);
	T_CHECK(table_mark(table, (struct range){ 10, 5 }, true, &e) == 0);
	T_CHECK(table_mark(table, (struct range){ filled, 7 }, false, &e) == 0);
	T_CHECK(table_flush(table, true, sync_nothing, NULL, &e) == 0);
	T_CHECK(open_again(&e) == 0 && table_present(table) == 12);
	spoil((FIRST_FRAME + 3) * 4096 + 100);
	T_CHECK(open_again(&e) == 0 && table_present(table) == 5);
	T_CHECK(table_read_boot(table, got, &e) == 0 && memcmp(got, boot, sizeof got) == 0);
	spoil(FIRST_FRAME * 4096 + 100);
	T_CHECK(open_again(&e) != 0 && e.kind == ERR_FORMAT &&
	        strstr(e.text, "written locally") != NULL);
	spoil(FIRST_FRAME * 4096 + 100);
	T_CHECK(open_again(&e) == 0);
	spoil(4096); /* one of two headers */
	T_CHECK(open_again(&e) == 0);
	spoil(0);
	T_CHECK(open_again(&e) != 0 && e.kind == ERR_FORMAT);
	spoil(0);
	T_CHECK(open_again(&e) == 0);
	spoil(3 * 4096 + 40); /* the summary: every piece may have local data now */
	T_CHECK(open_again(&e) != 0);
	spoil(3 * 4096 + 40);
	T_CHECK(open_again(&e) == 0 && !table_header(table)->complete);
	memset(boot, 0x99, sizeof boot);
	T_CHECK(table_set_complete(table, boot, &e) == 0);
	T_CHECK(open_again(&e) == 0 && table_header(table)->complete && table_present(table) == 5);
	T_CHECK(memcmp(table_header(table)->disk, boot, TABLE_DISK_BYTES) == 0);
	struct table_header h;
	T_CHECK(table_clear(table, &e) == 0);
	T_CHECK(table_is_there(file, 0, &h, &e) == 1 && h.complete);
	T_CHECK(open_again(&e) != 0); /* it is not a table any more */
}

/* A piece says itself that it has local data, when a power cut came before its summary was
 * written. */
static void
summary_is_late(void)
{
	uint8_t before[4096];
	struct err e;

	if (pread(disk_fd(file), before, sizeof before, 3 * 4096) != sizeof before)
		abort();
	T_CHECK(table_mark(table, (struct range){ 10, 5 }, true, &e) == 0);
	T_CHECK(table_flush(table, true, sync_nothing, NULL, &e) == 0);
	if (pwrite(disk_fd(file), before, sizeof before, 3 * 4096) != sizeof before)
		abort();
	T_CHECK(open_again(&e) == 0 && table_present(table) == 5);
	T_CHECK(table_mark(table, (struct range){ 100, 5 }, true, &e) == 0);
	T_CHECK(table_flush(table, true, sync_nothing, NULL, &e) == 0);
	spoil(FIRST_FRAME * 4096 + 100);
	T_CHECK(open_again(&e) != 0);
}

/* A table is closed when that was said, and open again when that was. */
static void
closed(void)
{
	struct err e;

	T_CHECK(open_again(&e) == 0 && !table_header(table)->closed);
	T_CHECK(table_set_closed(table, true, &e) == 0);
	T_CHECK(open_again(&e) == 0 && table_header(table)->closed);
	T_CHECK(table_set_closed(table, true, &e) == 0);
	spoil(4096); /* one of two headers, and the other one alone says it, too */
	T_CHECK(open_again(&e) == 0 && table_header(table)->closed);
	T_CHECK(table_set_closed(table, false, &e) == 0);
	spoil(0);
	T_CHECK(open_again(&e) == 0 && !table_header(table)->closed);
}

/* Others see that a table is served, from when that was said until its file is closed. */
static void
served(void)
{
	struct table_config cfg = config();
	struct disk *other;
	struct table *look;
	struct err e;

	if (disk_open(&other, disk_name(file), DISK_READ, &e) != 0)
		abort();
	cfg.on = other;
	T_CHECK(table_open_to_look(&look, &cfg, &e) == 0 && !table_is_served(look));
	table_be_served(table);
	T_CHECK(table_is_served(look));
	table_close(table);
	table = NULL;
	disk_close(file, &e);
	file = NULL;
	T_CHECK(!table_is_served(look));
	table_close(look);
	disk_close(other, &e);
}

/* Frames that are read from the disk at the same time as others are asked for. */

static sem_t in_read, may_read;
static _Atomic unsigned reads;
static _Atomic uint64_t slow_at = UINT64_MAX; /* byte of the file; UINT64_MAX: none */
static _Atomic bool found;

static ssize_t
slow_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	ssize_t n = pread(disk_fd(ctx), buf, len, (off_t)off);

	reads++;
	if (off == slow_at) {
		slow_at = UINT64_MAX;
		sem_post(&in_read);
		sem_wait(&may_read);
	}
	return n;
}

static ssize_t
slow_pwrite(void *ctx, const void *buf, size_t len, uint64_t off)
{
	return pwrite(disk_fd(ctx), buf, len, (off_t)off);
}

/* Mark sectors of frame i so that it has too many runs to keep them. */
static void
mark_runs(uint64_t i)
{
	struct err e;

	for (uint64_t at = 100; at < 120; at += 2)
		if (table_mark(table, (struct range){ i * FRAME_SECTORS + at, 1 }, false, &e) != 0)
			abort();
	if (table_flush(table, true, sync_nothing, NULL, &e) != 0)
		abort();
}

static void *
ask_slow_frame(void *arg)
{
	struct range r = { 5 * FRAME_SECTORS + 7, 3 };
	uint64_t n;
	struct err e;
	bool is = false;

	(void)arg;
	found = table_run(table, r, &is, &n, &e) == 0 && is && n == 3;
	return NULL;
}

/* Make all that is in memory be forgotten. */
static void
ask_other_frames(void)
{
	uint64_t n;
	struct err e;
	bool is;

	for (unsigned i = 10; i < 10 + 2 * FRAMES_IN_MEMORY; i++)
		if (table_run(table, (struct range){ i * FRAME_SECTORS, 1 }, &is, &n, &e) != 0)
			abort();
}

/* While one thread reads a frame from the disk, others ask for other frames, and mark sectors of
 * this one, which are written and forgotten meanwhile: the thread must see the marks. */
static void
slow_frame(void)
{
	pthread_t thread;
	struct err e;

	mark_runs(5);
	T_CHECK(open_again(&e) == 0);
	sem_init(&in_read, 0, 0);
	sem_init(&may_read, 0, 0);
	slow_at = (FIRST_FRAME + 5) * UINT64_C(4096);
	if (pthread_create(&thread, NULL, ask_slow_frame, NULL) != 0)
		abort();
	sem_wait(&in_read);
	ask_other_frames();
	T_CHECK(table_mark(table, (struct range){ 5 * FRAME_SECTORS + 7, 3 }, true, &e) == 0);
	T_CHECK(table_flush(table, true, sync_nothing, NULL, &e) == 0);
	ask_other_frames();
	sem_post(&may_read);
	pthread_join(thread, NULL);
	T_CHECK(found);
	sem_destroy(&in_read);
	sem_destroy(&may_read);
}

/* Run a test on a table whose reads are counted, and can be slow. */
static void
with_ops(void (*test)(void))
{
	static const struct disk_ops ops = { .pread = slow_pread, .pwrite = slow_pwrite };
	struct disk *plain = file;
	struct err e;

	if (disk_open_ops(&file, "table", DISK_BLOCK, disk_size_bytes(plain), &ops, plain, &e) != 0)
		abort();
	T_CHECK(open_again(&e) == 0);
	test();
	table_close(table);
	table = NULL;
	disk_close(file, &e);
	file = plain;
}

static void
with_slow_frame(void)
{
	with_ops(slow_frame);
}

/* Ask for each frame whether its sectors are what the model says, in two passes.  Returns how many
 * reads that took. */
static unsigned
reads_of_passes(void)
{
	unsigned before = reads;

	T_CHECK(is_right() && is_right());
	return reads - before;
}

/* Frames that have few runs are read neither when they are asked nor when they are marked, however
 * many of them there are; one that has many runs is. */
static void
kept_as_runs(void)
{
	struct err e;

	for (uint64_t at = 0; at + 200 < SECTORS; at += FRAME_SECTORS) {
		if (table_is_crowded(table) &&
		    table_flush(table, true, sync_nothing, NULL, &e) != 0)
			abort();
		T_CHECK(table_mark(table, (struct range){ at + 100, 100 }, at % 2 == 0, &e) == 0);
		memset(model + at + 100, 1, 100);
	}
	T_CHECK(table_flush(table, true, sync_nothing, NULL, &e) == 0);
	T_CHECK(reads_of_passes() == 0);
	T_CHECK(open_again(&e) == 0 && reads_of_passes() == 0);
	unsigned before = reads;
	mark_runs(7);
	memset(model + 7 * FRAME_SECTORS + 100, 1, 20);
	T_CHECK(reads == before && is_right());
	for (uint64_t at = 300; at < 320; at += 2) {
		T_CHECK(table_mark(table, (struct range){ at, 1 }, false, &e) == 0);
		model[at] = 1;
	}
	T_CHECK(table_flush(table, true, sync_nothing, NULL, &e) == 0 && is_right());
	before = reads;
	for (uint64_t i = 1; i * FRAME_SECTORS < SECTORS; i++)
		if (table_mark(table, (struct range){ i * FRAME_SECTORS, 1 }, false, &e) != 0 ||
		    table_flush(table, true, sync_nothing, NULL, &e) != 0)
			abort();
		else
			model[i * FRAME_SECTORS] = 1;
	T_CHECK(reads == before);
	T_CHECK(is_right() && reads > before);
}

static void
with_kept_as_runs(void)
{
	with_ops(kept_as_runs);
}

static void
with_table(void (*test)(void), const char *path)
{
	struct table_header h = some_header(SECTORS);
	struct table_config cfg;
	struct err e;

	if (disk_open(&file, path, DISK_READ | DISK_WRITE | DISK_CREATE | DISK_TRUNC, &e) != 0 ||
	    disk_truncate(file, table_bytes(SECTORS), &e) != 0)
		abort();
	memset(model, 0, SECTORS);
	cfg = config();
	T_CHECK(table_create(&table, &cfg, &h, &stored, &e) == 0);
	T_CHECK(is_right());
	test();
	table_close(table);
	table = NULL;
	disk_close(file, &e);
	unlink(path);
}

static void
in_memory(void)
{
	struct table_header h = some_header(SECTORS);
	struct table_config cfg = { .memory_bytes = 1 << 20 };
	struct err e;

	memset(model, 0, SECTORS);
	T_CHECK(table_create(&table, &cfg, &h, &stored, &e) == 0);
	for (unsigned i = 0; i < 200; i++)
		mark_some(&e);
	T_CHECK(is_right() && !table_is_crowded(table) && !table_is_dirty(table));
	table_close(table);
	table = NULL;
	cfg.memory_bytes = 4000;
	T_CHECK(table_create(&table, &cfg, &h, &stored, &e) != 0 && e.kind == ERR_NOMEM);
}

/* 16 TB are described with little memory. */
static void
sixteen_terabytes(const char *path)
{
	struct table_header h = some_header(UINT64_C(16000000000000) / SECTOR_BYTES);
	struct table_config cfg;
	struct range last = { h.sectors - 3, 3 };
	struct rangeset end;
	uint64_t n;
	struct err e;
	bool is = false;

	rangeset_init(&end);
	rangeset_add(&end, last, &e);
	rangeset_seal(&end);
	if (disk_open(&file, path, DISK_READ | DISK_WRITE | DISK_CREATE | DISK_TRUNC, &e) != 0)
		abort();
	if (disk_truncate(file, table_bytes(h.sectors), &e) == 0) {
		cfg = (struct table_config){ .on = file, .memory_bytes = TABLE_MEMORY_BYTES };
		T_CHECK(table_create(&table, &cfg, &h, &end, &e) == 0);
		T_CHECK(table_mark(table, last, true, &e) == 0);
		T_CHECK(table_run(table, last, &is, &n, &e) == 0 && is && n == 3);
		T_CHECK(table_flush(table, false, sync_nothing, NULL, &e) == 0);
		table_close(table);
		table = NULL;
	}
	rangeset_free(&end);
	disk_close(file, &e);
	unlink(path);
}

int
main(void)
{
	char folder[200], path[220];
	struct err e;

	if (!tmp_folder(folder, sizeof folder, "table"))
		return 1;
	snprintf(path, sizeof path, "%s/table", folder);
	model = calloc(SECTORS, 1);
	rangeset_init(&stored);
	rangeset_add(&stored, (struct range){ 0, SECTORS }, &e);
	rangeset_seal(&stored);
	pieces();
	headers();
	headers_with_maps();
	frozen();
	with_table(paging, path);
	with_table(flushes, path);
	with_table(damage, path);
	with_table(summary_is_late, path);
	with_table(closed, path);
	with_table(served, path);
	with_table(after_the_data, path);
	with_table(settled, path);
	with_table(with_slow_frame, path);
	with_table(with_kept_as_runs, path);
	in_memory();
	sixteen_terabytes(path);
	rangeset_free(&stored);
	free(model);
	rmdir(folder);
	return t_done();
}
