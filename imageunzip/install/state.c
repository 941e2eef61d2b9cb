/* state.c: reads and writes the two state slots. resume.c calls this in the threads that
 * feed, write and end the installation; a lock guards what is noted. Both slots have the
 * same length, and each has
 *
 *	0 "NDZSTATE", version 2, CRC-32, sequence (common/base/slots.h),
 *	24 UUID, 40 u32 chunks of the image, 44 u32 0,
 *	48 u64 bytes of the target, 56 install id[16], 72 u64 end_bytes,
 *	80 short_end, 88 covered_end, 96 bytes_covered, 104 digest of chunk 0 [32],
 *	136 bitmap, zeros up to a multiple of 4096
 *
 * All little-endian. The slot with the higher sequence counts. A file can have digests
 * behind both slots (state_log.h).
 */
#include "imageunzip/install/state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/clock.h"
#include "common/base/field.h"
#include "common/base/slots.h"
#include "imageunzip/install/state_log.h"

enum {
	NCHUNKS_AT = 40,
	ID_AT = 56,
	BITMAP_AT = 136,
	UNIT = 4096,
	LOG_BYTES_MAX = 1 << 30, /* a larger file is no state */
};

static const uint8_t unknown[EXT_DIGEST_BYTES];

static uint32_t
checksum(const void *bytes, size_t n)
{
	return (uint32_t)crc32_z(0, bytes, n);
}

static const struct slots kind = { "NDZSTATE", 2, checksum };

/* What a slot says. */
struct slot {
	uint64_t sequence; /* 0: nothing */
	struct state_of of;
	uint8_t install_id[BOOT_AREA_ID_BYTES];
	struct state_sums sums;
	uint8_t *done; /* bitmap of of.nchunks */
};

struct state {
	struct disk *file;
	bool in_target;  /* the disk is borrowed */
	bool ours;       /* this run made the file, and did not remove it */
	bool placed;     /* the slots have a place; always true for a file */
	uint64_t at;     /* where the slots begin */
	struct slot now; /* as the newer slot has it */
	pthread_mutex_t lock, flushing;
	uint8_t *noted; /* bitmap, including chunks that are not flushed yet */
	uint64_t noted_bytes; /* bytes that these chunks answer for */
	struct state_log log;  /* digests that are not in the file yet */
	struct state_log kept; /* those of earlier runs */
	uint64_t log_at;       /* where the log ends in the file */
	bool news;
	uint64_t flushed_us;
};

static size_t
bitmap_bytes(const struct slot *s)
{
	return ((size_t)s->of.nchunks + 7) / 8;
}

static size_t
slot_bytes(const struct slot *s)
{
	return (BITMAP_AT + bitmap_bytes(s) + UNIT - 1) / UNIT * UNIT;
}

/* Decode block[len]; false: it is no whole slot. The caller frees the slot's bitmap. */
static bool
get_slot(struct slot *to, const uint8_t *block, size_t len)
{
	struct rd r;

	if (!slot_get(&kind, block, len, &to->sequence, &r))
		return false;
	rd_copy(&r, to->of.uuid, sizeof to->of.uuid);
	to->of.nchunks = rd_le32(&r);
	rd_skip(&r, 4);
	to->of.target_bytes = rd_le64(&r);
	rd_copy(&r, to->install_id, sizeof to->install_id);
	to->sums.end_bytes = rd_le64(&r);
	to->sums.short_end = rd_le64(&r);
	to->sums.covered_end = rd_le64(&r);
	to->sums.bytes_covered = rd_le64(&r);
	rd_copy(&r, to->of.digest, sizeof to->of.digest);
	if (!rd_ok(&r) || slot_bytes(to) != len)
		return false;
	to->done = malloc(bitmap_bytes(to) + 1);
	if (to->done == NULL)
		return false;
	rd_copy(&r, to->done, bitmap_bytes(to));
	return true;
}

static void
put_slot(const struct slot *from, uint8_t *block)
{
	size_t len = slot_bytes(from);
	struct wr w = slot_body(block, len);

	wr_bytes(&w, from->of.uuid, sizeof from->of.uuid);
	wr_le32(&w, from->of.nchunks);
	wr_le32(&w, 0);
	wr_le64(&w, from->of.target_bytes);
	wr_bytes(&w, from->install_id, sizeof from->install_id);
	wr_le64(&w, from->sums.end_bytes);
	wr_le64(&w, from->sums.short_end);
	wr_le64(&w, from->sums.covered_end);
	wr_le64(&w, from->sums.bytes_covered);
	wr_bytes(&w, from->of.digest, sizeof from->of.digest);
	wr_bytes(&w, from->done, bitmap_bytes(from));
	slot_put(&kind, block, len, &w, from->sequence);
}

