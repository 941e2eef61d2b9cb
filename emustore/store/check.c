/* check.c: looks at every pack, and then whether each image has all that it needs.
 *
 * Others may write meanwhile.  What gc takes away has its table removed first: so a pack that
 * is not there is missing only if its table is there still.  An image that lacks something is
 * looked at again as long as the store has changed since.  Called by the program and by
 * repair.c, in one thread; blocks are read by several.
 */
#include "emustore/store/check.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emustore/store/fetch.h"
#include "emustore/store/parallel.h"
#include "emustore/store/stored.h"

enum { LOOKS = 20 };

void
check_free(struct check *c)
{
	for (size_t i = 0; i < c->npacks; i++)
		free(c->packs[i].bad);
	free(c->packs);
	c->packs = NULL;
	c->npacks = 0;
}

static void __attribute__((format(printf, 2, 3)))
tell(struct check *c, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	c->problems++;
	if (c->problem != NULL)
		c->problem(c->arg, text);
}

/* Does the error say that something of the store is damaged or lacking?  All others, as
 * too many open files or an answer that did not come, say nothing of what is there. */
static bool
is_damage(const struct err *e)
{
	return e->kind == ERR_FORMAT || e->kind == ERR_UNSUPPORTED || e->os == ENOENT;
}

struct checking {
	struct check *c;
	struct store *s;
	struct listing packs;
	/* Of the pack whose data are read: */
	struct pack_state *now;
	struct buf digests;
};

static int
compare_number(const void *key, const void *x)
{
	uint32_t a = *(const uint32_t *)key, b = ((const struct pack_state *)x)->p.number;

	return (a > b) - (a < b);
}

static struct pack_state *
find_state(const struct check *c, uint32_t number)
{
	return c->npacks == 0 ? NULL
	                      : bsearch(&number, c->packs, c->npacks, sizeof *c->packs,
				    compare_number);
}

bool
check_is_good(const struct check *c, const struct index_place *p)
{
	const struct pack_state *t = find_state(c, p->pack);
	uint64_t end = p->at + FRAGMENT_DATA_AT + p->bytes;

	if (t == NULL || !t->whole || end > t->p.bytes)
		return false;
	for (uint64_t i = p->at / TOC_BLOCK_BYTES;
	     t->bad != NULL && i <= (end - 1) / TOC_BLOCK_BYTES; i++)
		if (t->bad[i])
			return false;
	return true;
}

static uint32_t
blocks_of(const struct pack_state *t)
{
	return (uint32_t)((t->p.bytes + TOC_BLOCK_BYTES - 1) / TOC_BLOCK_BYTES);
}

static int
check_block(void *arg, size_t i, struct err *e)
{
	struct checking *k = arg;
	uint8_t *bytes = malloc(TOC_BLOCK_BYTES);

	if (bytes == NULL)
		return err_nomem(e, "a block");
	int rc = blocks_fetch(k->s->objects, k->now->p.id, k->now->p.bytes,
	    k->digests.base, (uint32_t)i, bytes, e);
	free(bytes);
	if (rc == 0)
		return 0;
	if (e->kind != ERR_FORMAT)
		return -1;
	k->now->bad[i] = 1;
	return 0;
}

/* Check all blocks of a pack.  1: they are right; 0: some are damaged; -1, with ENOENT if
 * the pack is gone. */
static int
check_data(struct checking *k, struct pack_state *t, struct err *e)
{
	struct index_pack p;
	uint32_t n = blocks_of(t);
	bool any = false;

	k->now = t;
	k->digests.len = 0;
	t->bad = calloc(n + 1u, 1);
	if (t->bad == NULL)
		return err_nomem(e, "the list of packs");
	if (index_get_pack(k->s->index, t->p.number, &p, &k->digests, e) != 1 ||
	    parallel_do(n, k->s->folder ? 2 : STORE_REQUESTS, check_block, k, e) != 0)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		any = any || t->bad[i];
	if (!any) {
		free(t->bad);
		t->bad = NULL;
	}
	return !any;
}

