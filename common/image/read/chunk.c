/* chunk.c: one chunk: its header and extension area, its digests, its data.  Everything
 * that has a chunk in memory calls this, in any thread; a decoder is the caller's. */
#include "common/image/read/chunk.h"

#include <string.h>

#include "common/image/read/fragments.h"

int
chunk_parse(struct chunk *c, const void *bytes, struct err *e)
{
	if (ndz_header_get(&c->h, bytes, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	if (c->h.encrypted)
		return err_set(e, ERR_UNSUPPORTED,
		    "is encrypted; give its key with --decrypt=KEYFILE (for a program "
		    "that has no such option, imagerezip --decrypt=KEYFILE makes an "
		    "image that is not encrypted)");
	if (ext_get(&c->ext, &c->h, bytes, e) != 0)
		return -1;
	c->codec = ndz_header_codec(&c->h);
	c->raw_bytes = ndz_header_raw_bytes(&c->h);
	/* Only a zlib stream can be read without knowing its fragments. */
	if (c->codec->id == CODEC_DEFLATE || c->ext.fragments != NULL)
		return 0;
	chunk_free(c);
	return err_set(
	    e, ERR_FORMAT, "a %s chunk without a fragment table", c->codec->name);
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
chunk_decode(const struct chunk *c, const void *bytes, struct decoder *d, void *out,
    struct err *e)
{
	if (c->codec->id != CODEC_DEFLATE)
		return chunk_decode_fragments(c, bytes, d, out, e);
	return inflater_stream(
	    decoder_inflater(d), stream_of(bytes), c->h.size, out, c->raw_bytes, e);
}

int
chunk_pieces(const struct chunk *c, const void *bytes, struct decoder *d,
    int (*fn)(void *arg, void *data, size_t n, struct err *), void *arg, struct err *e)
{
	if (c->codec->id != CODEC_DEFLATE)
		return chunk_fragment_pieces(c, bytes, d, fn, arg, e);
	return inflater_pieces(
	    decoder_inflater(d), stream_of(bytes), c->h.size, c->raw_bytes, fn, arg, e);
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

bool
chunk_header_proved(const struct chunk *c, const void *bytes)
{
	uint8_t digest[EXT_DIGEST_BYTES];

	ext_header_digest(bytes, digest);
	return c->ext.has_header_digest &&
	       memcmp(digest, c->ext.header_digest, sizeof digest) == 0;
}

int
chunk_verify(const struct chunk *c, const void *bytes, struct decoder *d, struct err *e)
{
	if (chunk_check_digest(c, bytes, e) != 0)
		return -1;
	if (c->ext.has_header_digest && !chunk_header_proved(c, bytes))
		return err_set(e, ERR_FORMAT, "the digest of the header is wrong");
	if (c->ext.fragments == NULL)
		return chunk_pieces(c, bytes, d, NULL, NULL, e);
	return chunk_verify_fragments(c, bytes, d, e);
}
