/* writer.c: makes packs, tables and recipes, and puts them as objects.  Called by put,
 * copy, gc and repair, in one thread; up to SENDERS threads of its own write
 * packs. */
#include "emustore/store/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/random_bytes.h"
#include "common/base/sha256.h"
#include "emustore/store/counted.h"
#include "emustore/store/given.h"
#include "emustore/store/store_impl.h"

enum { SENDERS = 3, VERSION_TRIES = 20, SECOND_US = 1000000 };

/* A pack that is being written. */
struct sending {
	pthread_t thread;
	bool running;
	const struct store *s;
	struct buf pack, fragments;
	char id[PACK_ID_CHARS + 1];
	struct err err;
	int rc;
};

struct writer {
	struct store *s;
	struct index *own;          /* an index of the fragments that this writer has added */
	/* the pack that is being filled, and the entries of its table */
	struct buf pack, fragments;
	uint64_t chance; /* random, so that no two writers make the same object */
	struct buf ids;  /* ids of packs that no image refers to yet, each with its '\0' */
	struct sending sending[SENDERS];
	unsigned turn;
	struct counted counted; /* packs of the store that this writer counts on */
};

int
writer_new(struct writer **out, struct store *s, struct err *e)
{
	struct writer *w = calloc(1, sizeof *w);

	if (w == NULL)
		return err_nomem(e, "an image");
	w->s = s;
	random_bytes(&w->chance, sizeof w->chance);
	if (index_open(&w->own, NULL, e) != 0 || index_begin(w->own, true, e) != 0) {
		writer_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

/* Put the pack, and after it its table, which makes the pack count.  gc removes a pack that
 * has no table for as long as the grace: a table that came after that would promise to
 * others what is not there. */
static int
send_pack(struct sending *x, struct err *e)
{
	struct objects *o = x->s->objects;
	uint64_t began_us = clock_boot_us();
	struct buf table = { 0 };
	char key[KEY_BYTES];
	int rc = toc_make(&table, x->pack.base, x->pack.len, &x->fragments, x->id, e);

	if (rc == 0) {
		key_of_pack(x->id, key);
		rc = o->ops->put(o->ctx, key, x->pack.base, x->pack.len, e);
	}
	if (rc == 0)
		rc = store_check_since(x->s, began_us, e);
	if (rc == 0) {
		key_of_table(x->id, key);
		rc = o->ops->put(o->ctx, key, table.base, table.len, e);
	}
	buf_free(&table);
	return rc;
}

static void *
run(void *arg)
{
	struct sending *x = arg;

	x->rc = send_pack(x, &x->err);
	return NULL;
}

/* Note the result of a pack that was sent, in a thread or not. */
static int
end_sending(struct writer *w, struct sending *x, struct err *e)
{
	char key[KEY_BYTES];

	key_of_table(x->id, key);
	changes_note(w->s, key, x->rc == 0);
	buf_bytes(&w->ids, x->id, sizeof x->id);
	buf_free(&x->pack);
	buf_free(&x->fragments);
	if (x->rc != 0)
		*e = x->err;
	return x->rc;
}

static int
wait_for(struct writer *w, struct sending *x, struct err *e)
{
	if (!x->running)
		return 0;
	pthread_join(x->thread, NULL);
	x->running = false;
	return end_sending(w, x, e);
}

/* Remove packs that no image refers to.  Only in a folder: nobody else writes there, so
 * nobody counts on them.  The table is removed before its pack. */
static void
remove_unused(struct writer *w)
{
	struct objects *o = w->s->objects;
	struct err ignored; /* gc removes what stays */
	char key[KEY_BYTES];

	for (size_t i = 0; i < w->ids.len; i += PACK_ID_CHARS + 1) {
		const char *id = (const char *)w->ids.base + i;
		if (!pack_id_ok(id))
			continue;
		key_of_table(id, key);
		if (o->ops->remove(o->ctx, key, &ignored) != 0)
			continue;
		key_of_pack(id, key);
		o->ops->remove(o->ctx, key, &ignored);
	}
}

void
writer_free(struct writer *w)
{
	struct err ignored;

	if (w == NULL)
		return;
	for (int i = 0; i < SENDERS; i++)
		wait_for(w, &w->sending[i], &ignored);
	if (w->s->locked)
		remove_unused(w);
	index_close(w->own);
	counted_free(&w->counted);
	buf_free(&w->pack);
	buf_free(&w->fragments);
	buf_free(&w->ids);
	free(w);
}

/* Give the pack that was filled to the next sender, once that is free. */
static int
end_pack(struct writer *w, struct err *e)
{
	struct sending *x = &w->sending[w->turn];

	if (w->fragments.len == 0)
		return 0;
	if (wait_for(w, x, e) != 0)
		return -1;
	w->turn = (w->turn + 1) % SENDERS;
	x->s = w->s;
	x->pack = w->pack;
	x->fragments = w->fragments;
	x->id[0] = '\0';
	w->pack = w->fragments = (struct buf){ 0 };
	x->running = thread_start(&x->thread, run, x) == 0;
	if (x->running)
		return 0;
	run(x);
	return end_sending(w, x, e);
}

int
writer_flush(struct writer *w, struct err *e)
{
	int rc = end_pack(w, e);

	for (int i = 0; i < SENDERS; i++)
		if (wait_for(w, &w->sending[i], e) != 0)
			rc = -1;
	return rc;
}

int
writer_commit(struct writer *w, struct err *e)
{
	if (writer_flush(w, e) != 0)
		return -1;
	w->ids.len = 0;
	return 0;
}

int
writer_added(struct writer *w, const uint8_t sha256[SHA256_BYTES], struct err *e)
{
	struct index_fragment i;

	return index_find_fragment(w->own, sha256, &i, e);
}

struct fragment_wanted {
	struct writer *w;
	const uint8_t *sha256;
	struct index_fragment out;
};

/* Is there the fragment in a pack that a new image may count on? */
static int
find_in_store(struct store *s, void *arg, struct err *e)
{
	struct fragment_wanted *f = arg;
	struct index_pack p;
	int rc = index_find_fragment(s->index, f->sha256, &f->out, e);

	if (rc == 1)
		rc = index_get_pack(s->index, f->out.pack, &p, NULL, e);
	/* A condemned pack may be gone before this image is made. */
	if (rc == 1)
		rc = p.condemned ? 0 : counted_on(&f->w->counted, s, &p, e);
	return rc;
}

int
writer_find(struct writer *w, const uint8_t sha256[SHA256_BYTES], struct pack_fragment *f,
    struct err *e)
{
	struct fragment_wanted wanted = { .w = w, .sha256 = sha256 };
	int rc = index_find_fragment(w->own, sha256, &wanted.out, e);

	if (rc == 0)
		rc = store_try(w->s, find_in_store, &wanted, e);
	if (rc == COUNTED_DOUBT && (rc = store_doubt(w->s, e)) == 1)
		rc = find_in_store(w->s, &wanted, e);
	if (rc == 1)
		*f = wanted.out.f;
	return rc;
}

uint64_t
writer_damaged(const struct writer *w)
{
	return counted_damaged(&w->counted);
}

int
writer_add(
    struct writer *w, const struct pack_fragment *f, const void *data, struct err *e)
{
	uint8_t head[FRAGMENT_HEAD_BYTES];
	uint8_t version[4] = { PACK_VERSION };
	struct index_fragment i = { .f = *f, .pack = 1 };

	if (w->pack.len + record_whole_bytes(sizeof head + f->bytes) >
		w->s->pack_bytes &&
	    end_pack(w, e) != 0)
		return -1;
	if (w->pack.len == 0)
		record_append(
		    &w->pack, RECORD_PACK, 0, version, sizeof version, NULL, 0);
	fragment_put_head(&f->head, head);
	i.f.at = w->pack.len;
	record_append(
	    &w->pack, RECORD_FRAGMENT, 0, head, sizeof head, data, f->bytes);
	toc_add(&w->fragments, &i.f);
	if (!buf_ok(&w->pack) || !buf_ok(&w->fragments))
		return err_nomem(e, "a pack");
	return index_add_fragment(w->own, &i, e);
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
	if (ok && out->len > RECIPE_BYTES_MAX)
		return err_set(e, ERR_UNSUPPORTED, "the recipe is too large");
	return ok ? 0 : err_nomem(e, "a recipe");
}

/* Where that fails, whoever removes the image does it. */
static void
note_given(struct writer *w, const struct store_name *name)
{
	struct err ignored;

	given_add(w->s, name, &ignored);
}

/* Put the image's object where `put` refuses to replace an object.  1: it is made; 0:
 * another one is there; -1. */
static int
put_exclusive(struct writer *w, const struct store_name *name, const char *key,
    const struct buf *object, struct err *e)
{
	struct objects *o = w->s->objects;

	w->ids.len = 0; /* the image may be there even if this fails, so its packs stay */
	int rc = o->ops->put(o->ctx, key, object->base, object->len, e);
	changes_note(w->s, key, rc == 0);
	if (rc == 0)
		note_given(w, name);
	return rc == 0 ? 1 : e->os == EEXIST ? 0 : -1;
}

/* The second half of the grace is for the request that makes the image.  Where that has
 * taken longer, gc may have removed what the image needs.  The image stays: it could be
 * that of another writer, since gc may have removed the claim, too. */
static int
check_late(const struct store *s, const struct store_name *name, struct err *e)
{
	if ((clock_boot_us() - s->looked_at_us) / SECOND_US < s->grace_seconds)
		return 0;
	return err_set(e, ERR_IO,
	    "%s:%" PRIu32 ": was put later than the store's grace period of %" PRIu64
	    " seconds allows, so data that it needs may be gone (emustore verify tells)",
	    name->name, name->version, s->grace_seconds);
}

static int
put_claimed(struct writer *w, const struct store_name *name, bool fresh, const char *key,
    const struct buf *object, struct err *e)
{
	struct objects *o = w->s->objects;
	char claim[KEY_BYTES];
	struct err ignored;
	int rc = claim_image(w->s, name, fresh, claim, e);

	if (rc != 1)
		return rc;
	if (store_check_age(w->s, e) != 0) {
		o->ops->remove(o->ctx, claim, &ignored);
		return -1;
	}
	/* A request without an answer may still do its work later, so the claim stays
	 * until gc finds that it is old. */
	rc = o->ops->put(o->ctx, key, object->base, object->len, e);
	changes_note(w->s, key, rc == 0);
	if (rc != 0 || check_late(w->s, name, e) != 0)
		return -1;
	note_given(w, name);
	o->ops->remove(o->ctx, claim, &ignored); /* if this fails, gc removes the claim */
	return 1;
}

static int
err_no_version(const struct store_name *name, struct err *e)
{
	return err_set(e, ERR_REFUSED,
	    "%s: there is no version behind %d; name a version that is free", name->name,
	    INT32_MAX);
}

/* Choose the version after the latest one of this name that the index has, and after all
 * that were given before. */
static int
choose_version(struct writer *w, struct store_name *name, struct err *e)
{
	struct index_image *old = malloc(sizeof *old);
	uint32_t highest;

	if (old == NULL)
		return err_nomem(e, "an image");
	int found = store_find_image(w->s, name, old, e);
	uint32_t latest = found == 1 ? old->about.name.version : 0;
	free(old);
	if (found < 0 || given_highest(w->s, name->name, &highest, e) != 0)
		return -1;
	name->version = (latest > highest ? latest : highest) + 1;
	return 0;
}

/* fresh: the number was chosen here, and must be one that was never given. */
static int
put_version(struct writer *w, struct recipe_image *about, bool fresh, const struct buf *blocks,
    const struct buf *digests, struct buf *object, struct err *e)
{
	char key[KEY_BYTES];

	if (make_object(object, about, blocks, digests, w->chance, e) != 0)
		return -1;
	key_of_image(&about->name, key);
	return w->s->objects->ops->exclusive
	           ? put_exclusive(w, &about->name, key, object, e)
	           : put_claimed(w, &about->name, fresh, key, object, e);
}

/* Say that there is an image of this version, or in a bucket another claim to it. */
static void
err_taken(const struct writer *w, const struct store_name *name, struct err *e)
{
	err_set(e, ERR_REFUSED, "%s:%" PRIu32 " is in the store already%s", name->name,
	    name->version,
	    w->s->objects->ops->exclusive
	        ? ""
	        : ", or has been claimed by a put that is under way or was cut short (gc "
	          "removes a claim that is older than the grace period)");
	e->os = EEXIST;
}

int
writer_put_image(struct writer *w, struct recipe_image *about, const struct buf *blocks,
    const struct buf *digests, uint64_t *bytes, struct err *e)
{
	bool any = about->name.version == 0;
	struct buf object = { 0 };
	int rc = any ? choose_version(w, &about->name, e) : 0;

	if (rc == 0)
		rc = writer_flush(w, e);
	if (rc == 0)
		rc = counted_condemn(&w->counted, w->s, e);
	for (int tries = 0; rc == 0 && tries < VERSION_TRIES; tries++) {
		rc = about->name.version > INT32_MAX
		         ? err_no_version(&about->name, e)
		         : put_version(w, about, any, blocks, digests, &object, e);
		if (rc != 0 || !any)
			break;
		about->name.version++; /* another writer has made this version */
	}
	if (rc == 0)
		err_taken(w, &about->name, e);
	*bytes = object.len;
	buf_free(&object);
	return rc == 1 ? 0 : -1;
}
