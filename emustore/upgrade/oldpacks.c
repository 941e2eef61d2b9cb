/* oldpacks.c: reads the packs of a store of format 1 or 2.  Called by upgrade.c, in its
 * thread. */
#include "emustore/upgrade/oldpacks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/rd.h"
#include "emustore/objects/own.h"
#include "emustore/store/walk.h"

enum { RECORD_REMOVED = 4, RECORD_REPLACES = 5, NAME_BYTES = 24, TITLE_BYTES = 600 };

struct reading {
	struct old_packs *p;
	const struct old_file *file; /* that is being walked over */
	/* uint32_t numbers of packs, uint64_t numbers of images; sorted after the first
	 * pass */
	struct buf replaced, removed;
	struct buf fragments, images; /* struct old_record each */
};

static void
file_name(uint32_t number, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "%08" PRIu32 ".pack", number);
}

static int
compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int
compare_records(const void *a, const void *b)
{
	const struct old_record *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static bool
has(const struct buf *sorted, const void *item, size_t bytes,
    int (*compare)(const void *, const void *))
{
	return sorted->len > 0 &&
	       bsearch(item, sorted->base, sorted->len / bytes, bytes, compare) != NULL;
}

static int
add_file(struct old_packs *p, uint32_t number, const char *dir, struct err *e)
{
	char name[NAME_BYTES], title[TITLE_BYTES];
	struct stat st;

	file_name(number, name);
	snprintf(title, sizeof title, "%.500s/packs/%s", dir, name);
	struct old_file *files = realloc(p->files, (p->nfiles + 1) * sizeof *files);
	if (files == NULL)
		return err_nomem(e, "the list of packs");
	p->files = files;
	int fd = own_open(p->dirfd, name, O_RDONLY, 0, title, e);
	if (fd < 0)
		return -1;
	struct old_file f = { .number = number };
	int rc = fstat(fd, &st) != 0 ? err_os(e, "%s", title) : 0;
	f.len = rc == 0 ? (size_t)st.st_size : 0;
	if (f.len > 0) {
		void *at = mmap(NULL, f.len, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED)
			rc = err_os(e, "%s", title);
		else
			f.bytes = at;
	}
	close(fd);
	if (rc == 0)
		p->files[p->nfiles++] = f;
	return rc;
}

static int
list_files(struct old_packs *p, const char *dir, struct buf *numbers, struct err *e)
{
	int fd = openat(p->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	char name[NAME_BYTES];
	uint32_t number;

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return err_os(e, "%s/packs", dir);
	}
	while ((entry = readdir(d)) != NULL) {
		if (sscanf(entry->d_name, "%" SCNu32 ".pack", &number) != 1)
			continue;
		file_name(number, name);
		if (strcmp(name, entry->d_name) == 0)
			buf_bytes(numbers, &number, sizeof number);
	}
	closedir(d);
	if (!buf_ok(numbers))
		return err_nomem(e, "the list of packs");
	if (numbers->len > 0)
		qsort(numbers->base, numbers->len / sizeof number, sizeof number,
		    compare_u32);
	return 0;
}

static int
open_files(struct old_packs *p, const char *dir, struct err *e)
{
	struct buf numbers = { 0 };
	uint32_t number;
	int rc = list_files(p, dir, &numbers, e);

	for (size_t at = 0; rc == 0 && at < numbers.len; at += sizeof number) {
		memcpy(&number, numbers.base + at, sizeof number);
		rc = add_file(p, number, dir, e);
	}
	buf_free(&numbers);
	return rc;
}

/* The first pass: note the packs and images that no longer count. */
static int
note_gone(void *arg, uint64_t at, const struct record_head *h, const uint8_t *body,
    struct err *e)
{
	struct reading *x = arg;
	struct rd r = rd_from(body, h->body_bytes);

	(void)at;
	if ((int)h->type == RECORD_REMOVED)
		buf_bytes(&x->removed, &h->number, sizeof h->number);
	while ((int)h->type == RECORD_REPLACES && rd_left(&r) >= 4) {
		uint32_t pack = rd_le32(&r);
		buf_bytes(&x->replaced, &pack, sizeof pack);
	}
	return buf_ok(&x->replaced) && buf_ok(&x->removed) ? 0 : err_nomem(e, "a list");
}

/* The second pass: note the fragments and images that count. */
static int
note_record(void *arg, uint64_t at, const struct record_head *h, const uint8_t *body,
    struct err *e)
{
	struct reading *x = arg;
	struct buf *to = h->type == RECORD_FRAGMENT ? &x->fragments : &x->images;
	struct old_record o = { h->number, to->len, body, h->body_bytes };

	(void)at;
	if (h->type != RECORD_FRAGMENT && h->type != RECORD_IMAGE)
		return 0;
	if (h->type == RECORD_IMAGE &&
	    has(&x->removed, &h->number, sizeof h->number, compare_u64))
		return 0;
	buf_bytes(to, &o, sizeof o);
	return buf_ok(to) ? 0 : err_nomem(e, "a list");
}

/* May there have been the record of an image that counts, from byte `at` to byte `end` of
 * the file?  Bytes at the end of a pack that cannot be recognised are the rest of a
 * writer that was killed. */
static bool
may_be_image(const struct reading *x, uint64_t at, uint64_t end)
{
	const struct old_file *f = x->file;
	struct record_head h;

	while (at < end) {
		if (!record_get_head(&h, f->bytes + at, f->len - at) ||
		    h.body_bytes > f->len - at - RECORD_HEAD_BYTES)
			return end < f->len;
		if (h.type == RECORD_IMAGE &&
		    !has(&x->removed, &h.number, sizeof h.number, compare_u64))
			return true;
		at += record_whole_bytes(h.body_bytes);
	}
	return false;
}

/* The second pass, too: note where images may have been.  A fragment that is damaged is missed
 * by the images that need it. */
static int
note_damage(void *arg, uint64_t at, uint64_t bytes, struct err *e)
{
	struct reading *x = arg;
	struct old_packs *p = x->p;

	(void)e;
	if (may_be_image(x, at, at + bytes) && p->damaged++ == 0)
		snprintf(p->first_damaged, sizeof p->first_damaged,
		    "packs/%08" PRIu32 ".pack, %" PRIu64 " bytes from byte %" PRIu64,
		    x->file->number, bytes, at);
	return 0;
}

static int
walk_files(struct reading *x, bool all, struct err *e)
{
	struct pack_walk w = { .record = all ? note_gone : note_record,
		.bad = all ? NULL : note_damage,
		.arg = x };

	for (size_t i = 0; i < x->p->nfiles; i++) {
		const struct old_file *f = &x->p->files[i];
		x->file = f;
		if (!all &&
		    has(&x->replaced, &f->number, sizeof f->number, compare_u32))
			continue;
		if (pack_walk(&w, f->bytes, f->len, e) != 0)
			return -1;
	}
	return 0;
}

/* Sort the records; their memory becomes the caller's. */
static struct old_record *
take_records(struct buf *b, size_t *n)
{
	struct old_record *v = (struct old_record *)(void *)b->base;

	*n = b->len / sizeof *v;
	if (*n > 0)
		qsort(v, *n, sizeof *v, compare_records);
	*b = (struct buf){ 0 };
	return v;
}

static int
read_records(struct old_packs *p, struct err *e)
{
	struct reading x = { .p = p };
	int rc = walk_files(&x, true, e);

	if (x.replaced.len > 0)
		qsort(x.replaced.base, x.replaced.len / 4, 4, compare_u32);
	if (x.removed.len > 0)
		qsort(x.removed.base, x.removed.len / 8, 8, compare_u64);
	if (rc == 0)
		rc = walk_files(&x, false, e);
	p->fragments = take_records(&x.fragments, &p->nfragments);
	p->images = take_records(&x.images, &p->nimages);
	buf_free(&x.replaced);
	buf_free(&x.removed);
	return rc;
}

int
old_packs_open(struct old_packs *p, const char *dir, struct err *e)
{
	char path[TITLE_BYTES];

	*p = (struct old_packs){ 0 };
	snprintf(path, sizeof path, "%.500s/packs", dir);
	p->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->dirfd < 0)
		return err_os(e, "%s", path);
	if (open_files(p, dir, e) == 0 && read_records(p, e) == 0)
		return 0;
	old_packs_close(p);
	return -1;
}

void
old_packs_close(struct old_packs *p)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].len > 0)
			munmap((void *)(uintptr_t)p->files[i].bytes, p->files[i].len);
	free(p->files);
	free(p->fragments);
	free(p->images);
	close(p->dirfd);
}

const struct old_record *
old_packs_find(const struct old_packs *p, uint64_t number)
{
	size_t lo = 0, hi = p->nfragments;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (p->fragments[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->nfragments && p->fragments[lo].number == number
	           ? &p->fragments[lo]
	           : NULL;
}

int
old_packs_remove(struct old_packs *p, const char *dir, struct err *e)
{
	char name[NAME_BYTES];

	for (size_t i = 0; i < p->nfiles; i++) {
		file_name(p->files[i].number, name);
		if (unlinkat(p->dirfd, name, 0) != 0 && errno != ENOENT)
			return err_os(e, "%s/packs/%s", dir, name);
	}
	return fsync(p->dirfd) == 0 ? 0 : err_os(e, "%s/packs", dir);
}