/* Take the newer valid slot of the two in file[bytes]. */
static int
read_slots(struct state *s, const uint8_t *file, size_t bytes, struct err *e)
{
	size_t half = bytes / 2;

	for (unsigned i = 0; i < 2; i++) {
		struct slot got = { 0 };
		if (!get_slot(&got, file + i * half, half))
			continue;
		if (got.sequence > s->now.sequence) {
			free(s->now.done);
			s->now = got;
		} else {
			free(got.done);
		}
	}
	/* A file that has its length but holds nothing yet counts as empty. */
	if (s->now.sequence == 0 &&
	    (file[0] != 0 || memcmp(file, file + 1, bytes - 1) != 0))
		return err_set(e, ERR_FORMAT,
		    "%s: is not the state of an installation, or is damaged",
		    disk_name(s->file));
	return 0;
}

/* The bytes of both slots of file[bytes], by what the first one says. */
static size_t
both_bytes(const uint8_t *file, size_t bytes)
{
	struct slot s = { 0 };

	if (bytes < BITMAP_AT || memcmp(file, kind.magic, sizeof kind.magic) != 0)
		return bytes;
	s.of.nchunks = get_le32(file + NCHUNKS_AT);
	return 2 * slot_bytes(&s) < bytes ? 2 * slot_bytes(&s) : bytes;
}

/* Take the slots, and the log behind them if there is one. */
static int
read_parts(struct state *s, const uint8_t *file, size_t bytes, struct err *e)
{
	size_t both = both_bytes(file, bytes);
	int rc = read_slots(s, file, bytes, e);
	struct state_record r;

	if (s->now.sequence != 0 || both == bytes)
		return rc;
	if (read_slots(s, file, both, e) != 0)
		return -1;
	s->log_at = both;
	s->kept.bytes = malloc(bytes - both);
	if (s->kept.bytes == NULL)
		return err_nomem(e, disk_name(s->file));
	memcpy(s->kept.bytes, file + both, bytes - both);
	s->kept.n = bytes - both;
	size_t end = 0;
	while (state_log_next(&s->kept, &end, &r))
		;
	s->kept.n = end;
	s->log_at += end;
	return 0;
}

/* Read both slots, which have `bytes` bytes together, or with the log. */
static int
read_both(struct state *s, uint64_t bytes, struct err *e)
{
	if (bytes == 0)
		return 0;
	s->log_at = bytes;
	if (bytes > 2 * (uint64_t)(BITMAP_AT + INT32_MAX / 8 + UNIT) + LOG_BYTES_MAX)
		return err_set(e, ERR_FORMAT, "%s: is not the state of an installation",
		    disk_name(s->file));
	uint8_t *both = malloc(bytes);
	if (both == NULL)
		return err_nomem(e, disk_name(s->file));
	int rc = disk_read(s->file, both, bytes, s->at, e);
	if (rc == 0)
		rc = read_parts(s, both, bytes, e);
	free(both);
	return rc;
}

static int
read_file(struct state *s, struct err *e)
{
	if (disk_kind(s->file) != DISK_FILE)
		return err_set(e, ERR_UNSUPPORTED, "%s: the state must be a regular file",
		    disk_name(s->file));
	return read_both(s, disk_size_bytes(s->file), e);
}

static struct state *
state_new(void)
{
	struct state *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->flushing, NULL);
	s->flushed_us = clock_us();
	return s;
}

/* Begin with what the slots say. s is freed on failure. */
static int
go_on(struct state **out, struct state *s, struct err *e)
{
	s->noted = calloc(1, bitmap_bytes(&s->now) + 1);
	if (s->noted == NULL) {
		state_close(s);
		return err_nomem(e, "the state");
	}
	if (s->now.done != NULL)
		memcpy(s->noted, s->now.done, bitmap_bytes(&s->now));
	s->noted_bytes = s->now.sums.bytes_covered;
	*out = s;
	return 0;
}

int
state_open(struct state **out, const char *path, struct err *e)
{
	struct state *s = state_new();

	if (s == NULL)
		return err_nomem(e, path);
	s->placed = true;
	bool made = access(path, F_OK) != 0;
	if (disk_open(&s->file, path, DISK_READ | DISK_WRITE | DISK_CREATE, e) != 0) {
		state_close(s);
		return -1;
	}
	s->ours = made;
	if (read_file(s, e) != 0) {
		state_close(s);
		return -1;
	}
	return go_on(out, s, e);
}

int
state_open_in(
    struct state **out, struct disk *target, uint64_t at, uint64_t bytes, struct err *e)
{
	struct state *s = state_new();
	struct err none;

	if (s == NULL)
		return err_nomem(e, "the state");
	s->in_target = true;
	s->file = target;
	s->at = at;
	s->placed = range_within(
			(struct range){ at, bytes }, disk_size_bytes(target)) &&
	            read_both(s, bytes, &none) == 0 && s->now.sequence != 0;
	return go_on(out, s, e);
}

