/* fragments.c: fragments of a chunk are walked, compared with what is decoded already,
 * and decoded.  chunk.c, partial.c, the store and the installation's jobs call this, in
 * any thread. */
#include "common/image/read/fragments.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"

struct fragments
fragments_of(const struct chunk *c)
{
	return (struct fragments){ .c = c };
}

bool
fragments_next(struct fragments *f)
{
	const struct ext *x = &f->c->ext;

	f->number = f->entry == NULL ? 0 : f->number + 1;
	f->stream_at = f->entry == NULL ? f->c->codec->head_bytes
	                                : f->stream_at + f->entry->bytes;
	f->raw_at += f->raw_bytes;
	f->raw_bytes = 0;
	if (f->number >= x->nfragments)
		return false;
	f->entry = &x->fragments[f->number];
	f->raw_bytes = f->entry->sectors * SECTOR_BYTES;
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

/* Check the tail of the stream, which has the Adler-32.  The check of the table made sure that
 * head, fragments and tail are all of the stream. */
static int
check_ends(const struct chunk *c, const uint8_t *stream, uint32_t adler, struct err *e)
{
	uint8_t tail[CODEC_ENDS_BYTES];
	size_t n = c->codec->tail_bytes;

	c->codec->tail(adler, tail);
	if (memcmp(stream + c->h.size - n, tail, n) != 0)
		return err_set(e, ERR_FORMAT, "the Adler-32 of the stream is wrong");
	return 0;
}

bool
fragment_is(const struct fragments *f, const void *data)
{
	uint8_t digest[SHA256_BYTES];

	sha256(data, f->raw_bytes, digest);
	return memcmp(digest, f->entry->digest, sizeof f->entry->digest) == 0;
}

void
fragments_are(const struct fragments f[2], const void *const data[2], bool is[2])
{
	uint8_t digest[2][SHA256_BYTES];

	sha256_pair(
	    data[0], f[0].raw_bytes, data[1], f[1].raw_bytes, digest[0], digest[1]);
	for (unsigned i = 0; i < 2; i++)
		is[i] = memcmp(digest[i], f[i].entry->digest,
			    sizeof f[i].entry->digest) == 0;
}

static int
check_digest(const struct fragments *f, const void *data, struct err *e)
{
	if (fragment_is(f, data))
		return 0;
	return err_set(e, ERR_FORMAT, "the digest of fragment %zu is wrong", f->number);
}

/* Check what can be checked of a fragment without decoding it, which is everything when it
 * is zero. */
static int
check_one(const struct fragments *f, const uint8_t *stream, struct err *e)
{
	if (f->entry->zero && !f->c->codec->is_zeros(
				  stream + f->stream_at, f->entry->bytes, f->raw_bytes))
		return err_set(e, ERR_FORMAT, "fragment %zu is not zero", f->number);
	return 0;
}

static int
decode_to(const struct fragments *f, const uint8_t *stream, struct decoder *d,
    void *out, struct err *e)
{
	if (decoder_fragment(d, f->c->codec, stream + f->stream_at, f->entry->bytes,
		out, f->raw_bytes, e) != 0)
		return err_ctx(e, "fragment %zu", f->number);
	return 0;
}

int
fragments_decode(const struct fragments *f, const void *bytes, struct decoder *d,
    void *out, struct err *e)
{
	const uint8_t *stream = (const uint8_t *)bytes + NDZ_HEADER_BYTES;

	if (check_one(f, stream, e) != 0)
		return -1;
	if (f->entry->zero)
		return 0;
	return decode_to(f, stream, d, out, e) != 0 || check_digest(f, out, e) != 0 ? -1
	                                                                            : 0;
}

/* Where walk() puts the fragments, and what it does with them there. */
struct walk {
	/* place() returns where a fragment of n bytes goes.  used() gets data NULL for a
	 * fragment that is zero, for which place() is not called. */
	uint8_t *(*place)(struct walk *, uint64_t n);
	int (*used)(
	    struct walk *, const struct fragments *, uint8_t *data, struct err *);
	uint8_t *out;
	int (*fn)(void *arg, void *data, size_t n, struct err *);
	void *arg;
};

static int
decode_one(const struct fragments *f, const uint8_t *stream, struct decoder *d,
    struct walk *w, uint32_t *adler, struct err *e)
{
	uint64_t n = f->raw_bytes;

	if (check_one(f, stream, e) != 0)
		return -1;
	if (f->entry->zero) {
		*adler = adler_combine(*adler, adler_zeros(n), n);
		return w->used(w, f, NULL, e);
	}
	uint8_t *out = w->place(w, n);
	if (decode_to(f, stream, d, out, e) != 0)
		return -1;
	*adler = adler_update(*adler, out, n);
	return w->used(w, f, out, e);
}

/* Decode every fragment, and check the Adler-32 of all data. */
static int
walk(const struct chunk *c, const void *bytes, struct decoder *d, struct walk *w,
    struct err *e)
{
	const uint8_t *stream = (const uint8_t *)bytes + NDZ_HEADER_BYTES;
	struct fragments f = fragments_of(c);
	uint32_t adler = 1;

	while (fragments_next(&f))
		if (decode_one(&f, stream, d, w, &adler, e) != 0)
			return -1;
	return check_ends(c, stream, adler, e);
}

int
chunk_decode_others(const struct chunk *c, const void *bytes, struct decoder *d,
    const bool *skip, void *out, struct err *e)
{
	const uint8_t *stream = (const uint8_t *)bytes + NDZ_HEADER_BYTES;
	struct fragments f = fragments_of(c);
	uint8_t *to = out;

	for (; fragments_next(&f); to += f.entry->zero ? 0 : f.raw_bytes) {
		if (skip[f.number])
			continue;
		if (check_one(&f, stream, e) != 0)
			return -1;
		if (!f.entry->zero && (decode_to(&f, stream, d, to, e) != 0 ||
					  check_digest(&f, to, e) != 0))
			return -1;
	}
	return 0;
}

static uint8_t *
place_next(struct walk *w, uint64_t n)
{
	w->out += n;
	return w->out - n;
}

static int
nothing_more(struct walk *w, const struct fragments *f, uint8_t *data, struct err *e)
{
	(void)w, (void)f, (void)data, (void)e;
	return 0;
}

int
chunk_decode_packed(const struct chunk *c, const void *bytes, struct decoder *d,
    void *out, struct err *e)
{
	struct walk w = { .place = place_next, .used = nothing_more, .out = out };

	return walk(c, bytes, d, &w, e);
}

static int
put_zeros(struct walk *w, const struct fragments *f, uint8_t *data, struct err *e)
{
	(void)e;
	if (data == NULL)
		memset(place_next(w, f->raw_bytes), 0, f->raw_bytes);
	return 0;
}

int
chunk_decode_fragments(const struct chunk *c, const void *bytes, struct decoder *d,
    void *out, struct err *e)
{
	struct walk w = { .place = place_next, .used = put_zeros, .out = out };

	return walk(c, bytes, d, &w, e);
}

/* Every fragment is decoded to the same place, over the data of the fragment before it. */
static uint8_t *
place_again(struct walk *w, uint64_t n)
{
	(void)n;
	return w->out;
}

static int
walk_scratch(const struct chunk *c, const void *bytes, struct decoder *d,
    struct walk *w, struct err *e)
{
	uint8_t *scratch = malloc(FRAGMENT_BYTES_MAX);

	if (scratch == NULL)
		return err_nomem(e, "a fragment");
	w->place = place_again;
	w->out = scratch;
	int rc = walk(c, bytes, d, w, e);
	free(scratch);
	return rc;
}

static int
hand_on(struct walk *w, const struct fragments *f, uint8_t *data, struct err *e)
{
	if (w->fn == NULL)
		return 0;
	if (data != NULL)
		return w->fn(w->arg, data, f->raw_bytes, e);
	for (uint64_t left = f->raw_bytes; left > 0;) {
		size_t n = left < FRAGMENT_BYTES_MAX ? (size_t)left
		                                     : FRAGMENT_BYTES_MAX;
		memset(w->out, 0, n); /* fn may have changed the zeros that it got before */
		if (w->fn(w->arg, w->out, n, e) != 0)
			return -1;
		left -= n;
	}
	return 0;
}

int
chunk_fragment_pieces(const struct chunk *c, const void *bytes, struct decoder *d,
    int (*fn)(void *arg, void *data, size_t n, struct err *), void *arg, struct err *e)
{
	struct walk w = { .used = hand_on, .fn = fn, .arg = arg };

	return walk_scratch(c, bytes, d, &w, e);
}

static int
compare_digest(struct walk *w, const struct fragments *f, uint8_t *data, struct err *e)
{
	(void)w;
	return data == NULL ? 0 : check_digest(f, data, e);
}

int
chunk_verify_fragments(
    const struct chunk *c, const void *bytes, struct decoder *d, struct err *e)
{
	struct walk w = { .used = compare_digest };

	return walk_scratch(c, bytes, d, &w, e);
}
