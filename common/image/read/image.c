/* image.c: the chunks of an image are read from a source, and checked against each other.
 * Whoever reads an image calls this, in one thread at a time; image_header(), image_blocks()
 * and image_read() may be called in any thread. */
#include "common/image/read/image.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/disk/disk.h"
#include "common/image/read/chunk.h"
#include "common/image/read/source.h"

struct image {
	struct source source;
	bool in_order;       /* it is a pipe */
	struct opener *opener; /* or NULL */
	uint32_t nchunks;    /* UINT32_MAX: a pipe */
	uint32_t next;       /* chunk that image_next() reads */
	struct image_identity id;
	bool ours; /* chunk 0 had an extension */
	bool last_seen;
	uint8_t *ahead; /* the first chunk, read and not given out yet; or NULL */
	size_t ahead_bytes; /* 0: the end */
	bool keep_encrypted;
};

static int
err_truncated(const struct image *img, uint32_t nchunks, struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "%s: truncated: it ends with chunk %u, which is not the "
	    "image's last",
	    image_name(img), nchunks - 1);
}

/* What a chunk says of its image; `unreadable` alone is set when the chunk makes no sense. */
struct claims {
	bool ours;
	bool unreadable;
	uint32_t nchunks; /* 0: it is not the last one */
};

static int
read_claims(
    struct image *img, uint32_t i, uint8_t *buf, struct claims *claims, struct err *e)
{
	struct err later;
	struct chunk c;

	*claims = (struct claims){ .unreadable = true };
	if (image_read(img, i, buf, e) != 0)
		return -1;
	if (chunk_parse(&c, buf, &later) != 0)
		return 0;
	*claims = (struct claims){ .ours = c.ext.present,
		.nchunks = c.ext.last ? c.ext.nchunks : 0 };
	chunk_free(&c);
	return 0;
}

/* Does an image of this suite have its last chunk?  This is asked before anything of it is
 * used.  image_next() says what else is wrong with the first and last chunk. */
static int
check_ends(struct image *img, uint8_t *buf, struct err *e)
{
	struct claims first, last;

	if (read_claims(img, 0, buf, &first, e) != 0 ||
	    read_claims(img, img->nchunks - 1, buf, &last, e) != 0)
		return -1;
	img->ours = first.ours;
	if (!first.ours || last.unreadable)
		return 0;
	if (last.nchunks == 0)
		return err_truncated(img, img->nchunks, e);
	if (last.nchunks != img->nchunks)
		return err_set(e, ERR_FORMAT,
		    "%s: is %u chunks long, but its last one "
		    "says %u",
		    image_name(img), img->nchunks, last.nchunks);
	return 0;
}

static int
open_seekable(struct image *img, uint64_t bytes, struct err *e)
{
	if (bytes == 0 || bytes % NDZ_CHUNK_BYTES != 0 ||
	    bytes / NDZ_CHUNK_BYTES > INT32_MAX)
		return err_set(e, ERR_FORMAT,
		    "%s: %" PRIu64 " bytes are not whole chunks of 1 MiB: "
		    "truncated, or not an image",
		    image_name(img), bytes);
	img->nchunks = (uint32_t)(bytes / NDZ_CHUNK_BYTES);

	uint8_t *buf = malloc(NDZ_CHUNK_BYTES);
	if (buf == NULL)
		return err_nomem(e, image_name(img));
	int rc = check_ends(img, buf, e);
	free(buf);
	return rc;
}

static int
open_source(struct image *img, struct err *e)
{
	struct source_info info;

	if (source_info(&img->source, &info, e) != 0)
		return -1;
	img->in_order = info.in_order;
	img->nchunks = UINT32_MAX;
	return info.in_order ? 0 : open_seekable(img, info.bytes, e);
}

int
image_open_source(
    struct image **out, struct source *source, struct opener *opener, struct err *e)
{
	struct image *img = calloc(1, sizeof *img);

	if (img == NULL) {
		err_nomem(e, source_name(source));
		source_close(source);
		return -1;
	}
	img->source = *source;
	img->opener = opener;
	if (open_source(img, e) != 0) {
		image_close(img);
		return -1;
	}
	*out = img;
	return 0;
}

int
image_open_disk(struct image **out, struct disk *d, struct opener *opener, struct err *e)
{
	struct source source;

	return source_of_disk(&source, d, e) == 0
	           ? image_open_source(out, &source, opener, e)
	           : -1;
}

int
image_open_proved(
    struct image **out, const char *path, struct opener *opener, struct err *e)
{
	struct disk *d;

	return disk_open(&d, path, DISK_READ, e) == 0
	           ? image_open_disk(out, d, opener, e)
	           : -1;
}

