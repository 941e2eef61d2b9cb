#include "emustore/store/remote_put.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/cancel.h"
#include "emustore/store/remote_impl.h"

enum { SENDERS = 3, VERSION_TRIES = 20 };

/* A pack on its way. */
struct sending {
	pthread_t thread;
	bool running;
	struct remote *r;
	struct buf pack, fragments;
	struct err err;
	int rc;
};

struct remote_put {
	struct remote *r;
	struct index *own; /* in memory: the fragments that this put has added */
	struct pack_writer w;
	struct buf fragments; /* of the pack at hand, for its table */
	uint64_t next;
	uint64_t chance; /* so that no two puts make the same object */
	struct sending sending[SENDERS];
	unsigned turn;
};

int
remote_put_new(struct remote_put **out, struct remote *r, struct err *e)
{
	struct remote_put *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_nomem(e, "an image");
	p->r = r;
	p->next = 1;
	if (getrandom(&p->chance, sizeof p->chance, 0) != (ssize_t)sizeof p->chance) {
		free(p);
		return err_os(e, "random bytes");
	}
	p->w.fd = -1;
	if (index_open(&p->own, ":memory:", INDEX_CREATE, e) != 0) {
		free(p);
		return -1;
	}
	*out = p;
	return 0;
}

/* The pack, then its table, which makes it count. */
static int
send_pack(struct remote *r, const struct buf *pack, const struct buf *fragments,
    struct err *e)
{
	struct buf table = { 0 };
	char id[PACK_ID_CHARS + 1], key[REMOTE_KEY_BYTES];
	int rc = toc_make(&table, pack->base, pack->len, fragments, id, e);

	if (rc == 0) {
		key_of_pack(id, key);
		rc = s3_put(r->s3, key, pack->base, pack->len, e);
	}
	if (rc == 0) {
		key_of_table(id, key);
		rc = s3_put(r->s3, key, table.base, table.len, e);
	}
	buf_free(&table);
	return rc;
}

static void *
run(void *arg)
{
	struct sending *s = arg;

	s->rc = send_pack(s->r, &s->pack, &s->fragments, &s->err);
	return NULL;
}

static int
wait_for(struct sending *s, struct err *e)
{
	if (!s->running)
		return 0;
	pthread_join(s->thread, NULL);
	s->running = false;
	buf_free(&s->pack);
	buf_free(&s->fragments);
	if (s->rc != 0)
		*e = s->err;
	return s->rc;
}

void
remote_put_free(struct remote_put *p)
{
	struct err ignored;

	if (p == NULL)
		return;
	for (int i = 0; i < SENDERS; i++)
		wait_for(&p->sending[i], &ignored);
	index_close(p->own);
	buf_free(&p->w.pending);
	buf_free(&p->fragments);
	free(p);
}

/* What was gathered goes to the next sender, when that one is free. */
static int
end_pack(struct remote_put *p, struct err *e)
{
	struct sending *s = &p->sending[p->turn];

	if (p->fragments.len == 0)
		return 0;
	if (wait_for(s, e) != 0)
		return -1;
	p->turn = (p->turn + 1) % SENDERS;
	s->r = p->r;
	s->pack = p->w.pending;
	s->fragments = p->fragments;
	p->w.pending = p->fragments = (struct buf){ 0 };
	p->w.at = 0;
	s->running = thread_start(&s->thread, run, s) == 0;
	if (s->running)
		return 0;
	int rc = send_pack(s->r, &s->pack, &s->fragments, e);
	buf_free(&s->pack);
	buf_free(&s->fragments);
	return rc;
}

int
remote_put_flush(struct remote_put *p, struct err *e)
{
	int rc = end_pack(p, e);

	for (int i = 0; i < SENDERS; i++)
		if (wait_for(&p->sending[i], e) != 0)
			rc = -1;
	return rc;
}

int
remote_put_find(struct remote_put *p, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *f, struct err *e)
{
	struct index_object o;
	int rc = index_find_fragment(p->own, sha256, f, e);

	if (rc != 0)
		return rc;
	rc = index_find_fragment(p->r->index, sha256, f, e);
	if (rc != 1)
		return rc;
	/* One that is to go may be gone before this image is there. */
	rc = index_get_object(p->r->index, f->pack, &o, NULL, e);
	return rc < 0 ? -1 : rc == 1 && !o.condemned;
}

int
remote_put_fragment(
    struct remote_put *p, struct index_fragment *f, const void *data, struct err *e)
{
	uint8_t head[FRAGMENT_HEAD_BYTES];
	uint64_t at;

