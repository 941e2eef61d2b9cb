/* image_object.c: loads the objects of images.  Called by placed.c, stored.c and copy.c, in the
 * thread that has the store. */
#include "emustore/store/image_object.h"

#include <inttypes.h>

#include "common/base/crc32c.h"

enum { PIECE_BYTES = 1 << 20, ABOUT_BYTES_MAX = 64 << 10 };

static int
fetch(struct image_object *o, struct store *s, const struct index_image *i, struct err *e)
{
	struct objects *from = s->objects;
	uint8_t *piece = malloc(i->bytes < PIECE_BYTES ? (size_t)i->bytes + 1 : PIECE_BYTES);
	int rc = piece == NULL ? err_nomem(e, "an image's recipe") : 0;

	for (uint64_t at = 0; at < i->bytes && rc == 0; at += PIECE_BYTES) {
		size_t n = i->bytes - at < PIECE_BYTES ? (size_t)(i->bytes - at) : PIECE_BYTES;
		rc = from->ops->get(from->ctx, i->key, at, n, piece, e);
		if (rc == 0)
			rc = spill_add(&o->bytes, piece, n, e);
	}
	free(piece);
	return rc;
}

/* Find the record at *at, whose body has the checksum of its head, and move *at behind it.  1;
 * 0: there is none; -1. */
static int
next_record(const struct image_object *o, struct spill_view *v, uint64_t *at,
    enum record_type type, uint64_t *body_bytes, struct err *e)
{
	uint64_t all = spill_bytes(&o->bytes), done = *at + RECORD_HEAD_BYTES;
	struct record_head h;
	uint32_t crc = 0;

	if (*at > all || all - *at < RECORD_HEAD_BYTES)
		return 0;
	const void *bytes = spill_at(&o->bytes, v, *at, RECORD_HEAD_BYTES, e);
	if (bytes == NULL)
		return -1;
	if (!record_get_head(&h, bytes, RECORD_HEAD_BYTES) || h.type != type ||
	    record_whole_bytes(h.body_bytes) > all - *at)
		return 0;
	*at += record_whole_bytes(h.body_bytes);
	*body_bytes = h.body_bytes;
	for (uint64_t n, end = done + h.body_bytes; done < end; done += n) {
		n = end - done < ABOUT_BYTES_MAX ? end - done : ABOUT_BYTES_MAX;
		if ((bytes = spill_at(&o->bytes, v, done, (size_t)n, e)) == NULL)
			return -1;
		crc = crc32c_more(crc, bytes, (size_t)n);
	}
	return crc == h.body_crc;
}

/* Find the records.  1; 0: the object is damaged; -1. */
static int
find_records(struct image_object *o, struct spill_view *v, struct err *e)
{
	uint64_t at = 0, bytes;
	int rc = next_record(o, v, &at, RECORD_ABOUT, &bytes, e);

	o->recipe_at = at + RECORD_HEAD_BYTES;
	if (rc == 1)
		rc = next_record(o, v, &at, RECORD_IMAGE, &o->recipe_bytes, e);
	o->digests_at = at + RECORD_HEAD_BYTES;
	if (rc == 1)
		rc = next_record(o, v, &at, RECORD_DIGESTS, &bytes, e);
	if (rc != 1)
		return rc;
	o->ndigests = bytes / SHA256_BYTES;
	return bytes % SHA256_BYTES == 0 && at == spill_bytes(&o->bytes);
}

int
image_object_load(
    struct image_object *o, struct store *s, const struct index_image *i, struct err *e)
{
	struct spill_view v = { 0 };

	*o = (struct image_object){ .bytes = spill_new(s->cache, SPILL_MEMORY_BYTES) };
	/* The size comes from a list, which may be wrong, and a server may send that much. */
	if (i->bytes > RECIPE_BYTES_MAX)
		return err_set(e, ERR_FORMAT, "its recipe cannot have %" PRIu64 " bytes",
		    i->bytes);
	int rc = fetch(o, s, i, e) == 0 ? find_records(o, &v, e) : -1;
	spill_view_free(&v);
	if (rc == 0)
		return err_set(e, ERR_FORMAT, "its recipe is damaged");
	return rc == 1 ? 0 : -1;
}

void
image_object_free(struct image_object *o)
{
	spill_free(&o->bytes);
}

int
image_object_about(struct image_object *o, struct recipe_image *about, struct err *e)
{
	uint64_t n = o->recipe_bytes < ABOUT_BYTES_MAX ? o->recipe_bytes : ABOUT_BYTES_MAX;
	struct spill_view v = { 0 };
	const void *bytes = spill_at(&o->bytes, &v, o->recipe_at, (size_t)n, e);
	struct rd r = rd_from(bytes, (size_t)n);
	int rc = bytes == NULL ? -1 : recipe_get_image(about, &r, e);

	o->blocks_at = o->recipe_at + r.off;
	o->blocks_end = o->recipe_at + o->recipe_bytes;
	spill_view_free(&v);
	return rc;
}

int
image_object_block(const struct image_object *o, struct spill_view *v, uint64_t at,
    struct recipe_block *k, uint64_t *next, struct err *e)
{
	uint64_t left = o->blocks_end - at, n = left;

	if (left > RECIPE_BLOCK_HEAD_BYTES) {
		const void *head = spill_at(&o->bytes, v, at, RECIPE_BLOCK_HEAD_BYTES, e);
		if (head == NULL)
			return -1;
		struct rd r = rd_from(head, RECIPE_BLOCK_HEAD_BYTES);
		rd_skip(&r, RECIPE_BLOCK_HEAD_BYTES - 4);
		n = RECIPE_BLOCK_HEAD_BYTES + (uint64_t)rd_le32(&r);
	}
	n = n < left ? n : left;
	const void *bytes = spill_at(&o->bytes, v, at, (size_t)n, e);
	if (bytes == NULL)
		return -1;
	struct rd r = rd_from(bytes, (size_t)n);
	*next = at + n;
	return recipe_get_block(k, &r, e);
}

const uint8_t *
image_object_digest(
    const struct image_object *o, struct spill_view *v, uint64_t number, struct err *e)
{
	if (number >= o->ndigests) {
		err_set(e, ERR_FORMAT, "its recipe has no digest of fragment %" PRIu64, number);
		return NULL;
	}
	return spill_at(
	    &o->bytes, v, o->digests_at + number * SHA256_BYTES, SHA256_BYTES, e);
}