/* Whether the pack still belongs to the store, which is asked last: 1, 0, -1. */
static int
is_there_still(struct checking *k, const struct pack_state *t, struct err *e)
{
	struct listing l = { 0 };
	char key[KEY_BYTES];

	key_of_table(t->p.id, key);
	int rc = listing_get(&l, k->s->objects, key, NULL, e);
	if (rc == 0)
		rc = l.n > 0;
	listing_free(&l);
	return rc;
}

static void
tell_pack(struct checking *k, const struct pack_state *t, const struct listed *x)
{
	const char *dir = store_title(k->s);

	if (x == NULL)
		tell(k->c, "%s: pack %.12s...: is missing", dir, t->p.id);
	else if (!t->whole)
		tell(k->c, "%s: pack %.12s...: has %" PRIu64 " bytes, not %" PRIu64, dir,
		    t->p.id, x->bytes, t->p.bytes);
	for (uint32_t i = 0; t->whole && t->bad != NULL && i < blocks_of(t); i++)
		if (t->bad[i])
			tell(k->c,
			    "%s: pack %.12s...: the SHA-256 of its block %u is wrong", dir,
			    t->p.id, i);
}

static int
check_pack(struct checking *k, struct pack_state *t, struct err *e)
{
	char key[KEY_BYTES];
	int good = 0;

	key_of_pack(t->p.id, key);
	const struct listed *x = listing_find(&k->packs, key + strlen(KEYS_PACKS));
	t->whole = x != NULL && x->bytes == t->p.bytes;
	if (t->whole)
		good = k->c->data ? check_data(k, t, e) : 1;
	if (good < 0 && e->os != ENOENT)
		return -1;
	if (good < 0)
		t->whole = false, x = NULL;
	int there = good == 1 ? 1 : is_there_still(k, t, e);
	if (there < 0)
		return -1;
	if (good != 1 && there == 1)
		tell_pack(k, t, x);
	k->c->bytes += t->p.bytes;
	if (k->c->progress != NULL)
		k->c->progress(k->c->arg, k->c->bytes);
	return 0;
}

static int
add_state(void *arg, const struct index_pack *p, struct err *e)
{
	struct check *c = arg;

	if (find_state(c, p->number) != NULL)
		return 0;
	struct pack_state *v = realloc(c->packs, (c->npacks + 1) * sizeof *v);
	if (v == NULL)
		return err_nomem(e, "the list of packs");
	c->packs = v;
	v[c->npacks++] = (struct pack_state){ .p = *p };
	return 0;
}

/* Check the packs that were not checked yet: new packs have higher numbers. */
static int
check_packs(struct checking *k, struct err *e)
{
	size_t first = k->c->npacks;
	int rc = listing_get(&k->packs, k->s->objects, KEYS_PACKS, NULL, e);

	if (rc == 0)
		rc = index_each_pack(k->s->index, add_state, k->c, e);
	for (size_t i = first; i < k->c->npacks && rc == 0; i++)
		rc = check_pack(k, &k->c->packs[i], e);
	return rc;
}

static int
need_good(void *arg, const struct index_place *p, struct err *e)
{
	struct checking *k = arg;

	return check_is_good(k->c, p)
	           ? 0
	           : err_set(e, ERR_FORMAT, "a fragment is damaged or missing");
}

static int
add_to_digest(void *sha, const void *chunk, struct err *e)
{
	(void)e;
	EVP_DigestUpdate(sha, chunk, NDZ_CHUNK_BYTES);
	return 0;
}

static void
tell_equivalents(struct check *c, const struct recipe_image *a, uint64_t n)
{
	char text[300];

	c->equivalents += n;
	snprintf(text, sizeof text,
	    "%s: %" PRIu64 " chunks are served with their data in other compressed "
	                   "bytes, because this zlib is not the one that made them",
	    stored_title(a).text, n);
	if (n > 0 && c->note != NULL)
		c->note(c->arg, text);
}