	if (p->w.at + record_whole_bytes(sizeof head + f->bytes) > p->r->pack_bytes &&
	    end_pack(p, e) != 0)
		return -1;
	f->number = p->next++;
	f->pack = 1; /* none yet; not 0 */
	if (p->w.at == 0 && pack_append(&p->w, RECORD_PACK, 0,
				(uint8_t[4]){ STORE_FORMAT }, 4, NULL, 0, &at, e) != 0)
		return -1;
	fragment_put_head(&f->head, head);
	if (pack_append(&p->w, RECORD_FRAGMENT, f->number, head, sizeof head, data,
		f->bytes, &f->at, e) != 0)
		return -1;
	toc_add(&p->fragments, f);
	if (!buf_ok(&p->fragments))
		return err_nomem(e, "the table of a pack");
	return index_add_fragment(p->own, f, e);
}

int
remote_put_copy(struct remote_put *p, struct index_fragment *f, struct err *e)
{
	uint8_t *data = malloc(f->bytes);
	ssize_t n = data == NULL ? err_nomem(e, "a fragment")
	                         : blocks_read(p->r->blocks, f->pack, data, f->bytes,
				       f->at + FRAGMENT_DATA_AT, e);
	uint8_t digest[SHA256_BYTES];

	if (n >= 0) {
		sha256(data, (size_t)n, digest);
		n = memcmp(digest, f->head.sha256, sizeof digest) == 0
		        ? remote_put_fragment(p, f, data, e)
		        : err_set(e, ERR_FORMAT,
			      "pack %" PRIu32 ": the SHA-256 of a fragment is wrong",
			      f->pack);
	}
	free(data);
	return n < 0 ? -1 : 0;
}

static int
make_object(struct buf *out, const struct recipe_image *about, const struct buf *blocks,
    const struct buf *digests, uint64_t chance, struct err *e)
{
	struct buf head = { 0 };

	out->len = 0;
	recipe_put_image(&head, about);
	record_append(out, RECORD_ABOUT, chance, head.base, head.len, NULL, 0);
	record_append(
	    out, RECORD_IMAGE, 0, head.base, head.len, blocks->base, blocks->len);
	record_append(out, RECORD_DIGESTS, 0, digests->base, digests->len, NULL, 0);
	bool ok = buf_ok(&head) && buf_ok(out);
	buf_free(&head);
	if (ok && out->len > REMOTE_RECIPE_BYTES_MAX)
		return err_set(e, ERR_UNSUPPORTED, "the recipe is too large");
	return ok ? 0 : err_nomem(e, "a recipe");
}

/* 1 it is there, 0 another one is, -1. */
static int
put_object(struct remote_put *p, const struct store_name *name,
    const struct buf *object, struct err *e)
{
	char key[REMOTE_KEY_BYTES], claim[REMOTE_KEY_BYTES];
	struct err ignored;
	int rc = remote_claim(p->r, name, claim, e);

	if (rc != 1)
		return rc;
	key_of_image(name, key);
	if (remote_check_age(p->r, e) != 0) {
		s3_delete(p->r->s3, claim, &ignored);
		return -1;
	}
	/* A request whose answer did not come may still do its work, so the claim stays
	 * until gc finds it old. */
	if (s3_put(p->r->s3, key, object->base, object->len, e) != 0)
		return -1;
	s3_delete(p->r->s3, claim, &ignored); /* else gc does it */
	return 1;
}

int
remote_put_image(struct remote_put *p, struct recipe_image *about,
    const struct buf *blocks, const struct buf *digests, uint64_t *bytes, struct err *e)
{
	bool any = about->name.version == 0;
	struct buf object = { 0 };
	struct index_image *old = malloc(sizeof *old);
	int rc = old == NULL ? err_nomem(e, "an image") : 0;

	if (rc == 0 && any) {
		int found = index_find_image(p->r->index, &about->name, old, e);
		about->name.version = found == 1 ? old->about.name.version + 1 : 1;
		rc = found < 0 ? -1 : 0;
	}
	if (rc == 0)
		rc = remote_put_flush(p, e);
	for (int tries = 0; rc == 0 && tries < VERSION_TRIES; tries++) {
		rc = make_object(&object, about, blocks, digests, p->chance, e);
		if (rc == 0)
			rc = put_object(p, &about->name, &object, e);
		if (rc == 0 && any)
			about->name.version++; /* another writer was faster */
		else if (rc == 0)
			break;
	}
	if (rc == 0)
		err_set(e, ERR_REFUSED, "%s:%" PRIu32 " is in the store already",
		    about->name.name, about->name.version);
	*bytes = object.len;
	buf_free(&object);
	free(old);
	return rc == 1 ? 0 : -1;
}
