/* remote_refresh.c: the index follows the bucket. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "emustore/store/parallel.h"
#include "emustore/store/remote_impl.h"

enum {
	LISTED_MAX = 10000000, /* a list without end must end */
	BATCH = 64,            /* fetched together */
	ABOUT_BYTES_MAX = 64 << 10,
};

void
listing_free(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].key), free(l->v[i].etag);
	free(l->v);
	*l = (struct listing){ 0 };
}

static int
add_listed(void *arg, const struct s3_object *o, struct err *e)
{
	struct listing *l = arg;

	if (l->n == LISTED_MAX)
		return err_set(e, ERR_FORMAT, "the list of objects does not end");
	if (l->n == l->cap) {
		size_t cap = 2 * l->cap + 64;
		struct listed *v = realloc(l->v, cap * sizeof *v);
		if (v == NULL)
			return err_nomem(e, "a list of objects");
		l->v = v;
		l->cap = cap;
	}
	struct listed *x = &l->v[l->n];
	*x = (struct listed){ strdup(o->key), strdup(o->etag), o->bytes, o->modified };
	l->n++;
	return x->key != NULL && x->etag != NULL ? 0
	                                         : err_nomem(e, "a list of objects");
}

int
listing_get(
    struct listing *l, struct s3 *s3, const char *folder, uint64_t *now, struct err *e)
{
	listing_free(l);
	return s3_list(s3, folder, add_listed, l, now, e);
}

static int
compare_key(const void *key, const void *x)
{
	return strcmp(key, ((const struct listed *)x)->key);
}

const struct listed *
listing_find(const struct listing *l, const char *key)
{
	return l->n == 0 ? NULL : bsearch(key, l->v, l->n, sizeof *l->v, compare_key);
}

/* One object of the bucket is of no use: the others are. */
static void
note_unreadable(struct remote *r, const struct err *why)
{
	if (r->unreadable++ == 0)
		snprintf(
		    r->first_unreadable, sizeof r->first_unreadable, "%s", why->text);
}

struct fetched {
	const struct listed *listed;
	struct buf bytes;
	bool bad; /* why is in err */
	struct err err;
};

struct batch {
	struct remote *r;
	const char *folder;
	size_t n, most; /* of each object */
	struct fetched items[BATCH];
};

/* ERR_FORMAT and ENOENT are of this object; other failures are of the store. */
static int
fetch_one(void *arg, size_t i, struct err *e)
{
	struct batch *b = arg;
	struct fetched *f = &b->items[i];
	char key[S3_KEY_MAX];
	size_t n = f->listed->bytes < b->most ? (size_t)f->listed->bytes : b->most;
	int rc;

	snprintf(key, sizeof key, "%s%s", b->folder, f->listed->key);
	f->bytes.len = 0;
	if (n == 0)
		rc = err_set(e, ERR_FORMAT, "%s: is empty", key);
	else if (buf_room(&f->bytes, n) == NULL)
		rc = err_nomem(e, key);
	else
		rc = s3_get_range(b->r->s3, key, 0, n, f->bytes.base, e);
	f->bad = rc != 0 && (e->kind == ERR_FORMAT || e->os == ENOENT);
	f->err = *e;
	return f->bad ? 0 : rc;
}

/* What is fetched goes into the index one by one; ERR_FORMAT is of that object only. */
typedef int add_fn(struct remote *, const struct fetched *, struct err *);

static int
end_batch(struct batch *b, add_fn *add, struct err *e)
{
	int rc = parallel_do(b->n, REMOTE_THREADS, fetch_one, b, e);

	for (size_t i = 0; i < b->n && rc == 0; i++) {
		struct fetched *f = &b->items[i];
		if (!f->bad && add(b->r, f, e) != 0) {
			f->bad = e->kind == ERR_FORMAT || e->kind == ERR_UNSUPPORTED;
			f->err = *e;
			rc = f->bad ? 0 : -1;
		}
		if (f->bad && f->err.os != ENOENT) /* gone since: not there */
			note_unreadable(b->r, &f->err);
	}
	b->n = 0;
	return rc;
}