/* Compare the SHA-256 of the whole image with that of the image that was put. */
static int
check_bytes(struct checking *k, struct reopened *r, struct err *e)
{
	const struct recipe_image *a = reopened_about(r);
	EVP_MD_CTX *sha = EVP_MD_CTX_new();
	uint8_t digest[SHA256_BYTES];
	uint64_t equivalents = 0;
	int rc = sha == NULL || EVP_DigestInit_ex(sha, EVP_sha256(), NULL) != 1
	             ? err_nomem(e, "a digest")
	             : 0;

	if (rc == 0)
		rc = fetch_chunks(&(struct fetch){ .image = r,
				      .to = a->chunks,
				      .jobs = k->c->jobs,
				      .fn = add_to_digest,
				      .arg = sha },
		    &equivalents, e);
	if (rc == 0 && equivalents > 0)
		tell_equivalents(k->c, a, equivalents);
	else if (rc == 0 && (EVP_DigestFinal_ex(sha, digest, NULL) != 1 ||
				memcmp(digest, a->sha256, sizeof digest) != 0))
		rc = err_set(e, ERR_FORMAT,
		    "%s: its SHA-256 differs from that of the image that was put",
		    stored_title(a).text);
	EVP_MD_CTX_free(sha);
	return rc;
}

static int
check_image(struct checking *k, const struct index_image *i, struct err *e)
{
	struct stored *d;

	if (stored_each_fragment(k->s, i, need_good, k, e) != 0 ||
	    stored_open_image(&d, k->s, i, e) != 0)
		return -1;
	struct reopened *r = reopened_of(d);
	if (r == NULL) {
		stored_free(d);
		return err_nomem(e, "an image");
	}
	int rc = k->c->data ? check_bytes(k, r, e) : 0;
	reopened_free(r);
	return rc;
}

/* After an image was found to be damaged, look at the store again, and read the image
 * into *i.  1: the store has changed; 0: the image does not exist any more; 2: nothing
 * has changed; -1. */
static int
look_again(struct checking *k, struct index_image *i, struct err *e)
{
	struct store_name name = i->about.name;
	uint64_t before = k->s->rows_changed;

	if (store_refresh(k->s, e) != 0 || check_packs(k, e) != 0)
		return -1;
	int rc = index_find_image(k->s->index, &name, i, e);
	return rc == 1 && k->s->rows_changed == before ? 2 : rc;
}

static int
check_named(struct checking *k, const struct store_name *name, struct err *e)
{
	struct index_image *i = malloc(sizeof *i);
	struct err why;
	int there = i == NULL ? err_nomem(e, "an image")
	                      : index_find_image(k->s->index, name, i, e);
	bool bad = there == 1 && check_image(k, i, &why) != 0;

	for (int looks = 0; bad && there == 1 && looks < LOOKS; looks++) {
		if (!is_damage(&why)) {
			*e = why;
			there = -1;
			break;
		}
		there = look_again(k, i, e);
		if (there == 1)
			bad = check_image(k, i, &why) != 0;
	}
	if (there > 0) {
		k->c->images++;
		k->c->bad_images += bad;
		if (bad)
			tell(k->c, "%s", why.text);
	}
	free(i);
	return there < 0 ? -1 : 0;
}

/* Note the names first, since the index changes while images are checked. */
static int
note_name(void *arg, const struct index_image *i, struct err *e)
{
	struct buf *names = arg;

	buf_bytes(names, &i->about.name, sizeof i->about.name);
	return buf_ok(names) ? 0 : err_nomem(e, "the list of images");
}

static int
check_images(struct checking *k, struct err *e)
{
	struct buf names = { 0 };
	struct store_name name;
	int rc = index_each_image(k->s->index, note_name, &names, e);

	for (size_t at = 0; rc == 0 && at < names.len; at += sizeof name) {
		memcpy(&name, names.base + at, sizeof name);
		rc = check_named(k, &name, e);
	}
	buf_free(&names);
	return rc;
}

int
check_store(struct check *c, struct store *s, struct err *e)
{
	struct checking k = { .c = c, .s = s };
	struct index_totals t;

	if (s->unreadable > 0)
		tell(c, "%s: %" PRIu64 " objects cannot be read; the first: %s",
		    store_title(s), s->unreadable, s->first_unreadable);
	c->images = c->bad_images = s->unreadable_images;
	int rc = check_packs(&k, e);
	if (rc == 0)
		rc = check_images(&k, e);
	if (rc == 0)
		rc = index_totals(s->index, &t, e);
	c->fragments = rc == 0 ? t.fragments : 0;
	listing_free(&k.packs);
	buf_free(&k.digests);
	return rc;
}
