#include "emustore/store/check.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emustore/store/remote_check.h"
#include "emustore/store/stored.h"

int
marks_add_used(void *arg, uint64_t number, struct err *e)
{
	struct marks *m = arg;

	if (number >= m->n)
		return err_set(e, ERR_FORMAT,
		    "fragment %" PRIu64 " is not among those that the index gave",
		    number);
	marks_add(m, number);
	return 0;
}

int
marks_new(struct marks *m, struct store *s, struct err *e)
{
	if (index_next(s->index, INDEX_NEXT_FRAGMENT, &m->n, e) != 0)
		return -1;
	m->bits = m->n < UINT64_MAX - 8 ? calloc(m->n / 8 + 1, 1) : NULL;
	return m->bits != NULL ? 0 : err_nomem(e, "a mark for each fragment");
}

void
check_free(struct check *c)
{
	free(c->good.bits);
	free(c->elsewhere.bits);
	c->good.bits = c->elsewhere.bits = NULL;
}

void
check_problem(struct check *c, const char *fmt, ...)
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

bool
check_is_damage(const struct err *e)
{
	return e->kind == ERR_FORMAT || e->kind == ERR_UNSUPPORTED || e->os == ENOENT;
}

struct pack_check {
	struct check *c;
	struct store *s;
	struct packs *packs; /* this one is open, and none of those before */
	uint32_t slot, number;
	uint64_t before; /* bytes of the packs before this one */
};

static bool
has_digest(const uint8_t *data, size_t n, const uint8_t want[SHA256_BYTES])
{
	uint8_t digest[SHA256_BYTES];
	unsigned len = sizeof digest;

	return EVP_Digest(data, n, digest, &len, EVP_sha256(), NULL) == 1 &&
	       memcmp(digest, want, sizeof digest) == 0;
}

static int
check_fragment(struct pack_check *k, uint64_t at, const struct record_head *h,
    const uint8_t *body, size_t body_bytes, struct err *e)
{
	struct index_fragment f;
	struct fragment_head head;
	struct err why;

	int rc = index_get_fragment(k->s->index, h->number, &f, e);
	if (rc <= 0)
		return rc;
	if (f.pack != k->number || f.at != at) {
		marks_add(&k->c->elsewhere, h->number);
		return 0; /* of no use any more, or another copy */
	}
	k->c->fragments++;
	bool whole = fragment_get_head(&head, body, h->body_bytes, &why) == 0 &&
	             body_bytes >= FRAGMENT_HEAD_BYTES;
	if (!whole || memcmp(&head, &f.head, sizeof head) != 0 ||
	    h->body_bytes - FRAGMENT_HEAD_BYTES != f.bytes) {
		check_problem(k->c,
		    "%s: fragment %" PRIu64 " is not what the index says",
		    packs_name(k->packs, k->slot), h->number);
		k->c->index_wrong = true;
		return 0;
	}
	if (k->c->data &&
	    !has_digest(body + FRAGMENT_HEAD_BYTES, f.bytes, head.sha256)) {
		check_problem(k->c, "%s: the SHA-256 of fragment %" PRIu64 " is wrong",
		    packs_name(k->packs, k->slot), h->number);
		return 0;
	}
	marks_add(&k->c->good, h->number);
	return 0;
}

static int
on_record(void *arg, uint64_t at, const struct record_head *h, const uint8_t *body,
    size_t body_bytes, struct err *e)
{
	struct pack_check *k = arg;

	if (at == 0 && (h->type != RECORD_PACK || h->number != k->number))
		check_problem(k->c, "%s: says that it is another pack",
		    packs_name(k->packs, k->slot));
	if (k->c->progress != NULL)
		k->c->progress(k->c->arg, k->before + at);
	return h->type == RECORD_FRAGMENT
	           ? check_fragment(k, at, h, body, body_bytes, e)
	           : 0;
}

static int
on_bad(void *arg, uint64_t at, uint64_t bytes, struct err *e)
{
	struct pack_check *k = arg;

	(void)e;
	check_problem(k->c,
	    "%s: bytes %" PRIu64 " to %" PRIu64 " are damaged or missing",
	    packs_name(k->packs, k->slot), at, at + bytes - 1);
	return 0;
}

