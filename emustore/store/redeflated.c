/* redeflated.c: puts together the chunks of images that other programs made, by
 * compressing their data again.  Called by rebuild.c, in the thread to which the struct
 * redeflated belongs. */
#include "emustore/store/redeflated.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/base/wr.h"
#include "common/image/codec/deflate.h"
#include "common/image/read/fragments.h"

enum { ZEROS_BYTES = 64 * 1024, SIZE_AT = 4, LEVEL_BEST = 9, MEMORY_BEST = 9 };

static const uint8_t zeros[ZEROS_BYTES];

struct redeflated {
	struct packs *packs;
	struct decoder *decoder;
	struct redeflater *redeflater;
	struct buf body;
	struct ndz_header h;
	uint8_t raw[FRAGMENT_BYTES_MAX];
};

struct redeflated *
redeflated_new(struct packs *packs)
{
	struct redeflated *m = calloc(1, sizeof *m);

	if (m == NULL)
		return NULL;
	m->packs = packs;
	m->decoder = decoder_new();
	m->redeflater = redeflater_new();
	if (m->decoder != NULL && m->redeflater != NULL)
		return m;
	redeflated_free(m);
	return NULL;
}

void
redeflated_free(struct redeflated *m)
{
	if (m == NULL)
		return;
	decoder_free(m->decoder);
	redeflater_free(m->redeflater);
	buf_free(&m->body);
	free(m);
}

/* Read fragment `number`, whose record is at p, and decompress it to raw; its raw digest
 * is checked.  Returns the length of the data in bytes, or -1. */
static int64_t
get_fragment(struct redeflated *m, const struct codec *codec, uint64_t number,
    const struct place *p, uint8_t *raw, struct err *e)
{
	struct record_head h;
	struct fragment_head f;
	uint8_t digest[SHA256_BYTES];

	if (packs_read_record(m->packs, p->slot, p->at, &h, &m->body, e) != 0)
		return -1;
	if (h.type != RECORD_FRAGMENT ||
	    fragment_get_head(&f, m->body.base, m->body.len, e) != 0 ||
	    f.raw_bytes == 0 || f.raw_bytes > FRAGMENT_BYTES_MAX)
		return err_set(e, ERR_FORMAT,
		    "%s: fragment %" PRIu64 " is not at byte %" PRIu64
		    ", where the index has it",
		    packs_name(m->packs, p->slot).text, number, p->at);
	if (decoder_fragment(m->decoder, codec, m->body.base + FRAGMENT_HEAD_BYTES,
		m->body.len - FRAGMENT_HEAD_BYTES, raw, f.raw_bytes, e) != 0)
		return -1;
	sha256(raw, f.raw_bytes, digest);
	if (memcmp(digest, f.raw_digest, sizeof f.raw_digest) != 0)
		return err_set(e, ERR_FORMAT,
		    "fragment %" PRIu64 " does not have the data that it says", number);
	return f.raw_bytes;
}

/* Pass all data of the chunk to fn, in order, until fn returns false.  Returns 1 if fn got
 * all of it, 0 if fn stopped, -1 on failure. */
static int
each_data(struct redeflated *m, const struct recipe_chunk *c, const struct place *places,
    bool (*fn)(void *arg, const void *data, size_t n), void *arg, struct err *e)
{
	for (size_t i = 0; i < c->npieces; i++) {
		const struct recipe_piece *p = &c->pieces[i];
		for (uint64_t left = p->zero ? p->raw_bytes : 0; left > 0;) {
			size_t n = left < ZEROS_BYTES ? (size_t)left : ZEROS_BYTES;
			if (!fn(arg, zeros, n))
				return 0;
			left -= n;
		}
		if (p->zero)
			continue;
		int64_t n = get_fragment(
		    m, c->codec, p->number, &places[i], m->raw, e);
		if (n < 0)
			return -1;
		if (!fn(arg, m->raw, (size_t)n))
			return 0;
	}
	return 1;
}

struct sum {
	uint32_t adler;
	uint64_t bytes;
};

