/* upgrade.c: makes a store of format 1 or 2 one of today's format.  Called by emustore
 * upgrade, in its thread.  The formats differ in how recipes name fragments: the old ones
 * by numbers, today's by digests. */
#include "emustore/upgrade/upgrade.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/sha256.h"
#include "emustore/objects/folder.h"
#include "emustore/store/store.h"
#include "emustore/store/stored.h"
#include "emustore/store/writer.h"
#include "emustore/upgrade/oldpacks.h"

enum { FORMAT_BYTES_MAX = 1000 };

struct upgrading {
	struct upgrade *u;
	struct store *s;
	struct old_packs old;
	/* Of the image that is being taken over: */
	struct buf blocks, digests;
	struct recipe_chunk c;
	struct buf plain, block;
};

/* Take over a fragment: append its digest to x->digests, and write its data to the packs
 * if the store lacks it.  Of several copies the first undamaged one is used. */
static int
take_fragment(struct upgrading *x, uint64_t number, struct err *e)
{
	const struct old_record *r = old_packs_find(&x->old, number),
				*end = x->old.fragments + x->old.nfragments;
	struct pack_fragment f = { 0 }, there;
	uint8_t digest[SHA256_BYTES];

	for (; r != NULL && r < end && r->number == number; r++) {
		if (fragment_get_head(&f.head, r->body, r->bytes, e) != 0)
			continue;
		f.bytes = r->bytes - FRAGMENT_HEAD_BYTES;
		sha256(r->body + FRAGMENT_HEAD_BYTES, f.bytes, digest);
		if (memcmp(digest, f.head.sha256, sizeof digest) != 0)
			continue;
		buf_bytes(&x->digests, digest, sizeof digest);
		int rc = writer_find(x->s->putting, digest, &there, e);
		if (rc == 0)
			rc = writer_add(
			    x->s->putting, &f, r->body + FRAGMENT_HEAD_BYTES, e);
		return rc < 0 ? -1 : 0;
	}
	return err_set(e, ERR_FORMAT, "fragment %" PRIu64 " is damaged or lost", number);
}

static int
take_chunk(struct upgrading *x, struct rd *r, struct err *e)
{
	if (recipe_get_chunk(&x->c, r, e) != 0)
		return -1;
	for (size_t i = 0; i < x->c.npieces; i++) {
		struct recipe_piece *p = &x->c.pieces[i];
		uint64_t now = x->digests.len / SHA256_BYTES;
		if (p->zero)
			continue;
		if (take_fragment(x, p->number, e) != 0)
			return -1;
		p->number = now;
	}
	recipe_put_chunk(&x->block, &x->c);
	return 0;
}

static int
take_blocks(struct upgrading *x, struct rd r, struct err *e)
{
	struct recipe_block k;
	int rc;

	x->blocks.len = x->digests.len = 0;
	while ((rc = recipe_get_block(&k, &r, e)) == 1) {
		if (recipe_unpack(&k, &x->plain, e) != 0)
			return -1;
		struct rd chunks = rd_from(x->plain.base, x->plain.len);
		x->block.len = 0;
		for (uint32_t i = 0; i < k.chunks; i++)
			if (take_chunk(x, &chunks, e) != 0)
				return -1;
		if (recipe_put_block(&x->blocks, k.chunks, &x->block, e) != 0)
			return -1;
	}
	return rc;
}

/* Is the image in the new store already?  1, 0, -1. */
static int
is_taken(struct upgrading *x, const struct store_name *name, struct err *e)
{
	struct index_image *i = malloc(sizeof *i);
	int rc = i == NULL ? err_nomem(e, "an image")
	                   : index_find_image(x->s->index, name, i, e);

	free(i);
	return rc;
}

static int
take_image(
    struct upgrading *x, const struct old_record *r, struct recipe_image *a, struct err *e)
{
	struct rd body = rd_from(r->body, r->bytes);
	uint64_t ignored;

	if (recipe_get_image(a, &body, e) != 0)
		return err_ctx(e, "image %" PRIu64, r->number);
	int rc = is_taken(x, &a->name, e);
	if (rc == 0)
		rc = take_blocks(x, body, e);
	else
		return rc < 0 ? -1 : 0;
	if (rc == 0)
		rc = writer_put_image(
		    x->s->putting, a, &x->blocks, &x->digests, &ignored, e);
	/* Where two records have the same name, the first one counts, as before. */
	if (rc != 0 && e->os == EEXIST)
		rc = 0;
	return rc == 0 ? 0 : err_ctx(e, "%s", stored_title(a).text);
}

