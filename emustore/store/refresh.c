/* refresh.c: brings the index up to date with the objects.  When a store is opened whose mark
 * (changes.h) is not that of the index, the lists of images, tables and condemned packs are
 * asked for, in this order, and the objects that are new are fetched.  What an image needs
 * was there before the image, so it is in the lists that are asked for later.  Called by
 * store.c, and again by check.c, repair.c, copy.c and stored.c, in the thread that has
 * the store open.
 *
 * The mark is always read before the lists are asked for, and written to the index in the
 * transaction that brings it up to date: the index has all that was there when the store
 * got this mark. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/rd.h"
#include "emustore/store/parallel.h"
#include "emustore/store/store_impl.h"

enum {
	BATCH = 64, /* objects that are fetched together */
	ABOUT_BYTES_MAX = 64 << 10,
	TABLE_TRIES = 3, /* an answer may be altered on its way, three in a row are not */
	/* Changes in a bucket that a writer looks up one by one, with two requests each.
	 * If there are more, the program that opens the store next asks for the lists,
	 * which is no more work. */
	OWN_MAX = 50,
};

/* Count an object that cannot be read, and note why the first one cannot; the other
 * objects are used all the same. */
static void
note_unreadable(struct store *s, const char *folder, const struct err *why)
{
	s->unreadable_images += strcmp(folder, KEYS_IMAGES) == 0;
	if (s->unreadable++ == 0)
		snprintf(
		    s->first_unreadable, sizeof s->first_unreadable, "%s", why->text);
}

struct fetched {
	const struct listed *listed;
	struct buf bytes;
	bool bad; /* the object cannot be used; err says why */
	struct err err;
};

struct batch {
	struct store *s;
	const char *folder;
	size_t n, most; /* most: bytes that are fetched of each object */
	/* Is the object what its key says?  ERR_FORMAT concerns this object only. */
	int (*check)(const struct fetched *, struct err *);
	struct fetched items[BATCH];
};

static int
fetch_once(struct batch *b, struct fetched *f, const char *key, struct err *e)
{
	struct objects *o = b->s->objects;
	size_t n = f->listed->bytes < b->most ? (size_t)f->listed->bytes : b->most;

	f->bytes.len = 0;
	if (n == 0)
		return err_set(e, ERR_FORMAT, "%s: is empty", key);
	uint8_t *to = buf_room(&f->bytes, n);
	if (to == NULL)
		return err_nomem(e, key);
	if (o->ops->get(o->ctx, key, 0, n, to, e) != 0)
		return -1;
	f->bytes.len = n;
	return b->check(f, e);
}

/* Fetch one object.  ERR_FORMAT, ERR_UNSUPPORTED and ENOENT concern this object only, and
 * are noted in it; other failures are those of the store, and are returned.  An answer may
 * have been altered on its way, so a damaged object is fetched again, TABLE_TRIES times in
 * all. */
static int
fetch_one(void *arg, size_t i, struct err *e)
{
	struct batch *b = arg;
	struct fetched *f = &b->items[i];
	char key[OBJECT_KEY_MAX + 32];
	int rc = -1;

	snprintf(key, sizeof key, "%s%s", b->folder, f->listed->key);
	for (int tries = 0; tries < TABLE_TRIES && rc != 0; tries++) {
		rc = fetch_once(b, f, key, e);
		if (rc != 0 && e->kind != ERR_FORMAT)
			break;
	}
	f->bad = rc != 0 && (e->kind == ERR_FORMAT || e->kind == ERR_UNSUPPORTED ||
				e->os == ENOENT);
	if (f->bad)
		f->err = *e;
	return f->bad ? 0 : rc;
}

/* Adds one fetched object to the index.  The objects of a batch are added one after the
 * other. */
typedef int add_fn(struct store *, const struct fetched *, struct err *);

/* An object that cannot be used counts, unless it was removed since it was listed. */
static int
pass_over(struct batch *b, const struct fetched *f, struct err *e)
{
	char key[OBJECT_KEY_MAX + 32];
	int there = 1;

	snprintf(key, sizeof key, "%s%s", b->folder, f->listed->key);
	if (f->err.os == ENOENT)
		there = objects_have(b->s->objects, key, e);
	if (there == 1)
		note_unreadable(b->s, b->folder, &f->err);
	return there < 0 ? -1 : 0;
}

