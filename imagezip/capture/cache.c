/* cache.c: remembers which pages of a source were in the page cache before they were
 * read, and drops the others from the cache again. windows.c calls this, in the thread
 * that reads the source. */
#include "imagezip/capture/cache.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CACHED = 1 };

void
cache_init(struct cache *c, struct disk *d)
{
	c->fd = disk_seekable(d) ? disk_fd(d) : -1;
	c->size_bytes = disk_size_bytes(d);
	c->begun = false;
}

static size_t
stretch_bytes(const struct cache *c, uint64_t number)
{
	uint64_t at = number * CACHE_STRETCH_BYTES;

	if (at >= c->size_bytes)
		return 0;
	return c->size_bytes - at < CACHE_STRETCH_BYTES ? (size_t)(c->size_bytes - at)
	                                                : CACHE_STRETCH_BYTES;
}

/* Find which pages of a stretch are cached.  Mapping them reads nothing.  Pages that cannot
 * be asked for count as cached, so they are left alone. */
static void
look(const struct cache *c, struct cache_stretch *s, uint64_t number)
{
	size_t n = stretch_bytes(c, number);

	s->number = number;
	memset(s->pages, CACHED, sizeof s->pages);
	if (n == 0)
		return;
	void *map = mmap(NULL, n, PROT_READ, MAP_SHARED, c->fd,
	    (off_t)(number * CACHE_STRETCH_BYTES));
	if (map == MAP_FAILED)
		return;
	if (mincore(map, n, s->pages) != 0)
		memset(s->pages, CACHED, sizeof s->pages);
	munmap(map, n);
}

/* Drop the pages that were not cached before. This is only advice: pages that another
 * process uses stay in the cache. */
static void
let_go(const struct cache *c, const struct cache_stretch *s)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t pages = (stretch_bytes(c, s->number) + page_bytes - 1) / page_bytes;
	off_t at = (off_t)(s->number * CACHE_STRETCH_BYTES);

	for (size_t i = 0; i < pages;) {
		size_t n = 0;
		while (i + n < pages && (s->pages[i + n] & CACHED) == 0)
			n++;
		if (n > 0)
			posix_fadvise(c->fd, at + (off_t)(i * page_bytes),
			    (off_t)(n * page_bytes), POSIX_FADV_DONTNEED);
		i += n + 1;
	}
}

void
cache_reading(struct cache *c, uint64_t at)
{
	uint64_t number = at / CACHE_STRETCH_BYTES;

	if (c->fd < 0 || (c->begun && number == c->here.number))
		return;
	if (c->begun)
		let_go(c, &c->here);
	if (c->begun && number == c->next.number) {
		c->here = c->next;
	} else {
		if (c->begun)
			let_go(c, &c->next); /* the kernel may have read ahead into it */
		look(c, &c->here, number);
	}
	look(c, &c->next, number + 1);
	c->begun = true;
}

void
cache_done(struct cache *c)
{
	if (c->fd < 0 || !c->begun)
		return;
	let_go(c, &c->here);
	let_go(c, &c->next);
	c->begun = false;
}
