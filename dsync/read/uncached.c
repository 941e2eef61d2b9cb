/* uncached.c: direct reads, and reads that leave no pages in the page cache.  The extract, sources
 * of change, dmmerge and dsync call this, in any thread. */
#include "dsync/read/uncached.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	UNIT_BYTES = UNCACHED_UNIT_BYTES,
	RESIDENT_PAGES = 1024, /* most pages of one read that mincore() is asked for */
};

struct uncached {
	struct disk *disk;
	int fd;            /* of the disk; -1: the disk has none */
	int direct;        /* the same file opened for direct reads; -1: not possible */
	atomic_bool plain; /* the system refused a direct read: none is tried any more */
	uint64_t size_bytes;
};

struct uncached_buf {
	size_t bytes;
	uint8_t *base; /* begins at a multiple of UNIT_BYTES */
};

int
uncached_new(struct uncached **out, struct disk *d, struct err *e)
{
	struct uncached *r = calloc(1, sizeof *r);
	char name[40];

	*out = r;
	if (r == NULL)
		return err_nomem(e, disk_name(d));
	r->disk = d;
	r->direct = -1;
	r->fd = disk_seekable(d) ? disk_fd(d) : -1;
	r->size_bytes = disk_size_bytes(d);
	if (r->fd >= 0) {
		snprintf(name, sizeof name, "/proc/self/fd/%d", r->fd);
		r->direct = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
	}
	return 0;
}

void
uncached_free(struct uncached *r)
{
	if (r != NULL && r->direct >= 0)
		close(r->direct);
	free(r);
}

bool
uncached_is_direct(const struct uncached *r)
{
	return r->direct >= 0 && !atomic_load(&r->plain);
}

struct uncached_buf *
uncached_buf_new(size_t bytes)
{
	struct uncached_buf *b = calloc(1, sizeof *b);
	size_t room = (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES + 2 * UNIT_BYTES;

	if (b == NULL)
		return NULL;
	b->bytes = bytes;
	b->base = aligned_alloc(UNIT_BYTES, room);
	if (b->base != NULL)
		return b;
	free(b);
	return NULL;
}

uint8_t *
uncached_buf_room(struct uncached_buf *b)
{
	return b->base;
}

void
uncached_buf_free(struct uncached_buf *b)
{
	if (b != NULL)
		free(b->base);
	free(b);
}

/* Read the units of UNIT_BYTES that hold these bytes.  Returns false if a direct read is not
 * possible or fails. */
static bool
read_direct(struct uncached *r, uint8_t *base, uint64_t off, size_t len)
{
	uint64_t from = off / UNIT_BYTES * UNIT_BYTES;
	size_t want = (size_t)(off - from) + len, done = 0;
	size_t whole = (want + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;

	while (done < want) {
		ssize_t n = pread(
		    r->direct, base + done, whole - done, (off_t)(from + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		/* A read that ends within a unit is repeated from the beginning of that unit. */
		done += (size_t)n;
		if (done < want)
			done -= done % UNIT_BYTES;
		if (done < want && (size_t)n < UNIT_BYTES)
			return false;
	}
	return true;
}

/* Find which pages are in the page cache, without reading any.  Where this cannot be known, all
 * pages count as cached. */
static void
find_cached(struct uncached *r, uint64_t from, size_t pages, unsigned char *cached)
{
	size_t bytes = pages * UNIT_BYTES;
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, r->fd, (off_t)from);

	for (size_t i = 0; i < pages; i++)
		cached[i] = 1;
	if (map == MAP_FAILED)
		return;
	if (mincore(map, bytes, cached) != 0)
		for (size_t i = 0; i < pages; i++)
			cached[i] = 1;
	munmap(map, bytes);
}

static void
let_go(struct uncached *r, uint64_t from, size_t pages, const unsigned char *cached)
{
	for (size_t i = 0; i < pages; i++)
		if ((cached[i] & 1) == 0)
			posix_fadvise(r->fd, (off_t)(from + i * UNIT_BYTES), UNIT_BYTES,
			    POSIX_FADV_DONTNEED);
}

static int
read_plain(struct uncached *r, uint8_t *base, uint64_t off, size_t len, struct err *e)
{
	uint64_t from = off / UNIT_BYTES * UNIT_BYTES;
	size_t before = (size_t)(off - from);
	size_t pages = (before + len + UNIT_BYTES - 1) / UNIT_BYTES;
	unsigned char cached[RESIDENT_PAGES];
	bool known = r->fd >= 0 && pages <= RESIDENT_PAGES;

	if (known)
		find_cached(r, from, pages, cached);
	int rc = disk_read(r->disk, base + before, len, off, e);
	if (known)
		let_go(r, from, pages, cached);
	return rc;
}

int
uncached_direct_fd(const struct uncached *r)
{
	return uncached_is_direct(r) ? r->direct : -1;
}

int
uncached_read(struct uncached *r, struct uncached_buf *b, uint64_t off, size_t len,
    uint8_t **data, struct err *e)
{
	return uncached_read_into(r, b->base, off, len, data, e);
}

int
uncached_read_into(struct uncached *r, uint8_t *base, uint64_t off, size_t len, uint8_t **data,
    struct err *e)
{
	*data = base + off % UNIT_BYTES;
	if (len == 0)
		return 0;
	if (r->direct >= 0 && !atomic_load(&r->plain)) {
		if (read_direct(r, base, off, len))
			return 0;
		/* A plain read either succeeds or reports what is wrong. */
		if (errno == EINVAL && !atomic_exchange(&r->plain, true))
			posix_fadvise(r->fd, 0, 0, POSIX_FADV_RANDOM); /* no readahead */
	}
	return read_plain(r, base, off, len, e);
}

void
uncached_holes(struct uncached *r, uint64_t off, uint64_t *data, uint64_t *hole)
{
	*data = off;
	*hole = r->size_bytes;
	if (r->fd >= 0)
		disk_holes(r->disk, off, data, hole);
}
