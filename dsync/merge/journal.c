/* journal.c: reads and writes the slots of a journal.  merge.c calls this, in one thread.
 * Each slot has
 *
 *	0 "DSYNCJNL", version 1, CRC-32C, sequence (common/base/slots.h),
 *	24 u64 bytes of the target, 32 id, 48 lineage, 64 u32 flags,
 *	68 u32 next is fuzzy, 72 next id, 88 next lineage, 104 u64 bytes of the stream,
 *	112 u64 next made at, 120 u64 made at, 128 u64 merged at, 136 sample[32],
 *	168 marks[512], 680 zeros up to 4096
 *
 * All numbers are little-endian.  The slot with the higher sequence is valid.
 */
#include "dsync/merge/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/base/replace.h"
#include "common/base/slots.h"
#include "dsync/run/mapper.h"

enum {
	SLOT_BYTES = 4096,
	/* Room that is reserved before it is written: as much as the stream has by now, so that a
	 * small stream needs no more than before, and a large one gets few and long extents. */
	RESERVE_MIN_BYTES = 8 << 20,
	RESERVE_MAX_BYTES = 1 << 30,
	EARLY_BYTES = 4 << 20, /* of the stream that are handed to the disk at a time */
};

static const struct slots kind = { "DSYNCJNL", 1, crc32c };

struct journal {
	struct disk *file;
	uint64_t sequence; /* 0: nothing was written yet */
	struct target_state now;
	bool made; /* journal_open() made the file */
	uint64_t reserved; /* bytes of the stream that have room; UINT64_MAX: none is reserved any more */
};

static void
put_slot(uint8_t slot[SLOT_BYTES], const struct target_state *s, uint64_t sequence)
{
	struct wr w = slot_body(slot, SLOT_BYTES);

	wr_le64(&w, s->target_bytes);
	wr_bytes(&w, &s->id, sizeof s->id);
	wr_bytes(&w, &s->lineage, sizeof s->lineage);
	wr_le32(&w, s->flags);
	wr_le32(&w, s->next_fuzzy);
	wr_bytes(&w, &s->next, sizeof s->next);
	wr_bytes(&w, &s->next_lineage, sizeof s->next_lineage);
	wr_le64(&w, s->stream_bytes);
	wr_le64(&w, s->next_made_at);
	wr_le64(&w, s->made_at);
	wr_le64(&w, s->merged_at);
	wr_bytes(&w, s->sample, sizeof s->sample);
	wr_bytes(&w, s->marks.of, sizeof s->marks.of);
	slot_put(&kind, slot, SLOT_BYTES, &w, sequence);
}

/* Decode a slot.  Returns its sequence; 0: it is damaged or empty. */
static uint64_t
get_slot(struct target_state *s, const uint8_t slot[SLOT_BYTES])
{
	uint64_t sequence;
	struct rd r;

	memset(s, 0, sizeof *s);
	if (!slot_get(&kind, slot, SLOT_BYTES, &sequence, &r))
		return 0;
	s->target_bytes = rd_le64(&r);
	rd_copy(&r, &s->id, sizeof s->id);
	rd_copy(&r, &s->lineage, sizeof s->lineage);
	s->flags = rd_le32(&r);
	s->next_fuzzy = rd_le32(&r) != 0;
	rd_copy(&r, &s->next, sizeof s->next);
	rd_copy(&r, &s->next_lineage, sizeof s->next_lineage);
	s->stream_bytes = rd_le64(&r);
	s->next_made_at = rd_le64(&r);
	s->made_at = rd_le64(&r);
	s->merged_at = rd_le64(&r);
	rd_copy(&r, s->sample, sizeof s->sample);
	rd_copy(&r, s->marks.of, sizeof s->marks.of);
	return rd_ok(&r) ? sequence : 0;
}

/* Read both slots; the valid slot with the higher sequence counts.  A file that is cut within
 * the slots holds nothing yet: both are written before the first merge begins. */
static int
read_slots(struct journal *j, struct err *e)
{
	uint8_t both[2 * SLOT_BYTES] = { 0 };
	ssize_t n = disk_read_upto(j->file, both, sizeof both, 0, e);

	if (n < 0)
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		struct target_state s;
		uint64_t sequence = get_slot(&s, both + i * SLOT_BYTES);
		if (sequence > j->sequence) {
			j->sequence = sequence;
			j->now = s;
		}
	}
	bool blank = both[0] == 0 && memcmp(both, both + 1, sizeof both - 1) == 0;
	if (j->sequence == 0 && !blank && memcmp(both, kind.magic,
		(size_t)n < SLOT_MAGIC_BYTES ? (size_t)n : SLOT_MAGIC_BYTES) != 0)
		return err_set(e, ERR_FORMAT, "%s: is not a journal of dmmerge",
		    disk_name(j->file));
	if (j->sequence == 0 && !blank && (size_t)n == sizeof both)
		return err_set(e, ERR_FORMAT,
		    "%s: this journal is damaged, so it is not known what the target "
		    "holds; remove the journal, and send a full copy",
		    disk_name(j->file));
	return 0;
}

int
journal_open(struct journal **out, const char *path, struct err *e)
{
	struct journal *j = calloc(1, sizeof *j);

	*out = NULL;
	if (j == NULL)
		return err_nomem(e, path);
	int rc = disk_open(&j->file, path, DISK_READ | DISK_WRITE | DISK_CREATE, e);
	if (rc == 0 && disk_kind(j->file) != DISK_FILE)
		rc = err_set(e, ERR_UNSUPPORTED, "%s: the journal must be a regular file", path);
	/* Another merge may have made it, or removed it, until it was held. */
	j->made = rc == 0 && disk_size_bytes(j->file) == 0;
	if (rc == 0)
		rc = read_slots(j, e);
	if (rc == 0)
		*out = j;
	else
		journal_close(j);
	return rc;
}