static int
walk_pack(struct pack_check *k, const struct index_pack *p, struct err *e)
{
	struct pack_walk w = { .data = k->c->data,
		.end = p->bytes,
		.record = on_record,
		.bad = on_bad,
		.arg = k };
	struct err why;

	if (packs_slot(k->packs, p->number, &k->slot, &why) == 0) {
		k->c->bytes += p->bytes;
		return packs_walk(k->packs, k->slot, &w, e);
	}
	if (!check_is_damage(&why)) {
		*e = why;
		return -1;
	}
	check_problem(k->c, "%s", why.text);
	return 0;
}

int
check_pack(struct check *c, struct store *s, const struct index_pack *p, struct err *e)
{
	struct pack_check k = { .c = c,
		.s = s,
		.packs = store_packs(s),
		.number = p->number,
		.before = c->bytes };
	int rc = k.packs == NULL ? err_nomem(e, "a pack") : walk_pack(&k, p, e);

	packs_free(k.packs);
	return rc;
}

static int
is_good(void *arg, uint64_t number, struct err *e)
{
	const struct check *c = arg;

	if (marks_has(&c->good, number))
		return 0;
	return err_set(
	    e, ERR_FORMAT, "fragment %" PRIu64 " is damaged or missing", number);
}

struct image_check {
	struct check *c;
	struct store *s;
};

/* Can the zlib at hand still make the streams of other programs?  Only trying tells. */
static int
check_made(struct check *c, struct stored *d, struct err *e)
{
	const struct recipe_image *a = stored_about(d);
	char text[200];
	uint64_t before;
	int rc = 0;
	void *buf = malloc(NDZ_CHUNK_BYTES);

	if (buf == NULL)
		return err_nomem(e, "a chunk");
	for (uint32_t i = 0; i < a->chunks && rc == 0; i++) {
		before = stored_equivalents(d);
		rc = stored_chunk(d, i, buf, e);
		if (rc != 0 || stored_equivalents(d) == before)
			continue;
		c->equivalents++;
		snprintf(text, sizeof text,
		    "%s: chunk %u can only be served as an equivalent: the zlib at "
		    "hand is another",
		    stored_title(a), i);
		if (c->note != NULL)
			c->note(c->arg, text);
	}
	free(buf);
	return rc;
}

static int
check_image(void *arg, const struct index_image *i, struct err *e)
{
	struct image_check *k = arg;
	struct stored *d;
	struct err why;

	k->c->images++;
	int rc = stored_open_image(&d, k->s, i, &why);
	if (rc == 0) {
		rc = stored_each_fragment(d, is_good, k->c, &why);
		if (rc != 0)
			err_ctx(&why, "%s", stored_title(&i->about));
		else if (k->c->data && stored_about(d)->made)
			rc = check_made(k->c, d, &why);
		stored_free(d);
	}
	if (rc != 0 && !check_is_damage(&why)) {
		*e = why;
		return -1;
	}
	k->c->bad_images += rc != 0;
	if (rc != 0)
		check_problem(k->c, "%s", why.text);
	if (k->c->image != NULL)
		k->c->image(k->c->arg, &i->about, rc != 0 ? why.text : NULL);
	return 0;
}

int
check_images(struct check *c, struct store *s, struct err *e)
{
	struct image_check k = { c, s };

	return index_each_image(s->index, check_image, &k, e);
}

int
check_store(struct check *c, struct store *s, struct err *e)
{
	struct index_pack p = { 0 };
	int rc;

	if (s->remote != NULL)
		return remote_check(c, s, e);
	if (index_check(s->index, e) != 0 || marks_new(&c->good, s, e) != 0 ||
	    marks_new(&c->elsewhere, s, e) != 0)
		return -1;
	while ((rc = index_pack_from(s->index, p.number + 1, &p, e)) == 1)
		if (check_pack(c, s, &p, e) != 0)
			return -1;
	return rc == 0 ? check_images(c, s, e) : -1;
}