/* What of a listing the index has not: known() 1, 0 or -1; 2: no object of ours. */
static int
fetch_new(struct remote *r, const struct listing *l, const char *folder, size_t most,
    int (*known)(struct remote *, const struct listed *, struct err *), add_fn *add,
    struct err *e)
{
	struct batch *b = calloc(1, sizeof *b);
	int rc = b == NULL ? err_nomem(e, "a list of objects") : 0;

	if (b != NULL)
		*b = (struct batch){ .r = r, .folder = folder, .most = most };
	for (size_t i = 0; i < l->n && rc == 0; i++) {
		int there = known(r, &l->v[i], e);
		if (there < 0)
			rc = -1;
		if (there == 0)
			b->items[b->n++].listed = &l->v[i];
		if (rc == 0 && b->n == BATCH)
			rc = end_batch(b, add, e);
	}
	if (rc == 0)
		rc = end_batch(b, add, e);
	for (int i = 0; b != NULL && i < BATCH; i++)
		buf_free(&b->items[i].bytes);
	free(b);
	return rc;
}

static int
knows_table(struct remote *r, const struct listed *x, struct err *e)
{
	char id[PACK_ID_CHARS + 1];
	struct index_object o;

	if (!key_is_table(x->key, id))
		return 2;
	return index_find_object(r->index, id, &o, e);
}

static int
add_table(struct remote *r, const struct fetched *f, struct err *e)
{
	char id[PACK_ID_CHARS + 1];
	struct toc t;

	key_is_table(f->listed->key, id);
	r->added++;
	if (toc_open(&t, id, f->bytes.base, f->bytes.len, e) != 0)
		return -1;
	return index_add_pack(r->index, id, &t, e);
}

static int
knows_image(struct remote *r, const struct listed *x, struct err *e)
{
	char key[REMOTE_KEY_BYTES];
	struct store_name name;
	struct index_recipe k;

	if (!key_is_image(x->key, &name))
		return 2;
	key_of_image(&name, key);
	return index_find_recipe(r->index, key, &k, e);
}

static int
add_image(struct remote *r, const struct fetched *f, struct err *e)
{
	struct index_image *i = calloc(1, sizeof *i);
	struct rd rd = rd_from(f->bytes.base, f->bytes.len), body;
	struct record_head h;
	struct store_name name;
	struct index_recipe k = { .bytes = f->listed->bytes };

	if (i == NULL)
		return err_nomem(e, "an image");
	key_is_image(f->listed->key, &name);
	key_of_image(&name, k.key);
	snprintf(k.etag, sizeof k.etag, "%s", f->listed->etag);
	int rc = 0;
	if (!record_next(&rd, &h, &body) || h.type != RECORD_ABOUT)
		rc = err_set(e, ERR_FORMAT, "%s: its recipe is damaged", k.key);
	if (rc == 0)
		rc = recipe_get_image(&i->about, &body, e);
	if (rc == 0 && (strcmp(i->about.name.name, name.name) != 0 ||
			   i->about.name.version != name.version))
		rc = err_set(e, ERR_FORMAT, "%s: its recipe is another image's", k.key);
	if (rc == 0)
		rc = index_next(r->index, INDEX_NEXT_IMAGE, &i->number, e);
	if (rc == 0)
		rc = index_set_next(r->index, INDEX_NEXT_IMAGE, i->number + 1, e);
	i->bytes = k.bytes;
	k.number = i->number;
	if (rc == 0)
		rc = index_add_image(r->index, i, e);
	if (rc == 0)
		rc = index_add_recipe(r->index, &k, e);
	free(i);
	return rc;
}

/* Rows of the index whose objects are not there any more, or others. */
struct gone {
	struct remote *r;
	struct buf numbers; /* u64 */
};

