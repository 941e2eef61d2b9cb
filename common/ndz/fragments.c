#include "common/ndz/fragments.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

struct fragments
fragments_of(const struct chunk *c)
{
	return (struct fragments){ .c = c };
}

/* Sectors of the next window that has any, from the regions. */
static uint64_t
next_window(struct fragments *f, uint64_t window_sectors)
{
	const struct ndz_header *h = &f->c->h;
	uint64_t n = 0, window = UINT64_MAX;

	while (f->region < h->nregions) {
		struct range r = h->regions[f->region];
		uint64_t at = r.off + f->region_at;
		if (window == UINT64_MAX)
			window = at / window_sectors;
		if (at / window_sectors != window)
			break;
		struct range part = range_clip(r, at, (window + 1) * window_sectors);
		n += part.len;
		f->region_at += part.len;
		if (f->region_at == r.len) {
			f->region++;
			f->region_at = 0;
		}
	}
	return n;
}

bool
fragments_next(struct fragments *f)
{
	const struct ext *x = &f->c->ext;

	f->number = f->entry == NULL ? 0 : f->number + 1;
	f->stream_at = f->entry == NULL ? STREAM_HEAD_BYTES : f->stream_at + f->entry->bytes;
	f->raw_at += f->raw_bytes;
	f->raw_bytes = 0;
	if (f->number >= x->nfragments)
		return false;
	f->entry = &x->fragments[f->number];
	for (uint64_t w = 0; w < f->entry->windows; w++)
		f->raw_bytes += next_window(f, x->window_bytes / SECTOR_BYTES) * SECTOR_BYTES;
	return true;
}

uint64_t
chunk_packed_bytes(const struct chunk *c)
{
	struct fragments f = fragments_of(c);
	uint64_t n = 0;

	while (fragments_next(&f))
		if (!f.entry->zero)
			n += f.raw_bytes;
	return n;
}

/* The table's check made sure that head, fragments and tail are the stream. */
static int
check_tail(const struct chunk *c, const uint8_t *stream, uint32_t adler, struct err *e)
{
	uint8_t tail[STREAM_TAIL_BYTES];

	deflate_stream_tail(adler, tail);
	if (memcmp(stream + c->h.size - sizeof tail, tail, sizeof tail) != 0)
		return err_set(e, ERR_FORMAT, "the Adler-32 of the zlib stream is wrong");
	return 0;
}

bool
fragment_is(const struct fragments *f, const void *data)
{
	uint8_t digest[EXT_DIGEST_BYTES];
	unsigned n = sizeof digest;
	int ok = EVP_Digest(data, f->raw_bytes, digest, &n, EVP_sha256(), NULL);

	assert(ok == 1);
	return memcmp(digest, f->entry->digest, sizeof f->entry->digest) == 0;
}

/* Decode the current fragment, which is not zero, to out[raw_bytes]. */
static int
decode_one(const struct fragments *f, const uint8_t *stream, struct inflater *inf,
    void *out, bool digest, struct err *e)
{
	if (inflater_fragment(inf, stream + f->stream_at, f->entry->bytes, out, f->raw_bytes,
		e) != 0)
		return err_ctx(e, "fragment %zu", f->number);
	if (digest && !fragment_is(f, out))
		return err_set(e, ERR_FORMAT, "the digest of fragment %zu is wrong", f->number);
	return 0;
}

static int
check_one(const struct fragments *f, const uint8_t *stream, struct err *e)
{
	if (f->raw_bytes == 0)
		return err_set(e, ERR_FORMAT, "fragment %zu is empty", f->number);
	if (f->entry->zero &&
	    !deflate_is_zeros(stream + f->stream_at, f->entry->bytes, f->raw_bytes))
		return err_set(e, ERR_FORMAT, "fragment %zu is not zero", f->number);
	return 0;
}

int
fragments_decode(const struct fragments *f, const void *bytes, struct inflater *inf,
    void *out, struct err *e)
{
	const uint8_t *stream = (const uint8_t *)bytes + NDZ_HEADER_BYTES;

	if (check_one(f, stream, e) != 0)
		return -1;
	return f->entry->zero ? 0 : decode_one(f, stream, inf, out, true, e);
}

/* Decode every fragment to `out`: one behind the other, or each over the one
 * before when they are only to be verified. */
static int
walk(const struct chunk *c, const void *bytes, struct inflater *inf, uint8_t *out,
    bool verify, struct err *e)
{
	const uint8_t *stream = (const uint8_t *)bytes + NDZ_HEADER_BYTES;
	struct fragments f = fragments_of(c);
	uint32_t adler = 1;

	while (fragments_next(&f)) {
		if (check_one(&f, stream, e) != 0)
			return -1;
		if (f.entry->zero) {
			adler = adler_combine(adler, adler_zeros(f.raw_bytes), f.raw_bytes);
			continue;
		}
		if (decode_one(&f, stream, inf, out, verify, e) != 0)
			return -1;
		adler = adler_update(adler, out, f.raw_bytes);
		out += verify ? 0 : f.raw_bytes;
	}
	return check_tail(c, stream, adler, e);
}

int
chunk_decode_others(const struct chunk *c, const void *bytes, struct inflater *inf,
    const bool *skip, void *out, struct err *e)
{
	const uint8_t *stream = (const uint8_t *)bytes + NDZ_HEADER_BYTES;
	struct fragments f = fragments_of(c);
	uint8_t *to = out;

	while (fragments_next(&f)) {
		if (check_one(&f, stream, e) != 0)
			return -1;
		if (f.entry->zero)
			continue;
		if (!skip[f.number] && decode_one(&f, stream, inf, to, true, e) != 0)
			return -1;
		to += f.raw_bytes;
	}
	return 0;
}

int
chunk_decode_packed(const struct chunk *c, const void *bytes, struct inflater *inf,
    void *out, struct err *e)
{
	return walk(c, bytes, inf, out, false, e);
}

int
chunk_verify_fragments(const struct chunk *c, const void *bytes, struct inflater *inf,
    struct err *e)
{
	/* One that is not zero is one window. */
	uint8_t *scratch = malloc(c->ext.window_bytes);

	if (scratch == NULL)
		return err_nomem(e, "a fragment");
	int rc = walk(c, bytes, inf, scratch, true, e);
	free(scratch);
	return rc;
}
