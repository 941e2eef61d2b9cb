/* packs.c: reads packs: as files (objects.h, open), or in blocks from a bucket (blocks.h).
 * Called by redeflated.c, rebuild.c, copy.c, put_known.c and stored.c, in the thread to
 * which the struct packs belongs. */
#include "emustore/store/packs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "emustore/store/keys.h"

struct open_pack {
	uint32_t number;
	int fd; /* -1: the file is closed, or the pack is not a file */
	uint64_t bytes, used;
	char id[PACK_ID_CHARS + 1];
};

struct packs {
	struct objects *objects;
	struct blocks *blocks;
	size_t n;
	struct open_pack *open;
	uint64_t clock;
};

struct packs *
packs_new(struct objects *o, struct blocks *b)
{
	struct packs *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->objects = objects_hold(o);
	p->blocks = b != NULL ? blocks_hold(b) : NULL;
	return p;
}

struct packs *
packs_more(const struct packs *first)
{
	struct packs *p = packs_new(first->objects, first->blocks);

	if (p == NULL || first->n == 0)
		return p;
	p->open = malloc(first->n * sizeof *p->open);
	if (p->open == NULL) {
		packs_free(p);
		return NULL;
	}
	for (; p->n < first->n; p->n++) {
		p->open[p->n] = first->open[p->n];
		/* Where there are no more descriptors, the file is opened when it is read. */
		if (p->open[p->n].fd >= 0)
			p->open[p->n].fd = fcntl(first->open[p->n].fd, F_DUPFD_CLOEXEC, 0);
	}
	return p;
}

void
packs_free(struct packs *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->n; i++)
		if (p->open[i].fd >= 0)
			close(p->open[i].fd);
	blocks_release(p->blocks);
	objects_release(p->objects);
	free(p->open);
	free(p);
}

bool
packs_are_files(const struct packs *p)
{
	return p->blocks == NULL;
}

struct packs_name
packs_name(const struct packs *p, uint32_t slot)
{
	struct packs_name n;

	snprintf(n.text, sizeof n.text, "%.500s: pack %.12s...", p->objects->title,
	    p->open[slot].id);
	return n;
}

static bool
close_oldest(struct packs *p)
{
	struct open_pack *oldest = NULL;

	for (size_t i = 0; i < p->n; i++) {
		struct open_pack *x = &p->open[i];
		if (x->fd >= 0 && (oldest == NULL || x->used < oldest->used))
			oldest = x;
	}
	if (oldest == NULL)
		return false;
	close(oldest->fd);
	oldest->fd = -1;
	return true;
}

static int
open_file(struct packs *p, struct open_pack *x, struct err *e)
{
	char key[KEY_BYTES];

	key_of_pack(x->id, key);
	do
		x->fd = p->objects->ops->open(p->objects->ctx, key, e);
	while (x->fd < 0 && (e->os == EMFILE || e->os == ENFILE) && close_oldest(p));
	return x->fd >= 0 ? 0 : -1;
}

static int
err_gone(struct packs *p, uint32_t number, struct err *e)
{
	err_set(e, ERR_IO, "%s: pack %" PRIu32 " does not exist any more",
	    p->objects->title, number);
	e->os = ENOENT;
	return -1;
}

static int
open_pack(struct packs *p, struct index *x, struct open_pack *o, struct err *e)
{
	struct index_pack i;
	struct buf digests = { 0 };
	bool known = p->blocks != NULL && blocks_has_pack(p->blocks, o->number);
	int rc = index_get_pack(
	    x, o->number, &i, p->blocks != NULL && !known ? &digests : NULL, e);

	if (rc == 0)
		rc = err_gone(p, o->number, e);
	else if (rc == 1) {
		rc = 0;
		o->bytes = i.bytes;
		memcpy(o->id, i.id, sizeof o->id);
		if (p->blocks == NULL)
			rc = open_file(p, o, e);
		else if (!known)
			rc = blocks_add_pack(
			    p->blocks, o->number, i.id, i.bytes, &digests, e);
	}
	buf_free(&digests);
	return rc;
}

