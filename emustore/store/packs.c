#include "emustore/store/packs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "emustore/store/own.h"

enum { NAME_BYTES = 600 };

struct packs {
	int dirfd;
	char *dir;
	const struct pack_source *source; /* NULL: files */
	void *ctx;
	size_t n;
	struct open_pack {
		uint32_t number;
		int fd;
	} * open;
	char name[NAME_BYTES];
};

void
pack_file_name(uint32_t number, char out[PACK_NAME_MAX])
{
	snprintf(out, PACK_NAME_MAX, "%08" PRIu32 ".pack", number);
}

struct packs *
packs_new(int dirfd, const char *dir)
{
	struct packs *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->dirfd = dirfd;
	p->dir = strdup(dir);
	if (p->dir != NULL)
		return p;
	free(p);
	return NULL;
}

struct packs *
packs_new_from(const struct pack_source *source, void *ctx, const char *dir)
{
	struct packs *p = packs_new(-1, dir);

	if (p == NULL)
		return NULL;
	p->source = source;
	p->ctx = source->hold(ctx);
	return p;
}

bool
packs_are_files(const struct packs *p)
{
	return p->source == NULL;
}

void
packs_free(struct packs *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->n && p->source == NULL; i++)
		close(p->open[i].fd);
	if (p->source != NULL)
		p->source->release(p->ctx);
	free(p->open);
	free(p->dir);
	free(p);
}

uint32_t
packs_number(const struct packs *p, uint32_t slot)
{
	return p->open[slot].number;
}

const char *
packs_name(struct packs *p, uint32_t slot)
{
	char name[PACK_NAME_MAX];

	if (p->source != NULL) {
		p->source->name(p->ctx, p->open[slot].number, p->name, sizeof p->name);
		return p->name;
	}
	pack_file_name(p->open[slot].number, name);
	snprintf(p->name, sizeof p->name, "%.500s/packs/%s", p->dir, name);
	return p->name;
}

int
packs_slot(struct packs *p, uint32_t number, uint32_t *slot, struct err *e)
{
	char name[PACK_NAME_MAX];

	/* The one asked for last is asked for again, mostly. */
	for (size_t i = p->n; i-- > 0;)
		if (p->open[i].number == number)
			return *slot = (uint32_t)i, 0;
	struct open_pack *open = realloc(p->open, (p->n + 1) * sizeof *open);
	if (open == NULL)
		return err_nomem(e, "the list of packs");
	p->open = open;
	pack_file_name(number, name);
	int fd = -1;
	if (p->source != NULL && p->source->find(p->ctx, number, e) != 0)
		return -1;
	if (p->source == NULL) {
		snprintf(p->name, sizeof p->name, "%.500s/packs/%s", p->dir, name);
		fd = own_open(p->dirfd, name, O_RDONLY, 0, p->name, e);
		if (fd < 0)
			return -1;
	}
	*slot = (uint32_t)p->n;
	p->open[p->n++] = (struct open_pack){ number, fd };
	return 0;
}

/* Of a source: what the vector says, or what there is up to the end of the pack. */
static ssize_t
read_source(struct packs *p, uint32_t slot, const struct iovec *iov, int n, uint64_t at,
    struct err *e)
{
	ssize_t done = 0;

	for (int i = 0; i < n; i++) {
		ssize_t got = p->source->pread(p->ctx, p->open[slot].number,
		    iov[i].iov_base, iov[i].iov_len, at + (uint64_t)done, e);
		if (got < 0)
			return -1;
		done += got;
		if ((size_t)got < iov[i].iov_len)
			break;
	}
	return done;
}

ssize_t
packs_readv(struct packs *p, uint32_t slot, const struct iovec *iov, int n, uint64_t at,
    struct err *e)
{
	ssize_t got;

