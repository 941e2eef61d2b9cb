/* marks.c: keeps the marks of a sector table in a file in memory, and reads those of a program that
 * was killed (marks.h).  table.c asks for the room, and the engine of a streaming disk
 * (stream/disk) does the rest, when it opens and closes the disk, in one thread. */
#include "stream/table/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/base/lock.h"
#include "common/base/replace.h"
#include "common/base/slots.h"
#include "stream/table/table_impl.h"

enum { HEADER_BYTES = 512, FAILED_AT = HEADER_BYTES };

static const struct slots header = { "NDZMARKS", 1, crc32c };

struct marks {
	char *path, *made; /* the file, and the one that takes its place */
	int fd;            /* of the earlier program's file, until this one serves; then of the new one */
	int made_fd;       /* -1: there is none */
	bool were_there;
	struct marks_head earlier; /* if they were */
	uint8_t *map;              /* of the new file; NULL: there is none */
	size_t map_bytes;
	uint32_t slots;
};

/* The form. */

void
marks_head_put(const struct marks_head *h, uint8_t *out)
{
	memset(out, 0, MARKS_HEAD_BYTES);
	struct wr w = slot_body(out, HEADER_BYTES);
	wr_bytes(&w, h->id, sizeof h->id);
	wr_le64(&w, h->frames);
	wr_le32(&w, h->slots);
	wr_le32(&w, MARKS_SLOT_BYTES);
	slot_put(&header, out, HEADER_BYTES, &w, h->sequence);
	out[FAILED_AT] = h->failed;
}

bool
marks_head_get(struct marks_head *h, const void *head, size_t len, uint64_t file_bytes)
{
	const uint8_t *bytes = head;
	struct marks_head got = { .sequence = 0 };
	struct rd r;

	if (len < MARKS_HEAD_BYTES || !slot_get(&header, bytes, HEADER_BYTES, &got.sequence, &r))
		return false;
	rd_copy(&r, got.id, sizeof got.id);
	got.frames = rd_le64(&r);
	got.slots = rd_le32(&r);
	uint32_t slot_bytes = rd_le32(&r);
	got.failed = bytes[FAILED_AT] != 0;
	if (!rd_ok(&r) || slot_bytes != MARKS_SLOT_BYTES ||
	    got.frames > UINT64_MAX / FRAME_SECTORS ||
	    file_bytes != MARKS_HEAD_BYTES + (uint64_t)got.slots * MARKS_SLOT_BYTES)
		return false;
	*h = got;
	return true;
}

int
marks_slot_get(
    struct marks_frame *f, const struct marks_head *h, const void *slot, size_t len)
{
	struct rd r = rd_from(slot, len);

	rd_copy(&r, &f->number, sizeof f->number);
	uint8_t dirty = rd_u8(&r), dirty_local = rd_u8(&r), writing = rd_u8(&r);
	f->local = rd_u8(&r);
	rd_copy(&r, f->bits, sizeof f->bits);
	if (!rd_ok(&r) || len != MARKS_SLOT_BYTES || dirty > 1 || dirty_local > 1 || writing > 1)
		return -1;
	if (dirty == 0 && writing == 0)
		return 0;
	return f->number < h->frames ? 1 : -1;
}

/* Opening. */

static int
damaged(const struct marks *m, struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "%s: the marks are damaged, so nothing is known about what was written last", m->path);
}

/* Is the file one that ends with the machine? */
static int
check_memory(const struct marks *m, struct err *e)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(m->fd, &fs) != 0 || fstat(m->fd, &st) != 0)
		return err_os(e, "%s", m->path);
	if (S_ISREG(st.st_mode) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC))
		return 0;
	return err_set(e, ERR_USAGE,
	    "%s: is no file on tmpfs: marks must not outlive data that a power cut takes", m->path);
}

/* Only who has locked the file may be serving the disk: what another program still writes would
 * come behind what is written from now on. */
static int
lock_earlier(const struct marks *m, struct err *e)
{
	int rc = lock_try_bytes(m->fd, 0, MARKS_HEAD_BYTES);

	if (rc < 0)
		return err_os(e, "%s: cannot be locked", m->path);
	return rc > 0 ? 0
	              : err_set(e, ERR_REFUSED, "%s: another program serves this disk", m->path);
}

static int
read_earlier(struct marks *m, struct err *e)
{
	uint8_t head[MARKS_HEAD_BYTES];
	struct stat st;

	if (fstat(m->fd, &st) != 0)
		return err_os(e, "%s", m->path);
	if (st.st_size == 0)
		return 0;
	ssize_t n = pread(m->fd, head, sizeof head, 0);
	if (n < 0)
		return err_os(e, "%s", m->path);
	if (!marks_head_get(&m->earlier, head, (size_t)n, (uint64_t)st.st_size))
		return damaged(m, e);
	m->were_there = true;
	if (!m->earlier.failed)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: a flush had failed, so what was written may be lost", m->path);
}