static int
end_batch(struct batch *b, add_fn *add, struct err *e)
{
	int rc = parallel_do(
	    b->n, b->s->folder ? 1 : STORE_REQUESTS, fetch_one, b, e);

	for (size_t i = 0; i < b->n && rc == 0; i++) {
		struct fetched *f = &b->items[i];
		rc = f->bad ? pass_over(b, f, e) : add(b->s, f, e);
	}
	b->n = 0;
	return rc;
}

/* One kind of object: how its listing is compared with the index.  known() returns 1 when
 * the index has the object, 0 when it does not, 2 when the key is not that of such an
 * object, -1 on failure. */
struct kind {
	const char *folder;
	size_t most;
	int (*known)(struct store *, const struct listed *, struct err *);
	int (*check)(const struct fetched *, struct err *);
	add_fn *add;
};

static int
fetch_new(
    struct store *s, const struct listing *l, const struct kind *k, struct err *e)
{
	struct batch *b = calloc(1, sizeof *b);
	int rc = b == NULL ? err_nomem(e, "a list of objects") : 0;

	if (b != NULL)
		*b = (struct batch){
			.s = s, .folder = k->folder, .most = k->most, .check = k->check
		};
	for (size_t i = 0; i < l->n && rc == 0; i++) {
		int there = k->known(s, &l->v[i], e);
		if (there < 0)
			rc = -1;
		if (there == 0)
			b->items[b->n++].listed = &l->v[i];
		if (rc == 0 && b->n == BATCH)
			rc = end_batch(b, k->add, e);
	}
	if (rc == 0)
		rc = end_batch(b, k->add, e);
	for (int i = 0; b != NULL && i < BATCH; i++)
		buf_free(&b->items[i].bytes);
	free(b);
	return rc;
}

static int
knows_table(struct store *s, const struct listed *x, struct err *e)
{
	char id[PACK_ID_CHARS + 1];
	struct index_pack p;

	return key_is_table(x->key, id) ? index_find_pack(s->index, id, &p, e) : 2;
}

static int
check_table(const struct fetched *f, struct err *e)
{
	char id[PACK_ID_CHARS + 1];
	struct toc t;

	key_is_table(f->listed->key, id);
	return toc_open(&t, id, f->bytes.base, f->bytes.len, e);
}

static int
add_table(struct store *s, const struct fetched *f, struct err *e)
{
	char id[PACK_ID_CHARS + 1];
	struct toc t;

	key_is_table(f->listed->key, id);
	s->rows_changed++;
	if (toc_open(&t, id, f->bytes.base, f->bytes.len, e) != 0)
		return -1;
	return index_add_pack(s->index, id, &t, e);
}

static int
knows_image(struct store *s, const struct listed *x, struct err *e)
{
	struct index_image i;
	struct store_name name;
	char key[KEY_BYTES];

	if (!key_is_image(x->key, &name))
		return 2;
	key_of_image(&name, key);
	return index_find_key(s->index, key, &i, e);
}

static int
read_about(const struct fetched *f, struct recipe_image *about, struct err *e)
{
	struct rd rd = rd_from(f->bytes.base, f->bytes.len), body;
	struct record_head h;
	struct store_name name;

	key_is_image(f->listed->key, &name);
	if (!record_next(&rd, &h, &body) || h.type != RECORD_ABOUT)
		return err_set(e, ERR_FORMAT, "%s%s: its recipe is damaged", KEYS_IMAGES,
		    f->listed->key);
	if (recipe_get_image(about, &body, e) != 0)
		return err_ctx(e, "%s%s", KEYS_IMAGES, f->listed->key);
	if (strcmp(about->name.name, name.name) == 0 &&
	    about->name.version == name.version)
		return 0;
	return err_set(e, ERR_FORMAT, "%s%s: its recipe belongs to another image",
	    KEYS_IMAGES, f->listed->key);
}