	if (p->source != NULL)
		return read_source(p, slot, iov, n, at, e);
	do
		got = preadv(p->open[slot].fd, iov, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		err_os(e, "%s: byte %" PRIu64, packs_name(p, slot), at);
	return got;
}

void
packs_want(struct packs *p, uint32_t slot, uint64_t at, size_t n)
{
	if (p->source != NULL && n > 0)
		p->source->want(p->ctx, p->open[slot].number, at, n);
}

/* Up to n bytes, fewer at the end of the pack. */
static ssize_t
read_at(struct packs *p, uint32_t slot, void *buf, size_t n, uint64_t at, struct err *e)
{
	size_t done = 0;

	while (done < n) {
		struct iovec v = { (uint8_t *)buf + done, n - done };
		ssize_t got = packs_readv(p, slot, &v, 1, at + done, e);
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static int
pack_size(struct packs *p, uint32_t slot, uint64_t *size, struct err *e)
{
	struct stat st;

	if (p->source != NULL) {
		*size = p->source->size(p->ctx, p->open[slot].number);
		return 0;
	}
	if (fstat(p->open[slot].fd, &st) != 0)
		return err_os(e, "%s", packs_name(p, slot));
	*size = (uint64_t)st.st_size;
	return 0;
}

/* 1 a record is there whole, 2 only its head is good, 0 nothing is, -1 the system
 * refused. */
static int
read_record(struct packs *p, uint32_t slot, uint64_t at, struct record_head *h,
    struct buf *body, struct err *e)
{
	uint8_t head[RECORD_HEAD_BYTES];
	ssize_t n = read_at(p, slot, head, sizeof head, at, e);
	uint64_t size;

	if (n < 0)
		return -1;
	if (n != sizeof head || !record_get_head(h, head, sizeof head))
		return 0;
	if (pack_size(p, slot, &size, e) != 0)
		return -1;
	if (h->body_bytes > size - at)
		return 0;
	body->len = 0;
	uint8_t *to = buf_room(body, h->body_bytes);
	if (to == NULL)
		return err_nomem(e, "a record");
	n = read_at(p, slot, to, h->body_bytes, at + RECORD_HEAD_BYTES, e);
	if (n < 0)
		return -1;
	return (size_t)n == h->body_bytes && crc32c(to, h->body_bytes) == h->body_crc
	           ? 1
	           : 2;
}

int
packs_read_record(struct packs *p, uint32_t slot, uint64_t at, struct record_head *h,
    struct buf *body, struct err *e)
{
	int rc = read_record(p, slot, at, h, body, e);

	if (rc == 0 || rc == 2)
		return err_set(e, ERR_FORMAT,
		    "%s: the record at byte %" PRIu64 " is damaged",
		    packs_name(p, slot), at);
	return rc == 1 ? 0 : -1;
}

/* The same as read_record(), of the body no more than a fragment's head. */
static int
read_record_head(struct packs *p, uint32_t slot, uint64_t at, uint64_t end,
    struct record_head *h, struct buf *body, struct err *e)
{
	uint8_t bytes[FRAGMENT_DATA_AT];
	ssize_t n = read_at(p, slot, bytes, sizeof bytes, at, e);

	if (n < 0)
		return -1;
	if (n < RECORD_HEAD_BYTES || !record_get_head(h, bytes, RECORD_HEAD_BYTES) ||
	    h->body_bytes > end - at)
		return 0;
	size_t have = (size_t)n - RECORD_HEAD_BYTES;
	body->len = 0;
	buf_bytes(body, bytes + RECORD_HEAD_BYTES,
	    have < h->body_bytes ? have : h->body_bytes);
	return buf_ok(body) ? 1 : err_nomem(e, "a record");
}

int
packs_walk(struct packs *p, uint32_t slot, const struct pack_walk *w, struct err *e)
{
	struct buf body = { 0 };
	struct record_head h;
	uint64_t at = 0, bad_from = UINT64_MAX, size;
	int rc = 0;

	if (pack_size(p, slot, &size, e) != 0)
		return -1;
	uint64_t end = w->end < size ? w->end : size;
	while (at < end && rc == 0) {
		int got = w->data ? read_record(p, slot, at, &h, &body, e)
		                  : read_record_head(p, slot, at, end, &h, &body, e);
		if (got < 0)
			rc = -1;
		if (got == 0 || got == 2) {
			bad_from = bad_from == UINT64_MAX ? at : bad_from;
			at += got == 0 ? RECORD_ALIGN
			               : record_whole_bytes(h.body_bytes);
			continue;
		}
		if (rc == 0 && bad_from != UINT64_MAX && w->bad != NULL)
			rc = w->bad(w->arg, bad_from, at - bad_from, e);
		bad_from = UINT64_MAX;
		if (rc == 0)
			rc = w->record(w->arg, at, &h, body.base, body.len, e);
		at += record_whole_bytes(h.body_bytes);
	}
	/* An end that was promised and is not there is damage, too. */
	uint64_t wanted = w->end == UINT64_MAX ? end : w->end;
	if (rc == 0 && w->bad != NULL && (bad_from != UINT64_MAX || end < wanted))
		rc = w->bad(w->arg, bad_from != UINT64_MAX ? bad_from : end,
		    wanted - (bad_from != UINT64_MAX ? bad_from : end), e);
	buf_free(&body);
	return rc;
}

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int
add_number(uint32_t **out, size_t *n, uint32_t number, struct err *e)
{
	uint32_t *list = realloc(*out, (*n + 1) * sizeof *list);

	if (list == NULL)
		return err_nomem(e, "the list of packs");
	*out = list;
	list[(*n)++] = number;
	return 0;
}

int
packs_list(int dirfd, const char *dir, uint32_t **out, size_t *n, struct err *e)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	char name[PACK_NAME_MAX];
	uint32_t number;
	int rc = 0;

	*out = NULL;
	*n = 0;
	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return err_os(e, "%s/packs", dir);
	}
	while (rc == 0 && (entry = readdir(d)) != NULL) {
		if (sscanf(entry->d_name, "%" SCNu32 ".pack", &number) != 1)
			continue;
		pack_file_name(number, name);
		if (strcmp(name, entry->d_name) == 0)
			rc = add_number(out, n, number, e);
	}
	closedir(d);
	if (rc == 0 && *n > 0)
		qsort(*out, *n, sizeof **out, compare_numbers);
	return rc;
}

static int
write_at(int fd, const uint8_t *p, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = pwrite(fd, p + done, n - done, (off_t)(at + done));
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		done += (size_t)put;
	}
	return 0;
}