static int
open_earlier(struct marks *m, struct err *e)
{
	m->fd = open(m->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (m->fd >= 0)
		return 0;
	err_os(e, "%s: the marks of a table are needed, or an empty file to begin", m->path);
	e->kind = errno == ENOENT ? ERR_ABSENT : ERR_IO;
	return -1;
}

static struct marks *
new_marks(const char *path)
{
	struct marks *m = calloc(1, sizeof *m);

	if (m == NULL)
		return NULL;
	m->fd = m->made_fd = -1;
	m->path = strdup(path);
	if (m->path != NULL && asprintf(&m->made, "%s" REPLACE_PARTIAL, path) >= 0)
		return m;
	free(m->path);
	free(m);
	return NULL;
}

int
marks_open(struct marks **out, const char *path, struct err *e)
{
	struct marks *m = new_marks(path);

	if (m == NULL)
		return err_nomem(e, path);
	if (open_earlier(m, e) != 0 || check_memory(m, e) != 0 || lock_earlier(m, e) != 0 ||
	    read_earlier(m, e) != 0) {
		marks_close(m, false);
		return -1;
	}
	*out = m;
	return 0;
}

/* Taking over. */

bool
marks_were_there(const struct marks *m)
{
	return m->were_there;
}

int
marks_check(const struct marks *m, const struct table_header *h, struct err *e)
{
	const struct marks_head *mine = &m->earlier;

	if (memcmp(mine->id, h->id, sizeof h->id) != 0)
		return err_set(
		    e, ERR_REFUSED, "%s: the marks are those of another disk", m->path);
	if (h->closed || h->complete || h->sequence == mine->sequence)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: the marks are older than what is on the disk, which was served without them",
	    m->path);
}

static int
read_slot(struct marks *m, uint32_t i, struct marks_frame *f, struct err *e)
{
	uint8_t slot[MARKS_SLOT_BYTES];
	off_t at = MARKS_HEAD_BYTES + (off_t)i * MARKS_SLOT_BYTES;
	ssize_t n = pread(m->fd, slot, sizeof slot, at);

	if (n < 0)
		return err_os(e, "%s", m->path);
	int rc = marks_slot_get(f, &m->earlier, slot, (size_t)n);
	return rc >= 0 ? rc : damaged(m, e);
}

static int
take_frame(const struct marks_frame *f, int (*take)(void *, struct range, bool, struct err *),
    void *arg, struct err *e)
{
	int rc = 0;

	for (uint64_t at = 0, n; rc == 0 && at < FRAME_SECTORS; at += n) {
		struct range r = { f->number * FRAME_SECTORS + at, PIECE_BITS - at % PIECE_BITS };
		n = r.len = table_same_bits(f->bits, at, r.len);
		if (bit_is_set(f->bits, at))
			rc = take(arg, r, f->local >> at / PIECE_BITS & 1, e);
	}
	return rc;
}

int
marks_each(struct marks *m, int (*take)(void *, struct range, bool, struct err *), void *arg,
    struct err *e)
{
	struct marks_frame f;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < m->earlier.slots; i++) {
		rc = read_slot(m, i, &f, e);
		if (rc > 0)
			rc = take_frame(&f, take, arg, e);
	}
	return rc;
}

/* Serving. */

/* A file whose pages were not there would be found to have none when a mark is set. */
static int
reserve(int fd, size_t bytes)
{
	int rc;

	if (ftruncate(fd, (off_t)bytes) != 0)
		return -1;
	do
		rc = fallocate(fd, 0, 0, (off_t)bytes);
	while (rc != 0 && errno == EINTR);
	return rc == 0 || errno == EOPNOTSUPP ? 0 : -1; /* ramfs has no limit */
}

static int
make_file(struct marks *m, struct err *e)
{
	unlink(m->made); /* of a program that was killed */
	m->made_fd = open(m->made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (m->made_fd < 0)
		return err_os(e, "%s", m->made);
	if (lock_try_bytes(m->made_fd, 0, MARKS_HEAD_BYTES) <= 0 ||
	    reserve(m->made_fd, m->map_bytes) != 0)
		return err_os(e, "%s: has no room for %zu bytes of marks", m->made, m->map_bytes);
	void *p = mmap(
	    NULL, m->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->made_fd, 0);
	if (p == MAP_FAILED)
		return err_os(e, "%s", m->made);
	m->map = p;
	return 0;
}

void *
marks_room(struct marks *m, uint32_t slots, struct err *e)
{
	m->slots = slots;
	m->map_bytes = MARKS_HEAD_BYTES + (size_t)slots * MARKS_SLOT_BYTES;
	return make_file(m, e) == 0 ? m->map + MARKS_HEAD_BYTES : NULL;
}

int
marks_serve(struct marks *m, const struct marks_head *h, struct err *e)
{
	struct marks_head mine = *h;

	mine.slots = m->slots;
	marks_head_put(&mine, m->map);
	if (replace_name(m->made, m->path, REPLACE_UNSYNCED, e) != 0)
		return -1;
	close(m->fd);
	m->fd = m->made_fd;
	m->made_fd = -1;
	return 0;
}

void
marks_note_failure(struct marks *m)
{
	if (m != NULL && m->map != NULL)
		atomic_store((_Atomic uint8_t *)(m->map + FAILED_AT), 1);
}

void
marks_close(struct marks *m, bool closed)
{
	if (m == NULL)
		return;
	if (m->map != NULL)
		munmap(m->map, m->map_bytes);
	if (m->made_fd >= 0) {
		unlink(m->made);
		close(m->made_fd);
	} else if (closed && m->map != NULL) {
		while (ftruncate(m->fd, 0) != 0 && errno == EINTR)
			;
	}
	if (m->fd >= 0)
		close(m->fd);
	free(m->path);
	free(m->made);
	free(m);
}
