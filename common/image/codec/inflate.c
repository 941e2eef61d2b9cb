/* inflate.c: the decoding side of deflate.h.  Codecs decode fragments with it, chunk.c
 * and sectors.c whole streams, and the store both; an inflater belongs to one thread at
 * a time. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/image/codec/deflate.h"

#ifndef NO_LIBDEFLATE
#include <libdeflate.h>
#endif

static const uint8_t empty_final_block[] = { 0x03, 0x00 };

struct inflater {
#ifndef NO_LIBDEFLATE
	struct libdeflate_decompressor *d;
#endif
	z_stream z;
	bool z_ready;
	uint8_t *piece;                  /* made when first needed */
	/* bytes of the stream that were given out, and that are expected in all */
	uint64_t piece_done, piece_want;
	bool piece_last;
	uint8_t *ended; /* a copy of a fragment, with the end of a stream behind it */
	size_t ended_cap;
};

struct inflater *
inflater_new(void)
{
	struct inflater *i = calloc(1, sizeof *i);

#ifndef NO_LIBDEFLATE
	if (i != NULL && (i->d = libdeflate_alloc_decompressor()) == NULL) {
		free(i);
		return NULL;
	}
#endif
	return i;
}

void
inflater_free(struct inflater *i)
{
	if (i == NULL)
		return;
#ifndef NO_LIBDEFLATE
	libdeflate_free_decompressor(i->d);
#endif
	if (i->z_ready)
		inflateEnd(&i->z);
	free(i->piece);
	free(i->ended);
	free(i);
}

int
inflater_begin(struct inflater *i, const void *in, size_t in_bytes, uint64_t out_bytes,
    struct err *e)
{
	if (i->piece == NULL && (i->piece = malloc(INFLATER_PIECE_BYTES)) == NULL)
		return err_nomem(e, "a buffer to inflate into");
	int rc = i->z_ready ? inflateReset(&i->z) : inflateInit(&i->z);
	if (rc != Z_OK)
		return err_nomem(e, "zlib");
	i->z_ready = true;
	i->z.next_in = (Bytef *)(uintptr_t)in;
	i->z.avail_in = (uInt)in_bytes;
	i->piece_done = 0;
	i->piece_want = out_bytes;
	i->piece_last = false;
	return 0;
}

static int
too_short(uint64_t got, uint64_t want, struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "the zlib stream holds %" PRIu64 " bytes, the regions say %" PRIu64, got,
	    want);
}

static int
check_end(const struct inflater *i, struct err *e)
{
	if (i->z.avail_in != 0)
		return err_set(e, ERR_FORMAT, "%u bytes behind the zlib stream's end",
		    i->z.avail_in);
	return i->piece_done == i->piece_want
	           ? 0
	           : too_short(i->piece_done, i->piece_want, e);
}

int
inflater_more(struct inflater *i, void **data, size_t *n, struct err *e)
{
	for (*n = 0; *n == 0 && !i->piece_last; i->piece_done += *n) {
		i->z.next_out = i->piece;
		i->z.avail_out = INFLATER_PIECE_BYTES;
		int rc = inflate(&i->z, Z_NO_FLUSH);
		if (rc != Z_OK && rc != Z_STREAM_END)
			return err_set(e, ERR_FORMAT, "the zlib stream is damaged (%s)",
			    i->z.msg != NULL ? i->z.msg : "it ends too early");
		i->piece_last = rc == Z_STREAM_END;
		*n = INFLATER_PIECE_BYTES - i->z.avail_out;
		if (*n > i->piece_want - i->piece_done)
			return err_set(e, ERR_FORMAT,
			    "the zlib stream holds more than the %" PRIu64
			    " bytes that the regions say",
			    i->piece_want);
	}
	*data = i->piece;
	if (*n > 0)
		return 1;
	return check_end(i, e);
}

