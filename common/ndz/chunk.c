#include "common/ndz/chunk.h"

#include <openssl/evp.h>
#include <string.h>

int
chunk_parse(struct chunk *c, const void *bytes, struct err *e)
{
	if (ndz_header_get(&c->h, bytes, NDZ_CHUNK_BYTES, e) != 0 ||
	    ext_get(&c->ext, &c->h, bytes, e) != 0)
		return -1;
	c->raw_bytes = ndz_header_raw_bytes(&c->h);
	return 0;
}

void
chunk_free(struct chunk *c)
{
	ext_free(&c->ext);
}

static const uint8_t *
stream_of(const void *bytes)
{
	return (const uint8_t *)bytes + NDZ_HEADER_BYTES;
}

int
chunk_decode(const struct chunk *c, const void *bytes, struct inflater *i, void *out,
    struct err *e)
{
	return inflater_stream(i, stream_of(bytes), c->h.size, out, c->raw_bytes, e);
}

int
chunk_pieces(const struct chunk *c, const void *bytes, struct inflater *i,
    int (*fn)(void *arg, void *data, size_t n, struct err *), void *arg, struct err *e)
{
	return inflater_pieces(i, stream_of(bytes), c->h.size, c->raw_bytes, fn, arg, e);
}

int
chunk_check_digest(const struct chunk *c, const void *bytes, struct err *e)
{
	uint8_t digest[EXT_DIGEST_BYTES];

	if (!c->ext.has_digest)
		return 0;
	ext_chunk_digest(&c->h, bytes, digest);
	if (memcmp(digest, c->ext.digest, sizeof digest) != 0)
		return err_set(e, ERR_FORMAT, "the digest of the chunk is wrong");
	return 0;
}

/* Walks the fragment table while the data passes. */
struct verifier {
	const struct chunk *c;
	EVP_MD_CTX *md;
	size_t fragment;		/* the one that data belongs to now */
	uint64_t left;			/* raw bytes of it still to come */
	unsigned region;		/* where its windows are cut from */
	uint64_t region_at;		/* sectors of that region already used */
};

/* Sectors of the next window that has any, from the regions. */
static uint64_t
next_window(struct verifier *v, uint64_t window_sectors)
{
	const struct ndz_header *h = &v->c->h;
	uint64_t n = 0, window = UINT64_MAX;

	while (v->region < h->nregions) {
		struct range r = h->regions[v->region];
		uint64_t at = r.off + v->region_at;
		if (window == UINT64_MAX)
			window = at / window_sectors;
		if (at / window_sectors != window)
			break;
		struct range part = range_clip(r, at, (window + 1) * window_sectors);
		n += part.len;
		v->region_at += part.len;
		if (v->region_at == r.len) {
			v->region++;
			v->region_at = 0;
		}
	}
	return n;
}

static void
begin_fragment(struct verifier *v)
{
	const struct ext *x = &v->c->ext;

	v->left = 0;
	for (uint64_t w = 0; w < x->fragments[v->fragment].windows; w++)
		v->left += next_window(v, x->window_bytes / SECTOR_BYTES) * SECTOR_BYTES;
	EVP_DigestInit_ex(v->md, EVP_sha256(), NULL);
}

static int
end_fragment(struct verifier *v, struct err *e)
{
	const struct ext_fragment *f = &v->c->ext.fragments[v->fragment];
	uint8_t digest[EVP_MAX_MD_SIZE];

	EVP_DigestFinal_ex(v->md, digest, NULL);
	if (!f->zero && memcmp(digest, f->digest, sizeof f->digest) != 0)
		return err_set(e, ERR_FORMAT, "the digest of fragment %zu is wrong", v->fragment);
	v->fragment++;
	return 0;
}

static bool
all_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static int
verify_piece(void *arg, void *data, size_t n, struct err *e)
{
	struct verifier *v = arg;
	const uint8_t *p = data;

	while (n > 0) {
		if (v->left == 0)
			begin_fragment(v);
		size_t now = n < v->left ? n : (size_t)v->left;
		if (now == 0)
			return err_set(e, ERR_FORMAT, "fragment %zu is empty", v->fragment);
		if (v->c->ext.fragments[v->fragment].zero) {
			if (!all_zero(p, now))
				return err_set(e, ERR_FORMAT, "fragment %zu is not zero",
				    v->fragment);
		} else {
			EVP_DigestUpdate(v->md, p, now);
		}
		p += now;
		n -= now;
		v->left -= now;
		if (v->left == 0 && end_fragment(v, e) != 0)
			return -1;
	}
	return 0;
}

int
chunk_verify(const struct chunk *c, const void *bytes, struct inflater *i, struct err *e)
{
	struct verifier v = { .c = c };

	if (chunk_check_digest(c, bytes, e) != 0)
		return -1;
	if (c->ext.fragments == NULL)
		return chunk_pieces(c, bytes, i, NULL, NULL, e);
	v.md = EVP_MD_CTX_new();
	if (v.md == NULL)
		return err_nomem(e, "a digest");
	int rc = chunk_pieces(c, bytes, i, verify_piece, &v, e);
	EVP_MD_CTX_free(v.md);
	return rc;
}