static int
leave_out(struct upgrading *x, struct err *e)
{
	struct upgrade *u = x->u;

	if (e->kind != ERR_FORMAT)
		return -1;
	if (!u->force)
		return err_set(e, ERR_FORMAT,
		    "%.300s; --force leaves out what cannot be read", e->text);
	u->lost++;
	if (u->left_out != NULL)
		u->left_out(u->arg, e->text);
	return 0;
}

/* An image whose record is damaged has no name any more, so nothing else would tell of it. */
static int
check_damage(struct upgrading *x, struct err *e)
{
	const struct old_packs *p = &x->old;
	struct upgrade *u = x->u;

	if (p->damaged == 0)
		return 0;
	err_set(e, ERR_FORMAT,
	    "damaged places in which the record of an image may have been: %" PRIu64
	    ", the first: %s%s",
	    p->damaged, p->first_damaged,
	    u->force ? "" : "; --force leaves out what cannot be read");
	if (!u->force)
		return -1;
	u->damaged_places = p->damaged;
	if (u->left_out != NULL)
		u->left_out(u->arg, e->text);
	return 0;
}

static int
take_images(struct upgrading *x, struct err *e)
{
	struct recipe_image *about = malloc(sizeof *about);
	int rc = about == NULL ? err_nomem(e, "an image") : 0;

	for (size_t i = 0; i < x->old.nimages && rc == 0; i++) {
		/* A gc that was cut short has left copies. */
		if (i > 0 && x->old.images[i].number == x->old.images[i - 1].number)
			continue;
		rc = cancel_check(e);
		if (rc == 0)
			rc = take_image(x, &x->old.images[i], about, e);
		if (rc == 0)
			x->u->images++;
		else
			rc = leave_out(x, e);
		if (rc == 0 && x->u->progress != NULL)
			x->u->progress(x->u->arg, i + 1);
	}
	free(about);
	return rc;
}

/* Take over everything, write the format, and remove the old packs.  What an earlier
 * upgrade that was cut short has written is used. */
static int
take_all(struct upgrading *x, const char *dir, struct err *e)
{
	int rc = old_packs_open(&x->old, dir, e);

	if (rc != 0)
		return -1;
	rc = check_damage(x, e);
	if (rc == 0)
		rc = store_begin(x->s, e);
	if (rc == 0)
		rc = take_images(x, e);
	if (rc == 0)
		rc = store_commit(x->s, e);
	if (rc == 0)
		rc = store_write_format(x->s, e);
	if (rc == 0)
		rc = old_packs_remove(&x->old, dir, e);
	old_packs_close(&x->old);
	recipe_chunk_free(&x->c);
	buf_free(&x->blocks);
	buf_free(&x->digests);
	buf_free(&x->plain);
	buf_free(&x->block);
	return rc;
}

/* Read the version of the format; STORE_FORMAT is today's.  ERR_UNSUPPORTED: the format is
 * not known. */
static int
read_version(struct objects *o, unsigned *version, struct err *e)
{
	struct buf b = { 0 };
	int rc = o->ops->load(o->ctx, KEY_FORMAT, FORMAT_BYTES_MAX, &b, e);

	*version = 0;
	buf_bytes(&b, "", 1);
	if (rc == 0 && (!buf_ok(&b) || sscanf((char *)b.base, "emustore %u", version) != 1 ||
			   *version < 1 || *version > STORE_FORMAT))
		rc = err_set(
		    e, ERR_UNSUPPORTED, "%s: its format cannot be upgraded", o->title);
	buf_free(&b);
	return rc;
}

/* Remove the packs of the old format that an upgrade left because it was cut short at its
 * end. */
static int
remove_rest(const char *dir, struct err *e)
{
	struct old_packs old;

	if (old_packs_open(&old, dir, e) != 0)
		return -1;
	int rc = old_packs_remove(&old, dir, e);
	old_packs_close(&old);
	return rc;
}

int
upgrade_store(struct upgrade *u, const char *dir, struct err *e)
{
	struct upgrading x = { .u = u };
	struct objects *o;
	struct store s;
	unsigned version;

	if (folder_open(&o, dir, e) != 0)
		return -1;
	int rc = folder_lock(o, u->wait, e);
	if (rc == 0)
		rc = read_version(o, &version, e);
	if (rc != 0) {
		objects_release(o);
		return -1;
	}
	u->done_before = version == STORE_FORMAT;
	if (u->done_before) {
		rc = remove_rest(dir, e);
		objects_release(o);
		return rc;
	}
	rc = store_adopt(&s, o, e);
	x.s = &s;
	if (rc == 0)
		rc = take_all(&x, dir, e);
	store_close(&s);
	return rc;
}
