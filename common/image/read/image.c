#include "common/image/read/image.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/disk.h"
#include "common/image/read/chunk.h"

struct image {
	struct disk *disk;
	struct proof *proof; /* or NULL */
	uint32_t nchunks;    /* UINT32_MAX: a pipe */
	uint32_t next;       /* chunk that image_next() reads */
	struct image_identity id;
	bool ours; /* chunk 0 had an extension */
	bool last_seen;
	uint8_t *ahead; /* of a pipe: the first chunk, read and not given out */
	ssize_t ahead_bytes;
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

/* What a chunk says of its image; nothing when it makes no sense at all. */
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

/* Has an image of this suite its last chunk?  Asked before anything of it is
 * used.  What else is wrong with these two chunks is for image_next() to say. */
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
open_seekable(struct image *img, struct err *e)
{
	uint64_t bytes = disk_size_bytes(img->disk);

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

int
image_open_disk(struct image **out, struct disk *d, struct proof *proof, struct err *e)
{
	struct image *img = calloc(1, sizeof *img);
	struct err ignored; /* nothing was written */

	if (img == NULL) {
		err_nomem(e, disk_name(d));
		disk_close(d, &ignored);
		return -1;
	}
	img->disk = d;
	img->proof = proof;
	img->nchunks = UINT32_MAX;
	if (disk_seekable(d) && open_seekable(img, e) != 0) {
		image_close(img);
		return -1;
	}
	*out = img;
	return 0;
}

int
image_open_proved(
    struct image **out, const char *path, struct proof *proof, struct err *e)
{
	struct disk *d;

	return disk_open(&d, path, DISK_READ, e) == 0
	           ? image_open_disk(out, d, proof, e)
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
	struct err ignored; /* nothing was written */

	if (img == NULL)
		return;
	disk_close(img->disk, &ignored);
	free(img->ahead);
	free(img);
}

const char *
image_name(const struct image *img)
{
	return disk_name(img->disk);
}

bool
image_seekable(const struct image *img)
{
	return disk_seekable(img->disk);
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

/* What an image of this suite promises about the places of its chunks. */
static int
check_place(struct image *img, uint32_t i, const struct ndz_header *h,
    const struct ext *x, struct err *e)
{
	if (i == 0)
		img->ours = x->present;
	if (img->ours && h->index != (int32_t)i)
		return err_set(e, ERR_FORMAT,
		    "is not in its place: it says that it is chunk %d", h->index);
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

/* Of a chunk that nobody can look into: only what its header says. */
static int
check_encrypted(
    struct image *img, uint32_t i, const struct ndz_header *h, struct err *e)
{
	static const struct ext none;

	if (h->index != (int32_t)i)
		return err_set(e, ERR_FORMAT,
		    "is not in its place: it says that it is chunk %d", h->index);
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
prove(struct image *img, uint32_t i, void *buf, struct err *e)
{
	if (proof_chunk(img->proof, i, buf, e) != 0)
		return err_ctx(e, "%s: chunk %u", image_name(img), i);
	return 0;
}

/* Chunk i as far as it is there: a count as read(2) gives it. */
static ssize_t
read_upto(struct image *img, uint32_t i, void *buf, struct err *e)
{
	ssize_t n = disk_read_upto(
	    img->disk, buf, NDZ_CHUNK_BYTES, (uint64_t)i * NDZ_CHUNK_BYTES, e);

	if (n == NDZ_CHUNK_BYTES && prove(img, i, buf, e) != 0)
		return -1;
	return n;
}

/* The bytes of the next chunk. */
static ssize_t
read_next(struct image *img, void *buf, struct err *e)
{
	if (img->ahead == NULL || img->next > 0)
		return read_upto(img, img->next, buf, e);
	memcpy(buf, img->ahead, (size_t)img->ahead_bytes);
	free(img->ahead);
	img->ahead = NULL;
	return img->ahead_bytes;
}

static int
read_ahead(struct image *img, struct err *e)
{
	img->ahead = malloc(NDZ_CHUNK_BYTES);
	if (img->ahead == NULL)
		return err_nomem(e, image_name(img));
	img->ahead_bytes = read_upto(img, 0, img->ahead, e);
	if (img->ahead_bytes >= 0)
		return 0;
	free(img->ahead);
	img->ahead = NULL;
	return -1;
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
	ssize_t n = read_next(img, buf, e);

	if (n < 0)
		return -1;
	if (n == 0)
		return end_of_image(img, e);
	if (n != NDZ_CHUNK_BYTES)
		return err_set(e, ERR_FORMAT,
		    "%s: truncated in chunk %u, after %zd bytes of it", image_name(img),
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

int
image_each(struct image *img,
    int (*each)(void *arg, struct chunk *, uint32_t i, const void *bytes, struct err *),
    void *arg, struct err *e)
{
	uint8_t *buf = malloc(NDZ_CHUNK_BYTES);
	struct chunk *c = malloc(sizeof *c);
	int rc = buf != NULL && c != NULL ? 1 : err_nomem(e, "a chunk");

	while (rc == 1 && (rc = image_next(img, buf, NULL, e)) == 1) {
		rc = chunk_parse(c, buf, e);
		if (rc != 0)
			break;
		rc = each(arg, c, img->next - 1, buf, e) == 0 ? 1 : -1;
		chunk_free(c);
	}
	free(c);
	free(buf);
	return rc;
}

int
image_header(struct image *img, uint32_t i, struct ndz_header *h, struct err *e)
{
	uint8_t buf[NDZ_HEADER_BYTES];

	if (disk_read(img->disk, buf, sizeof buf, (uint64_t)i * NDZ_CHUNK_BYTES, e) !=
	    0)
		return -1;
	if (ndz_header_get(h, buf, sizeof buf, e) != 0)
		return err_ctx(e, "%s: chunk %u", image_name(img), i);
	return 0;
}

int
image_read(struct image *img, uint32_t i, void *buf, struct err *e)
{
	if (disk_read(
		img->disk, buf, NDZ_CHUNK_BYTES, (uint64_t)i * NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	return prove(img, i, buf, e);
}