static int
check_image(const struct fetched *f, struct err *e)
{
	struct recipe_image *about = malloc(sizeof *about);
	int rc = about == NULL ? err_nomem(e, "an image") : read_about(f, about, e);

	free(about);
	return rc;
}

static int
add_image(struct store *s, const struct fetched *f, struct err *e)
{
	struct index_image *i = calloc(1, sizeof *i);
	int rc = i == NULL ? err_nomem(e, "an image") : read_about(f, &i->about, e);

	if (rc == 0) {
		key_of_image(&i->about.name, i->key);
		snprintf(i->etag, sizeof i->etag, "%s", f->listed->etag);
		i->bytes = f->listed->bytes;
		rc = index_add_image(s->index, i, e);
		s->rows_changed++;
	}
	free(i);
	return rc;
}

static const struct kind kind_table = { KEYS_TABLES, TOC_BYTES_MAX, knows_table,
	check_table, add_table },
			 kind_image = { KEYS_IMAGES, ABOUT_BYTES_MAX, knows_image,
				 check_image, add_image };

/* The numbers of rows of the index whose objects are no longer there, or have been
 * replaced by others. */
struct gone {
	struct store *s;
	struct buf numbers; /* u64 */
};

static int
note_gone_image(void *arg, const struct index_image *i, struct err *e)
{
	struct gone *g = arg;
	const struct listed *x = listing_find(
	    &g->s->images, i->key + strlen(KEYS_IMAGES));

	if (x == NULL || x->bytes != i->bytes || strcmp(x->etag, i->etag) != 0)
		buf_bytes(&g->numbers, &i->number, sizeof i->number);
	return buf_ok(&g->numbers) ? 0 : err_nomem(e, "a list");
}

static int
note_gone_pack(void *arg, const struct index_pack *p, struct err *e)
{
	struct gone *g = arg;
	char key[KEY_BYTES];
	uint64_t number = p->number;

	key_of_table(p->id, key);
	if (listing_find(&g->s->tables, key + strlen(KEYS_TABLES)) == NULL)
		buf_bytes(&g->numbers, &number, sizeof number);
	return buf_ok(&g->numbers) ? 0 : err_nomem(e, "a list");
}

static int
drop_gone(struct gone *g, bool packs, struct err *e)
{
	uint64_t number;

	for (size_t i = 0; i < g->numbers.len; i += sizeof number) {
		memcpy(&number, g->numbers.base + i, sizeof number);
		g->s->rows_changed++;
		if ((packs ? index_drop_pack(g->s->index, (uint32_t)number, e)
			   : index_drop_image(g->s->index, number, e)) != 0)
			return -1;
	}
	return 0;
}

static int
remove_gone(struct store *s, bool *settle, struct err *e)
{
	struct gone images = { .s = s }, packs = { .s = s };
	int rc = index_each_image(s->index, note_gone_image, &images, e);

	if (rc == 0)
		rc = drop_gone(&images, false, e);
	if (rc == 0)
		rc = index_each_pack(s->index, note_gone_pack, &packs, e);
	if (rc == 0)
		rc = drop_gone(&packs, true, e);
	*settle = packs.numbers.len > 0;
	buf_free(&images.numbers);
	buf_free(&packs.numbers);
	return rc;
}

static int
condemn_listed(struct store *s, bool *settle, struct err *e)
{
	struct index_pack p;

	for (size_t i = 0; i < s->condemned.n; i++) {
		int rc = pack_id_ok(s->condemned.v[i].key)
		             ? index_find_pack(s->index, s->condemned.v[i].key, &p, e)
		             : 0;
		if (rc < 0)
			return -1;
		if (rc == 0 || p.condemned)
			continue;
		if (index_condemn(s->index, p.number, e) != 0)
			return -1;
		*settle = true;
	}
	return 0;
}

static int
update(struct store *s, struct err *e)
{
	uint64_t before = s->rows_changed;
	bool settle;

	s->unreadable = s->unreadable_images = 0;
	s->first_unreadable[0] = '\0';
	if (remove_gone(s, &settle, e) != 0 ||
	    fetch_new(s, &s->tables, &kind_table, e) != 0 ||
	    condemn_listed(s, &settle, e) != 0)
		return -1;
	/* A new pack may have fragments that only condemned packs had. */
	settle = settle || (s->rows_changed > before && s->condemned.n > 0);
	if (settle && index_settle(s->index, e) != 0)
		return -1;
	return fetch_new(s, &s->images, &kind_image, e);
}

