/* A pack file walked from one end to the other.  Records and damage must tile it, and a
 * record that the walk gives out can be read by itself. */
#include "emustore/store/packs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static char dir[256];
static int dirfd = -1;

static void
remove_folder(void)
{
	unlinkat(dirfd, "00000001.pack", 0);
	rmdir(dir);
}

struct seen {
	struct packs *p;
	uint32_t slot;
	uint64_t end; /* of what was given out */
};

static int
on_record(void *arg, uint64_t at, const struct record_head *h, const uint8_t *body,
    size_t body_bytes, struct err *e)
{
	struct seen *s = arg;
	struct buf again = { 0 };
	struct record_head head;
	struct fragment_head f;

	if (at != s->end || body_bytes != h->body_bytes ||
	    packs_read_record(s->p, s->slot, at, &head, &again, e) != 0 ||
	    head.number != h->number ||
	    (body_bytes > 0 && memcmp(again.base, body, body_bytes) != 0))
		abort();
	(void)fragment_get_head(&f, body, body_bytes, e);
	s->end = at + record_whole_bytes(h->body_bytes);
	buf_free(&again);
	return 0;
}

static int
on_bad(void *arg, uint64_t at, uint64_t bytes, struct err *e)
{
	struct seen *s = arg;

	(void)e;
	if (at != s->end || bytes == 0)
		abort();
	s->end = at + bytes;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct seen s = { 0 };
	struct pack_walk w = { .data = true,
		.end = UINT64_MAX,
		.record = on_record,
		.bad = on_bad,
		.arg = &s };
	struct err e;

	if (dirfd < 0) {
		if (!tmp_folder(dir, sizeof dir, "fuzz-pack") ||
		    (dirfd = open(dir, O_RDONLY | O_DIRECTORY)) < 0)
			abort();
		atexit(remove_folder);
	}
	int fd = openat(dirfd, "00000001.pack", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) != 0)
		abort();
	s.p = packs_new(dirfd, dir);
	if (s.p == NULL || packs_slot(s.p, 1, &s.slot, &e) != 0 ||
	    packs_walk(s.p, s.slot, &w, &e) != 0)
		abort();
	if (s.end < len || s.end >= len + RECORD_ALIGN)
		abort();
	packs_free(s.p);
	return 0;
}