int
image_open(struct image **out, const char *path, struct err *e)
{
	return image_open_proved(out, path, NULL, e);
}

void
image_close(struct image *img)
{
	if (img == NULL)
		return;
	source_close(&img->source);
	free(img->ahead);
	free(img);
}

const char *
image_name(const struct image *img)
{
	return source_name(&img->source);
}

bool
image_seekable(const struct image *img)
{
	return !img->in_order;
}

bool
image_is_proved(const struct image *img)
{
	return img->opener != NULL;
}

uint32_t
image_chunks(const struct image *img)
{
	return img->nchunks;
}

int
image_identity_check(struct image_identity *id, const struct ndz_header *h,
    const struct ext *x, struct err *e)
{
	if (!id->known) {
		id->known = true;
		id->version = h->version;
		id->codec = h->codec;
		memcpy(id->header_uuid, h->uuid, NDZ_UUID_BYTES);
		id->has_uuid = x->has_uuid;
		memcpy(id->uuid, x->uuid, NDZ_UUID_BYTES);
		return 0;
	}
	if (h->version != id->version)
		return err_set(e, ERR_FORMAT, "version %u in an image of version %u",
		    h->version, id->version);
	if (h->codec != id->codec)
		return err_set(e, ERR_FORMAT,
		    "is compressed with %s, unlike the chunks before it",
		    ndz_header_codec(h)->name);
	if (x->has_uuid != id->has_uuid)
		return err_set(e, ERR_FORMAT,
		    "%s an extension area, unlike the chunks before it",
		    x->has_uuid ? "has" : "lacks");
	if (memcmp(h->uuid, id->header_uuid, NDZ_UUID_BYTES) != 0 ||
	    memcmp(x->uuid, id->uuid, NDZ_UUID_BYTES) != 0)
		return err_set(
		    e, ERR_FORMAT, "belongs to another image (its UUID differs)");
	return 0;
}

/* Check what an image of this suite promises about the places of its chunks. */
static int
check_place(struct image *img, uint32_t i, const struct ndz_header *h,
    const struct ext *x, struct err *e)
{
	if (i == 0)
		img->ours = x->present;
	if (img->ours && h->index != (int32_t)i)
		return err_set(e, ERR_FORMAT,
		    "is not at its place: its header says that it is chunk %d",
		    h->index);
	if (img->last_seen)
		return err_set(e, ERR_FORMAT, "comes after the image's last chunk");
	if (x->last && x->nchunks != i + 1)
		return err_set(e, ERR_FORMAT,
		    "is the last of %u chunks, but number %u of the file", x->nchunks,
		    i + 1);
	img->last_seen = x->last;
	return 0;
}

void
image_keep_encrypted(struct image *img)
{
	img->keep_encrypted = true;
}

/* Check the header of a chunk that is encrypted, the rest of which cannot be looked at. */
static int
check_encrypted(
    struct image *img, uint32_t i, const struct ndz_header *h, struct err *e)
{
	static const struct ext none;

	if (h->index != (int32_t)i)
		return err_set(e, ERR_FORMAT,
		    "is not at its place: its header says that it is chunk %d",
		    h->index);
	return image_identity_check(&img->id, h, &none, e);
}

static int
check_chunk(
    struct image *img, uint32_t i, const void *buf, struct ndz_header *h, struct err *e)
{
	struct chunk c;

	if (img->keep_encrypted && ndz_header_get(&c.h, buf, NDZ_CHUNK_BYTES, e) == 0 &&
	    c.h.encrypted) {
		if (h != NULL)
			*h = c.h;
		return check_encrypted(img, i, &c.h, e);
	}
	if (chunk_parse(&c, buf, e) != 0)
		return -1;
	int rc = image_identity_check(&img->id, &c.h, &c.ext, e);
	if (rc == 0)
		rc = check_place(img, i, &c.h, &c.ext, e);
	if (rc == 0 && h != NULL)
		*h = c.h;
	chunk_free(&c);
	return rc;
}

static int
end_of_image(struct image *img, struct err *e)
{
	if (img->next == 0)
		return err_set(e, ERR_FORMAT, "%s: is empty", image_name(img));
	if (img->ours && !img->last_seen)
		return err_truncated(img, img->next, e);
	img->nchunks = img->next;
	return 0;
}

static int
open_chunk(struct image *img, uint32_t i, void *buf, struct err *e)
{
	if (opener_open(img->opener, i, buf, e) != 0)
		return err_ctx(e, "%s: chunk %u", image_name(img), i);
	return 0;
}