/* Run one change of the index in a transaction, while no other process brings it up to date
 * (cache_lock()). */
static int
in_transaction(struct store *s, int (*fn)(struct store *, struct err *), struct err *e)
{
	if (cache_lock(s, e) != 0)
		return -1;
	int rc = cache_is_current(s) ? index_begin(s->index, true, e)
	                             : err_set(e, ERR_IO, "%s: the index was replaced", s->cache);
	if (rc == 0) {
		rc = fn(s, e);
		if (rc == 0)
			rc = index_commit(s->index, e);
		if (rc != 0)
			index_rollback(s->index);
	}
	cache_unlock(s);
	return rc;
}

/* What cannot be read is looked at again by whoever opens the store next.  Where nothing has
 * changed, and the store has no mark, nothing is written. */
static int
update_and_mark(struct store *s, struct err *e)
{
	uint64_t before = index_changes(s->index);

	if (update(s, e) != 0)
		return -1;
	if (s->unreadable > 0)
		return index_set_mark(s->index, "", e);
	if (s->mark[0] == '\0' && index_changes(s->index) == before)
		return 0;
	return index_set_mark(s->index, s->mark, e);
}

/* The index in the cache is damaged, was replaced, or has no room to grow: another one,
 * of this process alone, may do. */
static bool
may_leave(const struct store *s, const struct err *e)
{
	return s->cache != NULL && (index_failed(s->index) || !cache_is_current(s)) &&
	       e->kind != ERR_CANCELLED;
}

/* List all objects; s->mark is the mark that was read before. */
static int
list_all(struct store *s, struct err *e)
{
	s->trusted = false;
	if (listing_get(&s->images, s->objects, KEYS_IMAGES, NULL, e) != 0 ||
	    listing_get(&s->tables, s->objects, KEYS_TABLES, NULL, e) != 0 ||
	    listing_get(&s->condemned, s->objects, KEYS_CONDEMNED, &s->now, e) != 0)
		return -1;
	int rc = in_transaction(s, update_and_mark, e);
	if (rc != 0 && may_leave(s, e)) {
		rc = cache_leave(s, e->kind == ERR_FORMAT, e);
		if (rc == 0)
			rc = in_transaction(s, update_and_mark, e);
	}
	return rc;
}

int
store_doubt(struct store *s, struct err *e)
{
	if (s->cache == NULL)
		return 0;
	return cache_leave(s, true, e) == 0 && list_all(s, e) == 0 ? 1 : -1;
}

int
store_heal(struct store *s, struct err *e)
{
	if (!may_leave(s, e))
		return 0;
	if (e->kind == ERR_FORMAT)
		return store_doubt(s, e);
	return cache_leave(s, false, e) == 0 && list_all(s, e) == 0 ? 1 : -1;
}

int
store_try(struct store *s, int (*fn)(struct store *, void *, struct err *), void *arg,
    struct err *e)
{
	int rc = fn(s, arg, e);

	return rc < 0 && store_heal(s, e) == 1 ? fn(s, arg, e) : rc;
}

/* A writer marks the index with its own id, which no reader takes for a mark. */
static void
mark_as_own(struct store *s)
{
	if (s->changes.id[0] != '\0')
		snprintf(s->mark, sizeof s->mark, "%s", s->changes.id);
}

int
store_refresh(struct store *s, struct err *e)
{
	s->looked_at_us = clock_boot_us(); /* before anything is read */
	if (changes_read(s, s->mark, e) != 0)
		return -1;
	mark_as_own(s);
	return list_all(s, e);
}

int
refresh_first(struct store *s, bool writing, struct err *e)
{
	char mark[MARK_BYTES];

	s->looked_at_us = clock_boot_us(); /* before anything is read */
	if ((writing ? changes_begin(s, s->mark, e) : changes_read(s, s->mark, e)) != 0)
		return -1;
	s->trusted = s->cache != NULL && s->mark[0] != '\0' &&
	             index_get_mark(s->index, mark, sizeof mark, e) == 0 &&
	             strcmp(mark, s->mark) == 0;
	if (s->trusted)
		return 0;
	mark_as_own(s);
	return list_all(s, e);
}