uint64_t
state_bytes(uint32_t nchunks)
{
	struct slot s = { .of.nchunks = nchunks };

	return 2 * (uint64_t)slot_bytes(&s);
}

bool
state_placed(const struct state *s)
{
	return s->placed;
}

void
state_close(struct state *s)
{
	struct err ignored; /* everything that counts was flushed */

	if (s == NULL)
		return;
	/* A file that names no chunk is removed. */
	if (s->ours && state_chunks(s) == 0)
		unlink(disk_name(s->file));
	if (!s->in_target)
		disk_close(s->file, &ignored);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->flushing);
	free(s->now.done);
	free(s->noted);
	state_log_free(&s->log);
	state_log_free(&s->kept);
	free(s);
}

bool
state_has(const struct state *s, uint32_t chunk)
{
	return chunk < s->now.of.nchunks &&
	       (s->now.done[chunk / 8] >> chunk % 8 & 1) != 0;
}

uint32_t
state_chunks(const struct state *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->now.of.nchunks; i++)
		n += state_has(s, i);
	return n;
}

int
state_check(const struct state *s, const struct state_of *of, struct err *e)
{
	const struct state_of *is = &s->now.of;
	const char *name = disk_name(s->file);

	if (state_chunks(s) == 0)
		return 0;
	if (memcmp(is->uuid, of->uuid, sizeof is->uuid) != 0 ||
	    is->nchunks != of->nchunks)
		return err_set(e, ERR_REFUSED,
		    "%s: is the state of an installation of another image", name);
	if (memcmp(is->digest, unknown, sizeof unknown) != 0 &&
	    memcmp(of->digest, unknown, sizeof unknown) != 0 &&
	    memcmp(is->digest, of->digest, sizeof unknown) != 0)
		return err_set(e, ERR_REFUSED,
		    "%s: is the state of an installation of another image with the "
		    "same UUID",
		    name);
	if (is->target_bytes != of->target_bytes)
		return err_set(e, ERR_REFUSED,
		    "%s: is the state of an installation on another disk", name);
	return 0;
}

const uint8_t *
state_install_id(const struct state *s)
{
	return s->now.install_id;
}

struct state_sums
state_sums(const struct state *s)
{
	return s->now.sums;
}

/* Write s->now to the older slot, and flush it. */
static int
write_slot(struct state *s, struct err *e)
{
	size_t len = slot_bytes(&s->now);
	uint8_t *block = malloc(len);

	if (block == NULL)
		return err_nomem(e, disk_name(s->file));
	s->now.sequence++;
	put_slot(&s->now, block);
	int rc = disk_write(s->file, block, len, s->at + slot_place(s->now.sequence, len), e);
	free(block);
	return rc == 0 ? disk_sync(s->file, e) : -1;
}

int
state_begin(struct state *s, const struct state_of *of,
    const uint8_t install_id[BOOT_AREA_ID_BYTES], struct err *e)
{
	s->now.of = *of;
	memcpy(s->now.install_id, install_id, BOOT_AREA_ID_BYTES);
	s->now.sums = (struct state_sums){ 0 };
	s->noted_bytes = 0;
	free(s->now.done);
	free(s->noted);
	s->now.done = calloc(1, bitmap_bytes(&s->now) + 1);
	s->noted = calloc(1, bitmap_bytes(&s->now) + 1);
	if (s->now.done == NULL || s->noted == NULL)
		return err_nomem(e, disk_name(s->file));
	s->news = false;
	state_log_free(&s->log);
	state_log_free(&s->kept);
	s->log_at = 2 * slot_bytes(&s->now);
	if (s->in_target) {
		s->placed = false;
		return 0;
	}
	/* Cut the file behind both slots, so that an older slot cannot come back. */
	if (disk_truncate(s->file, 2 * slot_bytes(&s->now), e) != 0 ||
	    write_slot(s, e) != 0)
		return -1;
	return write_slot(s, e);
}

int
state_bind(struct state *s, const uint8_t digest[EXT_DIGEST_BYTES], struct err *e)
{
	struct state_of of = s->now.of;

	memcpy(of.digest, digest, sizeof of.digest);
	if (state_check(s, &of, e) != 0)
		return -1;
	pthread_mutex_lock(&s->flushing);
	memcpy(s->now.of.digest, digest, sizeof of.digest);
	pthread_mutex_unlock(&s->flushing);
	return 0;
}

