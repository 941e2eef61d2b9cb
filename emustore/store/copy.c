/* copy.c: copies images of one store into another one.  A recipe names fragments by their
 * digests, so it is the same in both stores; each store has packs of its own.  Called by
 * the program, in its thread. */
#include "emustore/store/copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "emustore/store/headcheck.h"
#include "emustore/store/image_object.h"
#include "emustore/store/stored.h"
#include "emustore/store/writer.h"

enum { LOOKS = 5 };

struct copying {
	struct store *from, *to;
	struct packs *packs; /* of `from` */
	struct headcheck *check;
	struct copy_stats *stats;
	struct buf record;
};

static int
err_fragment(const uint8_t *digest, const char *what, struct err *e)
{
	return err_set(e, ERR_FORMAT, "fragment %02x%02x%02x%02x... %s", digest[0], digest[1],
	    digest[2], digest[3], what);
}

/* Read the record of a fragment of `from` into c->record, and its head into f->head. */
static int
read_fragment(struct copying *c, const uint8_t *digest, struct pack_fragment *f,
    struct err *e)
{
	struct index_fragment i;
	struct record_head h;
	uint8_t found[SHA256_BYTES];
	uint32_t slot;
	int rc = index_find_fragment(c->from->index, digest, &i, e);

	if (rc != 1)
		return rc < 0 ? -1 : err_fragment(digest, "is not in the store", e);
	if (packs_slot(c->packs, c->from->index, i.pack, &slot, e) != 0 ||
	    packs_read_record(c->packs, slot, i.f.at, &h, &c->record, e) != 0 ||
	    fragment_get_head(&f->head, c->record.base, c->record.len, e) != 0)
		return -1;
	f->bytes = (uint32_t)(c->record.len - FRAGMENT_HEAD_BYTES);
	sha256(c->record.base + FRAGMENT_HEAD_BYTES, f->bytes, found);
	if (h.type != RECORD_FRAGMENT || memcmp(found, digest, sizeof found) != 0 ||
	    memcmp(f->head.sha256, digest, sizeof found) != 0)
		return err_fragment(digest, "is damaged: its SHA-256 is wrong", e);
	/* `from` may be a stranger's, and every later put into `to` believes the head. */
	return headcheck_fragment(
	    c->check, &f->head, c->record.base + FRAGMENT_HEAD_BYTES, f->bytes, e);
}

/* Look at `from` again if gc may have replaced the pack that its index has, or make its
 * index anew if that is damaged: then the fragment is elsewhere.  1: that was done; 0:
 * there is nothing to do; -1. */
static int
look_again(struct copying *c, struct err *e)
{
	int rc = e->os != ENOENT ? store_heal(c->from, e)
	                         : store_refresh(c->from, e) == 0 ? 1 : -1;

	if (rc != 1)
		return rc;
	packs_free(c->packs);
	c->packs = store_packs(c->from);
	return c->packs != NULL ? 1 : err_nomem(e, "an image");
}

/* Read a fragment as read_fragment() does, also where it has moved since the last look.
 * */
static int
find_fragment(struct copying *c, const uint8_t *digest, struct pack_fragment *f,
    struct err *e)
{
	int rc = read_fragment(c, digest, f, e);

	for (int looks = 0, again = 1; rc != 0 && again == 1 && looks < LOOKS; looks++) {
		again = look_again(c, e);
		if (again == 1)
			rc = read_fragment(c, digest, f, e);
	}
	return rc == 0 ? 0 : store_err_missing(e);
}

static int
copy_fragment(struct copying *c, const uint8_t *digest, struct err *e)
{
	struct pack_fragment f;
	int rc = writer_find(c->to->putting, digest, &f, e);

	c->stats->fragments++;
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (find_fragment(c, digest, &f, e) != 0 ||
	    writer_add(c->to->putting, &f, c->record.base + FRAGMENT_HEAD_BYTES, e) != 0)
		return -1;
	c->stats->new_fragments++;
	c->stats->new_bytes += f.bytes;
	return 0;
}

/* Copy what the image needs; *digests: of what it was. */
static int
copy_fragments(struct copying *c, const struct image_object *o, struct spill_view *v,
    struct buf *digests, struct err *e)
{
	for (uint64_t n = 0; n < o->ndigests; n++) {
		const uint8_t *digest = image_object_digest(o, v, n, e);
		if (digest == NULL || copy_fragment(c, digest, e) != 0)
			return -1;
		buf_bytes(digests, digest, SHA256_BYTES);
	}
	return 0;
}

/* Copy what the image needs, and then the image itself. */
static int
copy_object(struct copying *c, const struct index_image *i, struct err *e)
{
	struct recipe_image *about = malloc(sizeof *about);
	struct buf blocks = { 0 }, digests = { 0 };
	struct spill_view v = { 0 };
	struct image_object o = { .bytes.fd = -1 };
	int rc = about == NULL ? err_nomem(e, "an image") : image_object_load(&o, c->from, i, e);

	if (rc == 0)
		rc = image_object_about(&o, about, e);
	if (rc == 0)
		rc = copy_fragments(c, &o, &v, &digests, e);
	const void *bytes = rc == 0 ? spill_at(&o.bytes, &v, o.blocks_at,
					  (size_t)(o.blocks_end - o.blocks_at), e)
	                            : NULL;
	if (bytes != NULL) {
		buf_bytes(&blocks, bytes, (size_t)(o.blocks_end - o.blocks_at));
		rc = buf_ok(&blocks) && buf_ok(&digests)
		         ? writer_put_image(c->to->putting, about, &blocks, &digests,
		               &c->stats->recipe_bytes, e)
		         : err_nomem(e, "a recipe");
	}
	spill_view_free(&v);
	image_object_free(&o);
	buf_free(&blocks);
	buf_free(&digests);
	free(about);
	return bytes != NULL ? rc : -1;
}

static int
is_there(struct store *to, const struct index_image *i, struct err *e)
{
	struct index_image *found = malloc(sizeof *found);
	int rc = found == NULL ? err_nomem(e, "an image")
	                       : store_find_image(to, &i->about.name, found, e);

	if (rc == 1 && memcmp(found->about.sha256, i->about.sha256, SHA256_BYTES) != 0)
		rc = err_set(e, ERR_REFUSED,
		    "%s: the other store has another image of this name and version",
		    stored_title(&i->about).text);
	free(found);
	return rc;
}

int
copy_image(struct store *from, struct store *to, const struct index_image *i,
    struct copy_stats *stats, struct err *e)
{
	struct copying c = { .from = from, .to = to, .stats = stats };
	int rc = is_there(to, i, e);

	*stats = (struct copy_stats){ 0 };
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	c.packs = store_packs(from);
	c.check = headcheck_new();
	rc = c.packs == NULL || c.check == NULL ? err_nomem(e, "an image")
	                                        : copy_object(&c, i, e);
	packs_free(c.packs);
	headcheck_free(c.check);
	buf_free(&c.record);
	return rc == 0 ? 1 : err_ctx(e, "%s", stored_title(&i->about).text);
}