/* Read the next chunk, as much of it as there is.  Returns 1, 0 at the end, or -1. */
static int
read_next(struct image *img, void *buf, size_t *bytes, struct err *e)
{
	uint32_t chunk;
	int rc;

	*bytes = 0;
	if (img->ahead != NULL && img->next == 0) {
		memcpy(buf, img->ahead, NDZ_CHUNK_BYTES);
		*bytes = img->ahead_bytes;
		free(img->ahead);
		img->ahead = NULL;
		return *bytes > 0;
	}
	if (img->in_order) {
		rc = source_next(&img->source, &chunk, buf, bytes, e);
	} else {
		rc = img->next < img->nchunks;
		*bytes = NDZ_CHUNK_BYTES;
		if (rc == 1 && source_read(&img->source, img->next, NULL, buf, e) != 0)
			rc = -1;
	}
	if (rc == 1 && *bytes == NDZ_CHUNK_BYTES &&
	    open_chunk(img, img->next, buf, e) != 0)
		return -1;
	return rc;
}

static int
read_ahead(struct image *img, struct err *e)
{
	uint8_t *ahead = malloc(NDZ_CHUNK_BYTES);

	if (ahead == NULL)
		return err_nomem(e, image_name(img));
	if (read_next(img, ahead, &img->ahead_bytes, e) < 0) {
		free(ahead);
		return -1;
	}
	img->ahead = ahead;
	return 0;
}

int
image_first(struct image *img, struct ext *x, struct err *e)
{
	struct err later;
	struct chunk c;

	assert(img->next == 0);
	if (img->ahead == NULL && read_ahead(img, e) != 0)
		return -1;
	if (img->ahead_bytes != NDZ_CHUNK_BYTES ||
	    chunk_parse(&c, img->ahead, &later) != 0)
		return 0;
	*x = c.ext;
	return 1;
}

int
image_next(struct image *img, void *buf, struct ndz_header *h, struct err *e)
{
	size_t n;
	int rc = read_next(img, buf, &n, e);

	if (rc < 0)
		return -1;
	if (rc == 0)
		return end_of_image(img, e);
	if (n != NDZ_CHUNK_BYTES)
		return err_set(e, ERR_FORMAT,
		    "%s: truncated in chunk %u, after %zu bytes of it", image_name(img),
		    img->next, n);
	if (check_chunk(img, img->next, buf, h, e) != 0)
		return err_ctx(e, "%s: chunk %u", image_name(img), img->next);
	img->next++;
	return 1;
}

void
image_go_to(struct image *img, uint32_t i)
{
	assert(image_seekable(img) && i >= img->next);
	img->next = i;
}

/* Parse the chunk that was read last, and call each() with it.  Returns 1 or -1. */
static int
give_parsed(struct image *img, struct chunk *c, const void *bytes,
    int (*each)(void *arg, struct chunk *, uint32_t i, const void *bytes, struct err *),
    void *arg, struct err *e)
{
	if (chunk_parse(c, bytes, e) != 0)
		return -1;
	int rc = each(arg, c, img->next - 1, bytes, e) == 0 ? 1 : -1;
	chunk_free(c);
	return rc;
}

int
image_each(struct image *img,
    int (*each)(void *arg, struct chunk *, uint32_t i, const void *bytes, struct err *),
    void *arg, struct err *e)
{
	uint8_t *buf = malloc(NDZ_CHUNK_BYTES);
	struct chunk *c = malloc(sizeof *c);
	int rc = buf != NULL && c != NULL ? 1 : err_nomem(e, "a chunk");

	while (rc == 1 && (rc = image_next(img, buf, &c->h, e)) == 1) {
		if (!c->h.encrypted)
			rc = give_parsed(img, c, buf, each, arg, e);
		if (rc == 1 && cancel_check(e) != 0)
			rc = -1;
	}
	free(c);
	free(buf);
	return rc;
}

int
image_blocks(
    struct image *img, uint32_t i, const struct blockmap *need, void *buf, struct err *e)
{
	return source_read(&img->source, i, need, buf, e);
}

int
image_header(struct image *img, uint32_t i, struct ndz_header *h, struct err *e)
{
	const struct blockmap need =
	    blockmap_range(0, NDZ_HEADER_BYTES / SOURCE_BLOCK_BYTES);
	uint8_t buf[NDZ_HEADER_BYTES];

	if (image_blocks(img, i, &need, buf, e) != 0)
		return -1;
	if (ndz_header_get(h, buf, sizeof buf, e) != 0)
		return err_ctx(e, "%s: chunk %u", image_name(img), i);
	return 0;
}

int
image_read(struct image *img, uint32_t i, void *buf, struct err *e)
{
	if (source_read(&img->source, i, NULL, buf, e) != 0)
		return -1;
	return open_chunk(img, i, buf, e);
}