/* Write both slots, so that what stood there cannot be taken for a newer one. */
int
state_place(struct state *s, uint64_t at, struct err *e)
{
	pthread_mutex_lock(&s->flushing);
	s->at = at;
	int rc = write_slot(s, e) == 0 ? write_slot(s, e) : -1;
	pthread_mutex_unlock(&s->flushing);
	pthread_mutex_lock(&s->lock);
	s->placed = rc == 0;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void
state_note(struct state *s, uint32_t chunk, uint64_t bytes)
{
	pthread_mutex_lock(&s->lock);
	if (chunk < s->now.of.nchunks) {
		s->noted[chunk / 8] |= (uint8_t)(1 << chunk % 8);
		s->noted_bytes += bytes;
		s->news = true;
	}
	pthread_mutex_unlock(&s->lock);
}

int
state_keep(
    struct state *s, uint32_t chunk, const struct ledger_parts *parts, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	if (!s->in_target && s->log_at + s->log.n < LOG_BYTES_MAX)
		rc = state_log_add(&s->log, chunk, parts, e);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void
state_kept(const struct state *s,
    void (*take)(void *arg, uint32_t chunk, const struct ledger_part *), void *arg)
{
	struct state_record r;
	struct ledger_part p;
	size_t at = 0;

	while (state_log_next(&s->kept, &at, &r)) {
		if (!state_has(s, r.chunk))
			continue;
		take(arg, r.chunk, NULL);
		while (state_record_part(&r, &p))
			take(arg, r.chunk, &p);
	}
}

int
state_drop_kept(struct state *s, struct err *e)
{
	uint64_t end = 2 * (uint64_t)slot_bytes(&s->now);

	state_log_free(&s->log);
	state_log_free(&s->kept);
	if (s->in_target || s->log_at <= end)
		return 0;
	s->log_at = end;
	return disk_truncate(s->file, end, e) == 0 ? disk_sync(s->file, e) : -1;
}

bool
state_due(struct state *s, uint64_t interval_us)
{
	pthread_mutex_lock(&s->lock);
	bool due = s->placed && s->news && clock_us() - s->flushed_us >= interval_us;
	if (due)
		s->flushed_us = clock_us();
	pthread_mutex_unlock(&s->lock);
	return due;
}

/* Write the log that was made until now, without flushing it: a chunk whose record is
 * lost has no digests. */
static int
write_log(struct state *s, struct state_log *log, struct err *e)
{
	int rc = log->n > 0 ? disk_write(s->file, log->bytes, log->n, s->log_at, e) : 0;

	if (rc == 0)
		s->log_at += log->n;
	state_log_free(log);
	return rc;
}

static int
flush(struct state *s, struct disk *target, struct state_sums (*sums)(void *arg),
    void *arg, uint8_t *snapshot, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	memcpy(snapshot, s->noted, bitmap_bytes(&s->now));
	uint64_t bytes = s->noted_bytes;
	struct state_log log = s->log;
	s->log = (struct state_log){ .n = 0 };
	s->news = false;
	pthread_mutex_unlock(&s->lock);
	struct state_sums now = sums(arg);
	now.bytes_covered = bytes;
	if (write_log(s, &log, e) != 0 || disk_sync(target, e) != 0)
		return -1;
	memcpy(s->now.done, snapshot, bitmap_bytes(&s->now));
	s->now.sums = now;
	return write_slot(s, e);
}

int
state_flush(struct state *s, struct disk *target, struct state_sums (*sums)(void *arg),
    void *arg, struct err *e)
{
	uint8_t *snapshot = malloc(bitmap_bytes(&s->now) + 1);

	if (snapshot == NULL)
		return err_nomem(e, "the state");
	pthread_mutex_lock(&s->flushing);
	int rc = flush(s, target, sums, arg, snapshot, e);
	pthread_mutex_unlock(&s->flushing);
	free(snapshot);
	return rc;
}

int
state_remove(struct state *s, struct err *e)
{
	if (s->in_target)
		return 0;
	int rc = unlink(disk_name(s->file));
	s->ours &= rc != 0;
	return rc == 0 ? 0 : err_os(e, "%s: removing it", disk_name(s->file));
}

/* Is the block the first sector of a slot of this installation, perhaps of a torn slot? A
 * disk writes this sector, which has the id, whole or not at all. */
static bool
is_remains(const uint8_t block[SECTOR_BYTES], const struct marker *m)
{
	return memcmp(block, kind.magic, sizeof kind.magic) == 0 &&
	       memcmp(block + ID_AT, m->id, sizeof m->id) == 0;
}

int
state_wipe_remains(struct disk *d, const struct marker *m, struct err *e)
{
	uint8_t block[SECTOR_BYTES];
	uint64_t half = m->state_bytes / 2;

	if (half == 0 || half % UNIT != 0 ||
	    !range_within(
		(struct range){ m->state_at, m->state_bytes }, disk_size_bytes(d)))
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t at = m->state_at + i * half;
		if (disk_read(d, block, sizeof block, at, e) != 0)
			return -1;
		if (is_remains(block, m) && disk_zero(d, at, half, e) != 0)
			return -1;
	}
	return 0;
}