static int
note_gone_recipe(void *arg, const struct index_recipe *k, struct err *e)
{
	struct gone *g = arg;
	const struct listed *x = listing_find(
	    &g->r->images, k->key + strlen("images/"));

	if (x == NULL || x->bytes != k->bytes || strcmp(x->etag, k->etag) != 0)
		buf_bytes(&g->numbers, &k->number, sizeof k->number);
	return buf_ok(&g->numbers) ? 0 : err_nomem(e, "a list");
}

static int
note_gone_pack(void *arg, const struct index_object *o, struct err *e)
{
	struct gone *g = arg;
	char key[REMOTE_KEY_BYTES];
	uint64_t number = o->number;

	key_of_table(o->id, key);
	if (listing_find(&g->r->tables, key + strlen("tables/")) == NULL)
		buf_bytes(&g->numbers, &number, sizeof number);
	return buf_ok(&g->numbers) ? 0 : err_nomem(e, "a list");
}

static int
drop_gone(struct gone *g, bool packs, struct err *e)
{
	uint64_t number;
	int rc = 0;

	for (size_t at = 0; at < g->numbers.len && rc == 0; at += sizeof number) {
		memcpy(&number, g->numbers.base + at, sizeof number);
		rc = packs ? index_drop_object(g->r->index, (uint32_t)number, e)
		           : index_drop_recipe(g->r->index, number, e);
	}
	return rc;
}

static int
remove_gone(struct remote *r, bool *settle, struct err *e)
{
	struct gone images = { .r = r }, packs = { .r = r };
	int rc = index_each_recipe(r->index, note_gone_recipe, &images, e);

	if (rc == 0)
		rc = drop_gone(&images, false, e);
	if (rc == 0)
		rc = index_each_object(r->index, note_gone_pack, &packs, e);
	if (rc == 0)
		rc = drop_gone(&packs, true, e);
	*settle = packs.numbers.len > 0;
	buf_free(&images.numbers);
	buf_free(&packs.numbers);
	return rc;
}

static int
condemn_listed(struct remote *r, bool *settle, struct err *e)
{
	struct index_object o;

	for (size_t i = 0; i < r->condemned.n; i++) {
		int rc = pack_id_ok(r->condemned.v[i].key)
		             ? index_find_object(r->index, r->condemned.v[i].key, &o, e)
		             : 0;
		if (rc < 0)
			return -1;
		if (rc == 0 || o.condemned)
			continue;
		if (index_condemn(r->index, o.number, e) != 0)
			return -1;
		*settle = true;
	}
	return 0;
}

static int
update_index(struct remote *r, struct err *e)
{
	bool settle;

	r->added = 0;
	if (remove_gone(r, &settle, e) != 0 ||
	    fetch_new(r, &r->tables, "tables/", TOC_BYTES_MAX, knows_table, add_table,
		e) != 0 ||
	    condemn_listed(r, &settle, e) != 0)
		return -1;
	/* What is new may have what only condemned ones had. */
	settle = settle || (r->added > 0 && r->condemned.n > 0);
	if (settle && index_settle(r->index, e) != 0)
		return -1;
	return fetch_new(
	    r, &r->images, "images/", ABOUT_BYTES_MAX, knows_image, add_image, e);
}

int
remote_refresh(struct remote *r, struct err *e)
{
	r->looked_at = remote_clock();
	r->unreadable = 0;
	r->first_unreadable[0] = '\0';
	/* Images first: whatever they need was there before, and is in the lists that
	 * follow. */
	if (listing_get(&r->images, r->s3, "images/", NULL, e) != 0 ||
	    listing_get(&r->tables, r->s3, "tables/", NULL, e) != 0 ||
	    listing_get(&r->condemned, r->s3, "condemned/", &r->server_now, e) != 0)
		return -1;
	while (flock(r->lock_fd, LOCK_EX) != 0)
		if (errno != EINTR)
			return err_os(e, "%s/lock", r->dir);
	int rc = index_begin(r->index, true, e);
	if (rc == 0) {
		rc = update_index(r, e);
		if (rc == 0)
			rc = index_commit(r->index, e);
		if (rc != 0)
			index_rollback(r->index);
	}
	flock(r->lock_fd, LOCK_UN);
	return rc;
}