static bool
add_to_sum(void *arg, const void *data, size_t n)
{
	struct sum *s = arg;

	s->adler = adler_update(s->adler, data, n);
	s->bytes += n;
	return true;
}

static int
get_header(
    struct redeflated *m, const struct recipe_chunk *c, uint8_t *header, struct err *e)
{
	memcpy(header, c->header, c->header_bytes);
	memset(header + c->header_bytes, 0, NDZ_HEADER_BYTES - c->header_bytes);
	if (ndz_header_get(&m->h, header, NDZ_HEADER_BYTES, e) != 0)
		return -1;
	return m->h.size == c->stream_bytes
	           ? 0
	           : err_set(e, ERR_FORMAT, "the recipe and its header do not agree");
}

/* Check the raw digest of every fragment, and the Adler-32 and the length of all data
 * together. */
static int
check_data(struct redeflated *m, const struct recipe_chunk *c,
    const struct place *places, struct err *e)
{
	struct sum s = { 1, 0 };
	uint8_t header[NDZ_HEADER_BYTES];

	if (get_header(m, c, header, e) != 0 ||
	    each_data(m, c, places, add_to_sum, &s, e) < 0)
		return -1;
	if (s.adler == c->adler && s.bytes == ndz_header_raw_bytes(&m->h))
		return 0;
	return err_set(e, ERR_FORMAT, "its data is not what was put");
}

static bool
feed(void *arg, const void *data, size_t n)
{
	return redeflate_data(arg, data, n);
}

/* Make the zlib stream of the chunk in out, behind the header.  Returns its length in
 * bytes, 0 when it does not fit, or -1. */
static int64_t
make_stream(struct redeflated *m, const struct recipe_chunk *c,
    const struct place *places, const struct redeflate_how *how, uint8_t *out,
    struct err *e)
{
	if (redeflate_begin(m->redeflater, how, &m->h, out + NDZ_HEADER_BYTES, e) != 0)
		return -1;
	int rc = each_data(m, c, places, feed, m->redeflater, e);
	if (rc <= 0)
		return rc;
	size_t n = redeflate_end(m->redeflater);
	memset(out + NDZ_HEADER_BYTES + n, 0, NDZ_STREAM_MAX - n);
	return (int64_t)n;
}

/* This zlib makes other bytes than the zlib that made the chunk, so make an equivalent
 * stream.  The parameters of the original come first, because they give about the same
 * length. */
static int
make_equivalent(struct redeflated *m, const struct recipe_chunk *c,
    const struct place *places, uint8_t *out, struct err *e)
{
	struct redeflate_how hows[] = {
		{ REDEFLATE_PLAIN, c->how.level, c->how.memory, "" },
		{ REDEFLATE_PLAIN, LEVEL_BEST, MEMORY_BEST, "" },
	};
	int64_t n = 0;

	/* Each fragment may agree with its own digest and still not be the data of this
	 * chunk. */
	if (check_data(m, c, places, e) != 0)
		return -1;
	for (size_t i = 0; i < sizeof hows / sizeof *hows && n == 0; i++)
		n = make_stream(m, c, places, &hows[i], out, e);
	if (n == 0)
		return err_set(e, ERR_FORMAT,
		    "zlib %s made its stream; this zlib makes another one, which does "
		    "not fit into 1 MiB",
		    c->how.zlib);
	if (n < 0)
		return -1;
	struct wr w = wr_to(out + SIZE_AT, 4);
	wr_le32(&w, (uint32_t)n);
	return 1;
}

int
redeflated_chunk(struct redeflated *m, const struct recipe_chunk *c,
    const struct place *places, uint8_t *out, struct err *e)
{
	uint8_t digest[SHA256_BYTES];

	if (get_header(m, c, out, e) != 0)
		return -1;
	int64_t n = make_stream(m, c, places, &c->how, out, e);
	if (n < 0)
		return -1;
	if (n == c->stream_bytes) {
		sha256(out, NDZ_CHUNK_BYTES, digest);
		if (memcmp(digest, c->sha256, sizeof digest) == 0)
			return 0;
	}
	return make_equivalent(m, c, places, out, e);
}