int
packs_slot(
    struct packs *p, struct index *x, uint32_t number, uint32_t *slot, struct err *e)
{
	/* Mostly the pack that was added last is asked for again. */
	for (size_t i = p->n; i-- > 0;)
		if (p->open[i].number == number)
			return *slot = (uint32_t)i, 0;
	struct open_pack *open = realloc(p->open, (p->n + 1) * sizeof *open);
	if (open == NULL)
		return err_nomem(e, "the list of packs");
	p->open = open;
	open[p->n] = (struct open_pack){ .number = number, .fd = -1 };
	if (open_pack(p, x, &open[p->n], e) != 0)
		return -1;
	*slot = (uint32_t)p->n++;
	return 0;
}

/* Fill the vector from blocks; fewer bytes only at the end of the pack. */
static ssize_t
read_blocks(struct packs *p, uint32_t slot, const struct iovec *iov, int n, uint64_t at,
    struct err *e)
{
	ssize_t done = 0;

	for (int i = 0; i < n; i++) {
		ssize_t got = blocks_read(p->blocks, p->open[slot].number,
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
	struct open_pack *x = &p->open[slot];
	ssize_t got;

	if (p->blocks != NULL)
		return read_blocks(p, slot, iov, n, at, e);
	if (x->fd < 0 && open_file(p, x, e) != 0)
		return -1;
	x->used = ++p->clock;
	do
		got = preadv(x->fd, iov, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		err_os(e, "%s: byte %" PRIu64, packs_name(p, slot).text, at);
	return got;
}

/* Copy n bytes to where the vector has room for them. */
static void
scatter(const struct iovec *iov, const uint8_t *bytes, size_t n)
{
	for (; n > 0; iov++) {
		size_t part = iov->iov_len < n ? iov->iov_len : n;
		memcpy(iov->iov_base, bytes, part);
		bytes += part;
		n -= part;
	}
}

ssize_t
packs_read_range(struct packs *p, uint32_t slot, const struct iovec *iov, int n, uint64_t at,
    struct err *e)
{
	size_t all = 0;

	if (p->blocks == NULL)
		return packs_readv(p, slot, iov, n, at, e);
	for (int i = 0; i < n; i++)
		all += iov[i].iov_len;
	uint8_t *bytes = malloc(all + 1);
	if (bytes == NULL)
		return err_nomem(e, "a fragment");
	ssize_t got =
	    blocks_read_range(p->blocks, p->open[slot].number, bytes, all, at, e);
	scatter(iov, bytes, got > 0 ? (size_t)got : 0);
	free(bytes);
	return got;
}

void
packs_want(struct packs *p, uint32_t slot, uint64_t at, size_t n)
{
	if (p->blocks != NULL && n > 0)
		blocks_want(p->blocks, p->open[slot].number, at, n);
}

/* Read n bytes, or fewer at the end of the pack. */
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

int
packs_read_record(struct packs *p, uint32_t slot, uint64_t at, struct record_head *h,
    struct buf *body, struct err *e)
{
	uint8_t head[RECORD_HEAD_BYTES];
	ssize_t n = read_at(p, slot, head, sizeof head, at, e);
	bool good = n == sizeof head && record_get_head(h, head, sizeof head) &&
	            at < p->open[slot].bytes &&
	            h->body_bytes <= p->open[slot].bytes - at;

	body->len = 0;
	uint8_t *to = good ? buf_room(body, h->body_bytes + 1u) : NULL;
	if (good && to == NULL)
		return err_nomem(e, "a record");
	if (good)
		n = read_at(p, slot, to, h->body_bytes, at + RECORD_HEAD_BYTES, e);
	if (n < 0)
		return -1;
	body->len = good ? (size_t)n : 0;
	if (good && (size_t)n == h->body_bytes &&
	    crc32c(to, h->body_bytes) == h->body_crc)
		return 0;
	return err_set(e, ERR_FORMAT, "%s: the record at byte %" PRIu64 " is damaged",
	    packs_name(p, slot).text, at);
}