static int
err_writer(const struct pack_writer *w, struct err *e)
{
	char name[PACK_NAME_MAX];

	pack_file_name(w->number, name);
	return err_os(e, "%s/packs/%s", w->dir, name);
}

int
pack_writer_open(struct pack_writer *w, uint32_t number, uint64_t bytes, struct err *e)
{
	char name[PACK_NAME_MAX], title[NAME_BYTES];
	uint8_t version[4] = { STORE_FORMAT };
	struct stat st;
	uint64_t at;

	pack_file_name(number, name);
	snprintf(title, sizeof title, "%.500s/packs/%s", w->dir, name);
	w->number = number;
	w->at = bytes;
	w->pending.len = 0;
	w->fd = own_open(w->dirfd, name,
	    O_RDWR | (bytes == 0 ? O_CREAT | O_EXCL : 0), 0666, title, e);
	if (w->fd < 0)
		return -1;
	if (fstat(w->fd, &st) != 0)
		return err_writer(w, e);
	if ((uint64_t)st.st_size < bytes)
		return err_set(e, ERR_FORMAT, "%s: has only %lld bytes of %" PRIu64,
		    title, (long long)st.st_size, bytes);
	if ((uint64_t)st.st_size > bytes && ftruncate(w->fd, (off_t)bytes) != 0)
		return err_writer(w, e);
	if (bytes > 0)
		return 0;
	if (fsync(w->dirfd) != 0)
		return err_writer(w, e);
	return pack_append(
	    w, RECORD_PACK, number, version, sizeof version, NULL, 0, &at, e);
}

int
pack_append(struct pack_writer *w, enum record_type type, uint64_t number,
    const void *a, size_t a_bytes, const void *b, size_t b_bytes, uint64_t *at,
    struct err *e)
{
	uint64_t whole = record_whole_bytes(a_bytes + b_bytes);

	if (a_bytes + b_bytes > UINT32_MAX / 2)
		return err_set(e, ERR_UNSUPPORTED, "a record of %zu bytes is too large",
		    a_bytes + b_bytes);
	record_append(&w->pending, type, number, a, a_bytes, b, b_bytes);
	*at = w->at;
	w->at += whole;
	return buf_ok(&w->pending) ? 0 : err_nomem(e, "a record");
}

int
pack_flush(struct pack_writer *w, struct err *e)
{
	size_t n = w->pending.len;

	if (n > 0 && write_at(w->fd, w->pending.base, n, w->at - n) != 0)
		return err_writer(w, e);
	w->pending.len = 0;
	return 0;
}

int
pack_writer_finish(struct pack_writer *w, struct err *e)
{
	if (pack_flush(w, e) != 0)
		return -1;
	if (fsync(w->fd) != 0)
		return err_writer(w, e);
	int fd = w->fd;
	w->fd = -1;
	buf_free(&w->pending);
	return close(fd) == 0 ? 0 : err_writer(w, e);
}

void
pack_writer_drop(struct pack_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	buf_free(&w->pending);
}