int
journal_look(struct target_state *s, const char *path, struct err *e)
{
	struct journal j = { 0 };
	struct err ignored; /* the file was only read */

	if (access(path, F_OK) != 0 && errno == ENOENT)
		return err_set(e, ERR_ABSENT, "%s: no stream was merged yet", path);
	int rc = disk_open(&j.file, path, DISK_READ, e);
	if (rc == 0)
		rc = read_slots(&j, e);
	disk_close(j.file, &ignored);
	*s = j.now;
	return rc;
}

void
journal_close(struct journal *j)
{
	struct err ignored; /* what matters was flushed */

	if (j == NULL)
		return;
	if (j->file != NULL && j->made && j->sequence == 0)
		unlink(disk_name(j->file));
	disk_close(j->file, &ignored);
	free(j);
}

const struct target_state *
journal_state(const struct journal *j)
{
	return &j->now;
}

static int
write_slot(struct journal *j, const struct target_state *s, struct err *e)
{
	uint8_t slot[SLOT_BYTES];
	uint64_t next = j->sequence + 1;

	put_slot(slot, s, next);
	if (disk_write(j->file, slot, sizeof slot, slot_place(next, SLOT_BYTES), e) != 0 ||
	    disk_sync(j->file, e) != 0)
		return -1;
	j->sequence = next;
	return 0;
}

int
journal_say(struct journal *j, const struct target_state *s, struct err *e)
{
	/* The first time both are written, so that a damaged file differs from a new one. */
	if (j->sequence == 0 &&
	    (write_slot(j, s, e) != 0 || replace_sync_name(disk_name(j->file), e) != 0))
		return -1;
	if (write_slot(j, s, e) != 0)
		return -1;
	j->now = *s;
	return 0;
}

struct disk *
journal_disk(struct journal *j)
{
	return j->file;
}

static bool
make_room(struct journal *j, uint64_t at, uint64_t n)
{
	return fallocate(disk_fd(j->file), FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)n) == 0;
}

/* Reserve room for what follows byte `at` of the stream, and for the slots, which must have theirs in the
 * end.  Without it, a file system looks for room for each part, which takes half of the time; so a
 * system that cannot do it does no harm.  What was reserved when there was not enough is given back. */
static void
reserve(struct journal *j, uint64_t at)
{
	uint64_t more = at < RESERVE_MAX_BYTES ? at : RESERVE_MAX_BYTES;
	struct err ignored; /* the room is found or missed when it is written to */

	if (at < RESERVE_MIN_BYTES || at < j->reserved)
		return;
	if (make_room(j, 0, JOURNAL_STREAM_AT) && make_room(j, JOURNAL_STREAM_AT + at, more)) {
		j->reserved = at + more;
		return;
	}
	disk_truncate(j->file, JOURNAL_STREAM_AT + at, &ignored);
	j->reserved = UINT64_MAX;
}

/* The disk writes while more of the stream arrives, and not only at the flush behind it. */
static void
begin_to_write(struct journal *j, uint64_t at, size_t n)
{
	uint64_t from = at / EARLY_BYTES * EARLY_BYTES, to = (at + n) / EARLY_BYTES * EARLY_BYTES;

	if (to > from)
		sync_file_range(disk_fd(j->file), (off_t)(JOURNAL_STREAM_AT + from), (off_t)(to - from),
		    SYNC_FILE_RANGE_WRITE);
}

int
journal_store(struct journal *j, const void *bytes, size_t n, uint64_t at, struct err *e)
{
	reserve(j, at);
	if (disk_write(j->file, bytes, n, JOURNAL_STREAM_AT + at, e) != 0)
		return -1;
	begin_to_write(j, at, n);
	return 0;
}

int
journal_trim(struct journal *j, uint64_t bytes, struct err *e)
{
	bool more = j->reserved != UINT64_MAX && j->reserved > bytes;

	return more ? disk_truncate(j->file, JOURNAL_STREAM_AT + bytes, e) : 0;
}

int
journal_empty(struct journal *j, struct err *e)
{
	j->reserved = 0;
	return disk_truncate(j->file, JOURNAL_STREAM_AT, e);
}

/* Beside the file itself, so that it has one journal, whatever links lead to it. */
static char *
path_beside(const char *target, struct err *e)
{
	char *real = realpath(target, NULL), *path = NULL;

	if (asprintf(&path, "%s.dsync", real != NULL ? real : target) < 0)
		path = NULL, err_nomem(e, "a name");
	free(real);
	return path;
}

char *
journal_path(const char *target, const char *folder, struct err *e)
{
	char mapped[MAPPED_WORD_BYTES], *path = NULL;
	struct stat st;

	if (stat(target, &st) != 0 || !S_ISBLK(st.st_mode))
		return path_beside(target, e);
	if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
		err_os(e, "%s", folder);
		return NULL;
	}
	/* Otherwise named as the user names it: a disk keeps that name, but not its number. */
	int n = mapper_name(target, mapped)
	            ? asprintf(&path, "%s/dev-mapper-%s.dsync", folder, mapped)
	            : asprintf(&path, "%s/%s.dsync", folder, target + (target[0] == '/'));
	if (n < 0) {
		err_nomem(e, "a name");
		return NULL;
	}
	for (char *p = path + strlen(folder) + 1; *p != '\0'; p++)
		if (*p == '/' || *p == ' ')
			*p = '-';
	return path;
}
