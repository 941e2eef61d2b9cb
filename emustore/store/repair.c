/* repair.c: saves the undamaged fragments of damaged packs.  Called by emustore repair, in
 * its thread. */
#include "emustore/store/repair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "emustore/store/walk.h"
#include "emustore/store/writer.h"

enum { TABLE_TRIES = 3 }; /* an answer may be altered on its way, three in a row are not */

struct repairing {
	struct check *c;
	struct store *s;
	struct writer *w;
	struct buf bad; /* ids of packs that shall no longer count, each with its '\0' */
};

/* Does the store have this fragment undamaged, in a pack that stays, or in a new one?  1,
 * 0, -1. */
static int
is_kept(struct repairing *r, const struct fragment_head *h, struct err *e)
{
	struct index_fragment i;
	struct index_pack p;
	int rc = index_find_fragment(r->s->index, h->sha256, &i, e);

	if (rc == 1)
		rc = index_get_pack(r->s->index, i.pack, &p, NULL, e);
	if (rc == 1) {
		struct index_place place = {
			.pack = i.pack, .at = i.f.at, .bytes = i.f.bytes
		};
		bool stays = check_is_good(r->c, &place);
		for (size_t at = 0; at < r->bad.len && stays; at += sizeof p.id)
			stays = memcmp(r->bad.base + at, p.id, PACK_ID_CHARS) != 0;
		rc = stays;
	}
	return rc != 0 ? rc : writer_added(r->w, h->sha256, e);
}

static int
save_fragment(void *arg, uint64_t at, const struct record_head *h, const uint8_t *body,
    struct err *e)
{
	struct repairing *r = arg;
	struct pack_fragment f = { .at = at };
	struct err why; /* a fragment with a damaged head is not saved */
	uint8_t digest[SHA256_BYTES];

	if (h->type != RECORD_FRAGMENT ||
	    fragment_get_head(&f.head, body, h->body_bytes, &why) != 0)
		return 0;
	f.bytes = h->body_bytes - FRAGMENT_HEAD_BYTES;
	sha256(body + FRAGMENT_HEAD_BYTES, f.bytes, digest);
	if (memcmp(digest, f.head.sha256, sizeof digest) != 0)
		return 0;
	int rc = is_kept(r, &f.head, e);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return writer_add(r->w, &f, body + FRAGMENT_HEAD_BYTES, e);
}

/* Save the undamaged fragments of a pack, whatever its table says of it.  A pack that does
 * not exist has none. */
static int
save_pack(struct repairing *r, const char *id, struct err *e)
{
	struct pack_walk w = { .record = save_fragment, .arg = r };
	struct objects *o = r->s->objects;
	struct buf pack = { 0 };
	char key[KEY_BYTES];

	key_of_pack(id, key);
	int rc = o->ops->load(o->ctx, key, TOC_PACK_BYTES_MAX, &pack, e);
	if (rc == 0)
		rc = pack_walk(&w, pack.base, pack.len, e);
	else if (e->os == ENOENT)
		rc = 0;
	buf_free(&pack);
	return rc;
}

static int
add_bad(struct repairing *r, const char *id, struct err *e)
{
	buf_bytes(&r->bad, id, PACK_ID_CHARS + 1);
	return buf_ok(&r->bad) ? 0 : err_nomem(e, "the list of packs");
}

/* Is a table damaged?  It is asked for up to TABLE_TRIES times, because an answer may have
 * been altered on its way.  1: it cannot be read; 0: it can be read, or it is gone, or a
 * newer program made it; -1. */
static int
is_bad_table(struct store *s, const char *id, struct err *e)
{
	struct objects *o = s->objects;
	struct buf bytes = { 0 };
	char key[KEY_BYTES];
	struct toc t;
	int rc = 1;

	key_of_table(id, key);
	for (int tries = 0; tries < TABLE_TRIES && rc == 1; tries++) {
		bytes.len = 0;
		if (o->ops->load(o->ctx, key, TOC_BYTES_MAX, &bytes, e) != 0)
			rc = e->os == ENOENT ? 0 : e->kind == ERR_FORMAT ? 1 : -1;
		else if (toc_open(&t, id, bytes.base, bytes.len, e) == 0 ||
			 e->kind != ERR_FORMAT)
			rc = 0;
	}
	buf_free(&bytes);
	return rc;
}

