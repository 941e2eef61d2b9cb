/* table.c: opens and makes sector tables, reads and sets their bits.  The engine of a streaming
 * disk (stream/disk) calls this: opening and making in one thread, the rest in any. */
#include "stream/table/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random_bytes.h"
#include "stream/table/table_impl.h"

static uint64_t
divide_up(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

/* Frames of sectors for this many sectors; a table has one at least. */
static uint64_t
frames_for(uint64_t sectors)
{
	return sectors > 0 ? divide_up(sectors, FRAME_SECTORS) : 1;
}

static uint64_t
summary_for(uint64_t nframes)
{
	return divide_up(nframes * FRAME_PIECES, FRAME_SECTORS);
}

uint64_t
table_bytes(uint64_t sectors)
{
	uint64_t n = frames_for(sectors);

	return (SUMMARY_FRAME + summary_for(n) + n) * FRAME_BYTES;
}

/* How many frames fit into this memory, beside what is in memory of all frames?  Half of it is for
 * frames in any case. */
static uint64_t
frames_in(const struct table *t, uint64_t memory_bytes)
{
	uint64_t others = t->nruns * sizeof *t->runs + t->nframes * sizeof *t->counts +
	                  t->nsummary * FRAME_BITS_BYTES;
	uint64_t most = memory_bytes / 2 > others ? memory_bytes - others : memory_bytes / 2;

	return most / sizeof(struct frame);
}

/* Decide what is in memory. */
static void
divide_memory(struct table *t, uint64_t memory_bytes)
{
	uint64_t most = memory_bytes / sizeof(struct frame);

	if (t->on != NULL) {
		uint64_t runs = memory_bytes / 4 / sizeof *t->runs;
		t->nruns = runs < t->nframes ? runs : t->nframes;
		most = frames_in(t, memory_bytes);
	}
	t->max = (uint32_t)(most < t->nframes ? most : t->nframes);
}

int
table_check_room(const struct table_config *cfg, uint64_t sectors, struct err *e)
{
	struct range place = { cfg->at_bytes, table_bytes(sectors) };
	uint64_t nframes = frames_for(sectors);

	if (cfg->on != NULL && !range_within(place, disk_size_bytes(cfg->on)))
		return err_set(e, ERR_USAGE,
		    "%s: has no room for the sector table, which needs %" PRIu64 " bytes",
		    disk_name(cfg->on), place.len);
	if (cfg->on == NULL && nframes > cfg->memory_bytes / sizeof(struct frame))
		return err_set(e, ERR_NOMEM,
		    "the sector table needs %" PRIu64 " bytes of memory, and may have %" PRIu64
		    ": name a file or a device for it instead",
		    nframes * sizeof(struct frame), cfg->memory_bytes);
	return 0;
}

/* Allocate the part that is in memory. */
static int
make_room(struct table *t, struct err *e)
{
	uint64_t seed;

	random_bytes(&seed, sizeof seed);
	t->frames = t->marks != NULL ? marks_room(t->marks, t->max, e)
	                             : calloc(t->max, sizeof *t->frames);
	if (t->marks != NULL && t->frames == NULL)
		return -1;
	t->counts = calloc(t->nframes, sizeof *t->counts);
	t->runs = calloc(t->nruns + 1, sizeof *t->runs);
	t->summary = calloc(t->nsummary, FRAME_BITS_BYTES);
	t->summary_dirty = calloc(t->nsummary, sizeof *t->summary_dirty);
	if (t->frames == NULL || t->counts == NULL || t->runs == NULL || t->summary == NULL ||
	    t->summary_dirty == NULL || lru_init(&t->recent, t->max, seed) != 0)
		return err_nomem(e, "the sector table");
	return 0;
}

static struct table *
new_table(const struct table_config *cfg, const struct table_header *h, struct err *e)
{
	if (table_check_room(cfg, h->sectors, e) != 0)
		return NULL;
	struct table *t = calloc(1, sizeof *t);
	if (t == NULL) {
		err_nomem(e, "the sector table");
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	t->on = cfg->on;
	t->marks = cfg->marks;
	t->at_bytes = cfg->at_bytes;
	t->header = *h;
	t->header_sequence = h->sequence;
	t->nframes = frames_for(h->sectors);
	t->nsummary = summary_for(t->nframes);
	divide_memory(t, cfg->memory_bytes);
	if (make_room(t, e) == 0)
		return t;
	table_close(t);
	return NULL;
}

void
table_close(struct table *t)
{
	if (t == NULL)
		return;
	lru_fini(&t->recent);
	pthread_mutex_destroy(&t->lock);
	if (t->marks == NULL)
		free(t->frames);
	free(t->counts);
	free(t->runs);
	free(t->summary);
	free(t->summary_dirty);
	free(t);
}

/* Write one frame's worth of bytes. */
static int
write_block(struct table *t, uint64_t frame, const void *bytes, size_t n, struct err *e)
{
	uint8_t *block = frames_buffer(1);

	if (block == NULL)
		return err_nomem(e, "a part of the sector table");
	memset(block, 0, FRAME_BYTES);
	if (n > 0)
		memcpy(block, bytes, n);
	int rc = disk_write(t->on, block, FRAME_BYTES, frame_place(t, frame), e);
	free(block);
	return rc;
}

/* Write both headers and flush them.  The second is written when the first is on the medium, so
 * that one of them is whole at any time. */
static int
write_headers(struct table *t, struct err *e)
{
	uint8_t h[PIECE_BYTES];

	table_header_put(&t->header, h);
	t->header_sequence = t->header.sequence;
	for (unsigned i = 0; i < HEADER_FRAMES; i++)
		if (write_block(t, i, h, sizeof h, e) != 0 || disk_sync(t->on, e) != 0)
			return -1;
	return 0;
}

/* Write a summary without local data. */
static int
write_first(struct table *t, struct err *e)
{
	uint8_t *block = frames_buffer(1);
	int rc = 0;

	if (block == NULL)
		return err_nomem(e, "the sector table");
	for (uint64_t i = 0; rc == 0 && i < t->nsummary; i++) {
		summary_encode(t, i, block);
		rc = disk_write(
		    t->on, block, FRAME_BYTES, frame_place(t, SUMMARY_FRAME + i), e);
	}
	free(block);
	if (rc != 0 || write_block(t, BOOT_FRAME, NULL, 0, e) != 0 || disk_sync(t->on, e) != 0)
		return -1;
	return write_headers(t, e);
}

int
table_create(struct table **out, const struct table_config *cfg,
    const struct table_header *header, const struct rangeset *stored, struct err *e)
{
	struct table_header h = *header;

	h.sequence = 1;
	struct table *t = new_table(cfg, &h, e);
	if (t == NULL)
		return -1;
	if (t->on != NULL && write_first(t, e) != 0) {
		table_close(t);
		return -1;
	}
	frame_counts_begin(t, stored);
	frame_runs_empty_all(t);
	*out = t;
	return 0;
}

int
table_is_there(struct disk *d, uint64_t at_bytes, struct table_header *h, struct err *e)
{
	uint8_t *block = frames_buffer(1);
	struct table_header got;
	bool found = false;
	ssize_t n = 0;

	if (block == NULL)
		return err_nomem(e, "the sector table");
	for (unsigned i = 0; n >= 0 && i < HEADER_FRAMES; i++) {
		n = disk_read_upto(d, block, FRAME_BYTES, at_bytes + i * FRAME_BYTES, e);
		if (n < PIECE_BYTES || !table_header_get(&got, block, PIECE_BYTES))
			continue;
		if (!found || got.sequence > h->sequence || (got.begun && !h->begun))
			*h = got;
		found = true;
	}
	free(block);
	return n < 0 ? -1 : found;
}

/* Count the bits of a frame that is on the disk, and look whether it is whole.  A piece that has
 * local data says so itself, and the summary may not know it yet. */
static int
scan_frame(struct table *t, uint64_t number, const struct rangeset *stored,
    const uint8_t *block, struct err *e)
{
	struct frame f = { .number = 0 };

	if (frame_decode(t, &f, number, block, e) != 0)
		return -1;
	t->present += frame_counts_read(t, &f, stored);
	frame_runs_keep(t, &f);
	summary_note(t, number, f.local);
	return 0;
}

enum { SCAN_FRAMES = 256 };

/* Read the frames [from, to), at most SCAN_FRAMES, that concern `stored`. */
static int
scan_some(struct table *t, uint64_t from, uint64_t to, const struct rangeset *stored,
    uint8_t *blocks, struct err *e)
{
	struct range all = { from * FRAME_SECTORS, (to - from) * FRAME_SECTORS };
	uint64_t at = frame_place(t, frame_of_sectors(t, from));

	if (!rangeset_touches(stored, all))
		return 0;
	if (disk_read(t->on, blocks, (to - from) * FRAME_BYTES, at, e) != 0)
		return -1;
	for (uint64_t i = from; i < to; i++)
		if (scan_frame(t, i, stored, blocks + (i - from) * FRAME_BYTES, e) != 0)
			return -1;
	return 0;
}

static int
read_summary(struct table *t, uint8_t *block, struct err *e)
{
	for (uint64_t i = 0; i < t->nsummary; i++) {
		uint64_t at = frame_place(t, SUMMARY_FRAME + i);
		if (disk_read(t->on, block, FRAME_BYTES, at, e) != 0)
			return -1;
		summary_decode(t, i, block);
	}
	return 0;
}

static int
scan(struct table *t, const struct rangeset *stored, struct err *e)
{
	uint8_t *blocks = frames_buffer(SCAN_FRAMES);
	int rc = blocks == NULL ? err_nomem(e, "the sector table") : read_summary(t, blocks, e);

	frame_counts_begin(t, stored);
	for (uint64_t from = 0, to; rc == 0 && from < t->nframes; from = to) {
		to = from + SCAN_FRAMES < t->nframes ? from + SCAN_FRAMES : t->nframes;
		rc = scan_some(t, from, to, stored, blocks, e);
	}
	if (rc == 0 && summary_write(t, blocks, e) < 0)
		rc = -1;
	free(blocks);
	return rc;
}

/* A table with the header that is on the disk; nothing else is read. */
static int
open_header(struct table **out, const struct table_config *cfg, struct err *e)
{
	struct table_header h = { .sequence = 0 };
	int there = table_is_there(cfg->on, cfg->at_bytes, &h, e);

	if (there < 0)
		return -1;
	if (there == 0)
		return err_set(e, ERR_FORMAT, "%s: no sector table begins at byte %" PRIu64,
		    disk_name(cfg->on), cfg->at_bytes);
	*out = new_table(cfg, &h, e);
	return *out != NULL ? 0 : -1;
}

int
table_open(struct table **out, const struct table_config *cfg,
    const struct rangeset *stored, struct err *e)
{
	struct table *t;

	if (open_header(&t, cfg, e) != 0)
		return -1;
	if (scan(t, stored, e) != 0) {
		table_close(t);
		return -1;
	}
	*out = t;
	return 0;
}

int
table_open_to_look(struct table **out, const struct table_config *cfg, struct err *e)
{
	uint8_t *block = frames_buffer(1);
	struct table *t = NULL;

	if (block == NULL)
		return err_nomem(e, "the sector table");
	int rc = open_header(&t, cfg, e);
	if (rc == 0)
		rc = read_summary(t, block, e);
	free(block);
	if (rc == 0)
		*out = t;
	else
		table_close(t);
	return rc;
}

const struct table_header *
table_header(const struct table *t)
{
	return &t->header;
}

int
table_check_marks(const struct table *t, struct err *e)
{
	struct table_header on_disk = t->header;

	on_disk.sequence = t->header_sequence;
	return marks_check(t->marks, &on_disk, e);
}

int
table_serve_marks(struct table *t, struct err *e)
{
	struct marks_head h = { .sequence = t->header_sequence, .frames = t->nframes };

	if (t->marks == NULL)
		return 0;
	memcpy(h.id, t->header.id, sizeof h.id);
	return marks_serve(t->marks, &h, e);
}

static int
write_changed_headers(struct table *t, struct err *e)
{
	if (t->on == NULL)
		return 0;
	t->header.sequence++;
	return write_headers(t, e);
}

int
table_set_begun(struct table *t, struct err *e)
{
	t->header.begun = true;
	return write_changed_headers(t, e);
}

int
table_set_closed(struct table *t, bool closed, struct err *e)
{
	if (t->header.closed == closed)
		return 0;
	t->header.closed = closed;
	return write_changed_headers(t, e);
}

int
table_leave_marks(struct table *t, struct err *e)
{
	return write_changed_headers(t, e);
}

int
table_set_complete(struct table *t, const uint8_t disk[TABLE_DISK_BYTES], struct err *e)
{
	t->header.complete = true;
	memcpy(t->header.disk, disk, TABLE_DISK_BYTES);
	return write_changed_headers(t, e);
}

int
table_clear(struct table *t, struct err *e)
{
	uint64_t headers = (uint64_t)HEADER_FRAMES * FRAME_BYTES;

	if (t->on == NULL)
		return 0;
	return disk_zero(t->on, t->at_bytes + headers,
	    table_bytes(t->header.sectors) - headers, e);
}

int
table_read_boot(struct table *t, void *buf, struct err *e)
{
	uint8_t *block;

	if (t->on == NULL) {
		memcpy(buf, t->boot, TABLE_BOOT_BYTES);
		return 0;
	}
	block = frames_buffer(1);
	if (block == NULL)
		return err_nomem(e, "a part of the sector table");
	int rc = disk_read(t->on, block, FRAME_BYTES, frame_place(t, BOOT_FRAME), e);
	if (rc == 0)
		memcpy(buf, block, TABLE_BOOT_BYTES);
	free(block);
	return rc;
}

int
table_write_boot(struct table *t, const void *buf, struct err *e)
{
	if (t->on != NULL)
		return write_block(t, BOOT_FRAME, buf, TABLE_BOOT_BYTES, e);
	memcpy(t->boot, buf, TABLE_BOOT_BYTES);
	return 0;
}

int
table_sync(struct table *t, struct err *e)
{
	return t->on != NULL ? disk_sync(t->on, e) : 0;
}

/* Are the 64 bits from `at` on, a multiple of 8, all like this? */
static bool
word_is(const uint8_t *bits, uint64_t at, bool set)
{
	uint64_t word;

	memcpy(&word, bits + at / 8, sizeof word);
	return word == (set ? UINT64_MAX : 0);
}

uint64_t
table_same_bits(const uint8_t *bits, uint64_t at, uint64_t most)
{
	bool first = bit_is_set(bits, at);
	uint64_t n = 0;

	while (n < most && bit_is_set(bits, at + n) == first) {
		n++;
		while ((at + n) % 8 == 0 && most - n >= 64 && word_is(bits, at + n, first))
			n += 64;
	}
	return n;
}

/* Of a frame of which the runs alone are in memory, these are asked: frames whose runs are not
 * kept need the room that reading this one would take. */
static int
run_with_lock(struct table *t, struct range r, bool *present, uint64_t *n, struct err *e)
{
	uint64_t number = r.off / FRAME_SECTORS, in = r.off % FRAME_SECTORS;
	struct frame *f = frame_find(t, number);
	const struct frame_runs *o = f == NULL ? frame_runs_find(t, number) : NULL;

	if (o != NULL) {
		*present = frame_runs_bit(o, in, r.len, n);
		return 0;
	}
	if (f == NULL)
		f = frame_get(t, number, e);
	if (f == NULL)
		return -1;
	*present = bit_is_set(f->bits, in);
	*n = table_same_bits(f->bits, in, r.len);
	return 0;
}

int
table_run(struct table *t, struct range r, bool *present, uint64_t *n, struct err *e)
{
	uint64_t left = FRAME_SECTORS - r.off % FRAME_SECTORS;
	struct range some = { r.off, r.len < left ? r.len : left };

	*present = true;
	*n = some.len;
	if (table_whole_run(t, some) == some.len)
		return 0;
	pthread_mutex_lock(&t->lock);
	int rc = run_with_lock(t, some, present, n, e);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

/* How many bits from `in` on, `most` at most, are of one piece. */
static uint64_t
left_of_piece(uint64_t in, uint64_t most)
{
	uint64_t left = PIECE_BITS - in % PIECE_BITS;

	return left < most ? left : most;
}

int
table_untouched(struct table *t, struct range r, bool *untouched, uint64_t *n, struct err *e)
{
	uint64_t in = r.off % FRAME_SECTORS;

	pthread_mutex_lock(&t->lock);
	struct frame *f = frame_get(t, r.off / FRAME_SECTORS, e);
	if (f != NULL) {
		bool local = f->local >> (in / PIECE_BITS) & 1;
		*n = left_of_piece(in, r.len);
		*untouched = !local || !bit_is_set(f->bits, in);
		if (local)
			*n = table_same_bits(f->bits, in, *n);
	}
	pthread_mutex_unlock(&t->lock);
	return f != NULL ? 0 : -1;
}

/* Set the bits [in, in + n) of a frame.  Returns how many were not set before. */
static uint64_t
set_bits(struct table *t, struct frame *f, uint64_t in, uint64_t n, bool local)
{
	uint64_t changed = 0;

	for (uint64_t i = in; i < in + n; i++) {
		if (bit_is_set(f->bits, i))
			continue;
		bit_set(f->bits, i);
		changed++;
	}
	t->present += changed;
	if (changed > 0)
		frame_dirty(t, f, local);
	return changed;
}

/* Note that there is local data among these bits.  The bits may have been set before, by what was
 * fetched, and not be written yet: they are then as urgent as those of local data. */
static void
set_local(struct table *t, struct frame *f, uint64_t in, uint64_t n)
{
	f->dirty_local |= f->dirty;
	for (uint64_t piece = in / PIECE_BITS; piece <= (in + n - 1) / PIECE_BITS; piece++) {
		if (f->local >> piece & 1)
			continue;
		f->local |= (uint8_t)(1 << piece);
		frame_dirty(t, f, true);
	}
}

int
table_mark(struct table *t, struct range r, bool local, struct err *e)
{
	struct frame *f = NULL;

	pthread_mutex_lock(&t->lock);
	for (uint64_t n; r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
		uint64_t in = r.off % FRAME_SECTORS;
		n = r.len < FRAME_SECTORS - in ? r.len : FRAME_SECTORS - in;
		f = frame_get(t, r.off / FRAME_SECTORS, e);
		if (f == NULL)
			break;
		uint64_t changed = set_bits(t, f, in, n, local);
		if (local)
			set_local(t, f, in, n);
		frame_counts_changed(t, f, changed);
	}
	pthread_mutex_unlock(&t->lock);
	return r.len == 0 ? 0 : -1;
}

uint64_t
table_present(const struct table *t)
{
	return atomic_load(&t->present);
}

bool
table_is_crowded(const struct table *t)
{
	return t->on != NULL && atomic_load(&t->ndirty) > t->max / 2 && t->max < t->nframes;
}

bool
table_is_dirty(const struct table *t)
{
	return t->on != NULL && atomic_load(&t->ndirty) > 0;
}
