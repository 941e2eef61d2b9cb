/* redeflate.c: finds the parameters of a zlib stream, and reproduces the stream.  Called
 * by prepare.c and redeflated.c, in their threads. */
#include "emustore/store/redeflate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/image/codec/deflate.h"

enum {
	PIECE_BYTES = 128 * 1024,
	/* a piece is made shorter where less room than this would be left */
	RESERVE_BYTES = 1024,
	SECTOR = 512,
	PROBE_PIECES = 2,
	MEMORY_DEFAULT = 8,
};

struct redeflater {
	z_stream z;
	bool ready;
	struct redeflate_how how;
	const struct ndz_header *h;
	unsigned region;      /* number of the next region */
	uint64_t region_left; /* bytes that are left of the region before it */
	uint8_t *out;
	size_t out_bytes;
	/* The stream that must come out, when it is known; NULL: it is not known. */
	const uint8_t *expect;
	unsigned pieces;
	size_t want, have; /* bytes of the current piece: its length, and how many are there */
	uint8_t piece[PIECE_BYTES];
	uint8_t scratch[NDZ_STREAM_MAX]; /* streams that redeflate_find() tries */
};

struct redeflater *
redeflater_new(void)
{
	return calloc(1, sizeof(struct redeflater));
}

void
redeflater_free(struct redeflater *r)
{
	if (r == NULL)
		return;
	if (r->ready)
		deflateEnd(&r->z);
	free(r);
}

static int
begin_zlib(struct redeflater *r, const struct redeflate_how *how)
{
	bool same = r->how.level == how->level && r->how.memory == how->memory;

	if (r->ready && same)
		return deflateReset(&r->z);
	if (r->ready)
		deflateEnd(&r->z);
	r->z = (z_stream){ 0 };
	int rc = deflateInit2(
	    &r->z, how->level, Z_DEFLATED, MAX_WBITS, how->memory, Z_DEFAULT_STRATEGY);
	r->ready = rc == Z_OK;
	return rc;
}

int
redeflate_begin(struct redeflater *r, const struct redeflate_how *how,
    const struct ndz_header *h, uint8_t *out, struct err *e)
{
	if (begin_zlib(r, how) != Z_OK)
		return err_nomem(e, "zlib");
	r->how = *how;
	r->h = h;
	r->region = 0;
	r->region_left = 0;
	r->out = out;
	r->out_bytes = r->want = r->have = 0;
	r->expect = NULL;
	r->pieces = 0;
	return 0;
}

/* The length of the next piece in bytes; 0: there is none, or no room for one. */
static size_t
next_piece(struct redeflater *r)
{
	size_t left = NDZ_STREAM_MAX - r->out_bytes;

	if (r->region_left == 0 && r->region < r->h->nregions)
		r->region_left = r->h->regions[r->region++].len * SECTOR;
	size_t n = r->region_left < PIECE_BYTES ? (size_t)r->region_left : PIECE_BYTES;
	if (r->how.rule != REDEFLATE_FLUSHED)
		return n;
	if (left < RESERVE_BYTES)
		return 0;
	if (n > left - RESERVE_BYTES)
		n = (left - RESERVE_BYTES) / SECTOR * SECTOR;
	return n;
}

/* Compress the current piece.  false: it does not fit, or is not the stream that is
 * expected. */
static bool
run_zlib(struct redeflater *r, int flush)
{
	size_t before = r->out_bytes;

	r->z.next_in = r->piece;
	r->z.avail_in = (uInt)r->have;
	r->z.next_out = r->out + r->out_bytes;
	r->z.avail_out = (uInt)(NDZ_STREAM_MAX - r->out_bytes);
	int rc = deflate(&r->z, flush);
	r->out_bytes = NDZ_STREAM_MAX - r->z.avail_out;
	bool done = flush == Z_FINISH ? rc == Z_STREAM_END
	                              : rc == Z_OK && r->z.avail_out > 0;
	return done &&
	       (r->expect == NULL || (r->out_bytes <= r->h->size &&
					 memcmp(r->out + before, r->expect + before,
					     r->out_bytes - before) == 0));
}

bool
redeflate_data(struct redeflater *r, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n > 0) {
		if (r->want == 0 && (r->want = next_piece(r)) == 0)
			return false;
		size_t part = r->want - r->have < n ? r->want - r->have : n;
		memcpy(r->piece + r->have, p, part);
		r->have += part;
		p += part;
		n -= part;
		if (r->have < r->want)
			break;
		if (!run_zlib(r,
			r->how.rule == REDEFLATE_FLUSHED ? Z_SYNC_FLUSH : Z_NO_FLUSH))
			return false;
		r->region_left -= r->want;
		r->want = r->have = 0;
		r->pieces++;
	}
	return true;
}

size_t
redeflate_end(struct redeflater *r)
{
	if (r->have > 0 || r->region_left > 0 || r->region < r->h->nregions ||
	    !run_zlib(r, Z_FINISH))
		return 0;
	return r->out_bytes;
}

/* Try the parameters `how` on the first `pieces` pieces of the stream.  1: the stream is
 * the same as far as it was tried; 0: it is not; -1. */
static int
try(struct redeflater *r, struct inflater *in, const struct ndz_header *h,
    const uint8_t *stream, const struct redeflate_how *how, unsigned pieces,
    struct err *e)
{
	void *data;
	size_t n;
	int rc;

	if (redeflate_begin(r, how, h, r->scratch, e) != 0 ||
	    inflater_begin(in, stream, h->size, ndz_header_raw_bytes(h), e) != 0)
		return -1;
	r->expect = stream;
	while ((rc = inflater_more(in, &data, &n, e)) == 1) {
		if (!redeflate_data(r, data, n))
			return 0;
		if (r->pieces >= pieces)
			return 1;
	}
	return rc == 0 ? redeflate_end(r) == h->size : -1;
}

/* Try PROBE_PIECES pieces first, and the whole stream only if these are the same. */
static int
try_both(struct redeflater *r, struct inflater *in, const struct ndz_header *h,
    const uint8_t *stream, const struct redeflate_how *how, struct err *e)
{
	int rc = try(r, in, h, stream, how, PROBE_PIECES, e);

	return rc == 1 ? try(r, in, h, stream, how, UINT32_MAX, e) : rc;
}

/* The levels to try, in order.  The two top bits of the stream's second byte tell some
 * levels apart.  The default level of the original imagezip comes first. */
static const char *
levels_of(uint8_t second)
{
	static const char *const by_bits[] = { "\1", "\4\5\3\2", "\6", "\11\7\10" };

	return by_bits[second >> 6];
}

int
redeflate_find(struct redeflater *r, struct inflater *in, const struct ndz_header *h,
    const uint8_t *stream, struct redeflate_how *how, struct err *e)
{
	static const uint8_t memories[] = { MEMORY_DEFAULT, MEMORY_DEFAULT + 1 };
	struct redeflate_how t = { 0 };
	int rc = how->rule == 0 ? 0 : try(r, in, h, stream, how, UINT32_MAX, e);

	if (rc != 0 || h->size < 2)
		return rc;
	snprintf(t.zlib, sizeof t.zlib, "%s", zlibVersion());
	for (t.rule = 1; t.rule <= REDEFLATE_RULE_MAX; t.rule++)
		for (size_t m = 0; m < sizeof memories; m++)
			for (const char *l = levels_of(stream[1]); *l != '\0'; l++) {
				t.level = (uint8_t)*l;
				t.memory = memories[m];
				rc = try_both(r, in, h, stream, &t, e);
				if (rc == 1)
					*how = t;
				if (rc != 0)
					return rc;
			}
	return 0;
}