/* Add the packs whose tables cannot be read to r->bad. */
static int
find_bad_tables(struct repairing *r, struct err *e)
{
	char id[PACK_ID_CHARS + 1];
	struct index_pack p;
	int rc = 0;

	for (size_t i = 0; i < r->s->tables.n && rc >= 0; i++) {
		if (!key_is_table(r->s->tables.v[i].key, id))
			continue;
		rc = index_find_pack(r->s->index, id, &p, e);
		if (rc == 0 && (rc = is_bad_table(r->s, id, e)) == 1)
			rc = add_bad(r, id, e);
	}
	return rc < 0 ? -1 : 0;
}

static int
find_bad_packs(struct repairing *r, struct err *e)
{
	for (size_t i = 0; i < r->c->npacks; i++) {
		const struct pack_state *t = &r->c->packs[i];
		if ((!t->whole || t->bad != NULL) && add_bad(r, t->p.id, e) != 0)
			return -1;
	}
	return 0;
}

/* Save the fragments of packs that have lost their tables: an image that lacks something
 * may find it there. */
static int
save_orphans(struct repairing *r, struct err *e)
{
	char id[PACK_ID_CHARS + 1], key[KEY_BYTES];
	struct listing l = { 0 };
	int rc = listing_get(&l, r->s->objects, KEYS_PACKS, NULL, e);

	for (size_t i = 0; i < l.n && rc == 0; i++) {
		if (!key_is_pack(l.v[i].key, id))
			continue;
		key_of_table(id, key);
		if (listing_find(&r->s->tables, key + strlen(KEYS_TABLES)) == NULL)
			rc = save_pack(r, id, e);
	}
	listing_free(&l);
	return rc;
}

/* Remove the tables of the damaged packs.  A pack without a table does not count, and gc
 * removes it. */
static int
forget_bad(struct repairing *r, struct err *e)
{
	struct objects *o = r->s->objects;
	char key[KEY_BYTES];

	for (size_t at = 0; at < r->bad.len; at += PACK_ID_CHARS + 1) {
		key_of_table((const char *)r->bad.base + at, key);
		int rc = o->ops->remove(o->ctx, key, e);
		changes_note(r->s, key, rc == 0);
		if (rc != 0)
			return -1;
	}
	return 0;
}

static int
save_all(struct repairing *r, struct err *e)
{
	if (writer_new(&r->w, r->s, e) != 0 || find_bad_packs(r, e) != 0 ||
	    find_bad_tables(r, e) != 0)
		return -1;
	for (size_t at = 0; at < r->bad.len; at += PACK_ID_CHARS + 1)
		if (save_pack(r, (const char *)r->bad.base + at, e) != 0)
			return -1;
	if (r->c->bad_images > 0 && save_orphans(r, e) != 0)
		return -1;
	return writer_commit(r->w, e) == 0 ? forget_bad(r, e) : -1;
}

/* Check the store again, without data.  The problems were reported by the first check; the
 * caller reports the counts of what is left. */
static int
check_again(struct repairing *r, struct err *e)
{
	struct check *c = r->c, again = { .arg = c->arg };
	int rc = store_refresh(r->s, e);

	if (rc == 0)
		rc = check_store(&again, r->s, e);
	c->problems = again.problems;
	c->images = again.images;
	c->bad_images = again.bad_images;
	c->fragments = again.fragments;
	check_free(&again);
	return rc;
}

int
repair_store(struct check *c, struct store *s, struct err *e)
{
	struct repairing r = { .c = c, .s = s };
	int rc = check_store(c, s, e);

	if (rc == 0 && c->problems > 0) {
		rc = save_all(&r, e);
		writer_free(r.w);
		if (rc == 0)
			rc = check_again(&r, e);
	}
	buf_free(&r.bad);
	return rc;
}