int
inflater_pieces(struct inflater *i, const void *in, size_t in_bytes, uint64_t out_bytes,
    int (*fn)(void *arg, void *data, size_t n, struct err *), void *arg, struct err *e)
{
	void *data;
	size_t n;
	int rc;

	if (inflater_begin(i, in, in_bytes, out_bytes, e) != 0)
		return -1;
	while ((rc = inflater_more(i, &data, &n, e)) == 1)
		if (fn != NULL && fn(arg, data, n, e) != 0)
			return -1;
	return rc;
}

/* Decoders want a final block, which a fragment does not have, so a copy gets one. */
static const uint8_t *
put_end(struct inflater *i, const void *in, size_t in_bytes, struct err *e)
{
	size_t need = in_bytes + sizeof empty_final_block;

	if (need > i->ended_cap) {
		free(i->ended);
		i->ended_cap = 0;
		i->ended = malloc(need);
		if (i->ended == NULL) {
			err_nomem(e, "a fragment");
			return NULL;
		}
		i->ended_cap = need;
	}
	memcpy(i->ended, in, in_bytes);
	memcpy(i->ended + in_bytes, empty_final_block, sizeof empty_final_block);
	return i->ended;
}

#ifndef NO_LIBDEFLATE

int
inflater_fragment(struct inflater *i, const void *in, size_t in_bytes, void *out,
    size_t out_bytes, struct err *e)
{
	const uint8_t *p = put_end(i, in, in_bytes, e);
	size_t used, got, need = in_bytes + sizeof empty_final_block;

	if (p == NULL)
		return -1;
	if (libdeflate_deflate_decompress_ex(
		i->d, p, need, out, out_bytes, &used, &got) != LIBDEFLATE_SUCCESS ||
	    used != need || got != out_bytes)
		return err_set(e, ERR_FORMAT, "its deflate stream is damaged");
	return 0;
}

int
inflater_stream(struct inflater *i, const void *in, size_t in_bytes, void *out,
    size_t out_bytes, struct err *e)
{
	size_t used, got;

	switch (libdeflate_zlib_decompress_ex(
	    i->d, in, in_bytes, out, out_bytes, &used, &got)) {
	case LIBDEFLATE_SUCCESS:
		break;
	case LIBDEFLATE_INSUFFICIENT_SPACE:
		return err_set(e, ERR_FORMAT,
		    "the zlib stream holds more than the %zu bytes that "
		    "the regions say",
		    out_bytes);
	default:
		return err_set(e, ERR_FORMAT, "the zlib stream is damaged");
	}
	if (used != in_bytes)
		return err_set(e, ERR_FORMAT, "%zu bytes behind the zlib stream's end",
		    in_bytes - used);
	return got == out_bytes ? 0 : too_short(got, out_bytes, e);
}

#else

int
inflater_fragment(struct inflater *i, const void *in, size_t in_bytes, void *out,
    size_t out_bytes, struct err *e)
{
	const uint8_t *p = put_end(i, in, in_bytes, e);
	z_stream z = { .next_in = (Bytef *)(uintptr_t)p,
		.next_out = out,
		.avail_in = (uInt)(in_bytes + sizeof empty_final_block),
		.avail_out = (uInt)out_bytes };

	if (p == NULL)
		return -1;
	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return err_nomem(e, "zlib");
	int rc = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (rc != Z_STREAM_END || z.avail_in != 0 || z.avail_out != 0)
		return err_set(e, ERR_FORMAT, "its deflate stream is damaged");
	return 0;
}

struct sink {
	uint8_t *at;
};

static int
collect(void *arg, void *data, size_t n, struct err *e)
{
	struct sink *s = arg;

	(void)e;
	memcpy(s->at, data, n);
	s->at += n;
	return 0;
}

int
inflater_stream(struct inflater *i, const void *in, size_t in_bytes, void *out,
    size_t out_bytes, struct err *e)
{
	struct sink s = { out };

	return inflater_pieces(i, in, in_bytes, out_bytes, collect, &s, e);
}

#endif /* NO_LIBDEFLATE */