/* Remove from the index what it has of this object.  *settle is set if that was a
 * pack. */
static int
drop_known(struct store *s, char *key, const struct kind *kind, bool *settle, struct err *e)
{
	char id[PACK_ID_CHARS + 1];
	struct index_image i;
	struct index_pack p;

	if (kind == &kind_image) {
		int rc = index_find_key(s->index, key, &i, e);
		return rc == 1 ? index_drop_image(s->index, i.number, e) : rc;
	}
	if (!key_is_table(key + strlen(kind->folder), id))
		return 0;
	int rc = index_find_pack(s->index, id, &p, e);
	if (rc != 1)
		return rc;
	*settle = true;
	return index_drop_pack(s->index, p.number, e);
}

/* Bring the index up to date with one object, if its key is in the folder of `kind`; a
 * list of this key alone says what there is.  *settle is set if a pack has gone. */
static int
look_at(struct store *s, char *key, const struct kind *kind, bool *settle, struct err *e)
{
	const size_t n = strlen(kind->folder);
	struct listing l = { 0 };

	if (strncmp(key, kind->folder, n) != 0)
		return 0;
	int rc = listing_get(&l, s->objects, key, NULL, e);
	const struct listed *found = rc == 0 ? listing_find(&l, "") : NULL;
	struct listed one = { .key = key + n };
	if (found != NULL) {
		one.etag = found->etag, one.bytes = found->bytes;
		one.modified = found->modified;
	}
	/* An image may have been replaced by another one, but a pack stays what it is. */
	if (rc == 0 && (found == NULL || kind == &kind_image))
		rc = drop_known(s, key, kind, settle, e);
	if (rc == 0 && found != NULL)
		rc = fetch_new(s, &(struct listing){ .n = 1, .v = &one }, kind, e);
	listing_free(&l);
	return rc;
}

/* Look at all objects of a kind that this writer has changed. */
static int
look_at_all(struct store *s, const struct kind *kind, bool *settle, struct err *e)
{
	const struct buf *keys = &s->changes.keys;
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < keys->len;
	     at += strlen((char *)keys->base + at) + 1)
		rc = look_at(s, (char *)keys->base + at, kind, settle, e);
	return rc;
}

/* Look at what this writer has changed, and give the index the mark that the store has now.
 * ERR_ABSENT: another process has changed the index since it was opened. */
static int
look_at_own(struct store *s, struct err *e)
{
	char mark[MARK_BYTES];
	bool settle = false;
	int rc = index_get_mark(s->index, mark, sizeof mark, e);

	if (rc == 0 && strcmp(mark, s->mark) != 0)
		return err_set(e, ERR_ABSENT, "the index has changed");
	if (rc == 0)
		rc = look_at_all(s, &kind_table, &settle, e);
	if (rc == 0)
		rc = look_at_all(s, &kind_image, &settle, e);
	if (rc == 0)
		rc = settle ? 1 : index_any_condemned(s->index, e);
	if (rc == 1)
		rc = index_settle(s->index, e);
	if (rc == 0 && s->unreadable > 0)
		rc = err_set(e, ERR_FORMAT, "%s", s->first_unreadable);
	return rc == 0 ? index_set_mark(s->index, s->changes.mark, e) : -1;
}

static size_t
count_keys(const struct buf *keys)
{
	size_t n = 0;

	for (size_t i = 0; i < keys->len; i++)
		n += keys->base[i] == '\0';
	return n;
}

void
refresh_last(struct store *s)
{
	struct changes *c = &s->changes;
	struct err ignored; /* whoever opens the store next lists its objects */

	changes_end(s);
	bool few = s->folder || count_keys(&c->keys) <= OWN_MAX;
	if (c->mark[0] != '\0' && s->cache != NULL && s->mark[0] != '\0' && few)
		in_transaction(s, look_at_own, &ignored);
	changes_free(s);
}
