/* codec_igzip.c: deflate by ISA-L: the fastest way to an image that every
 * installer reads.  The bytes that it makes for the same data may differ between
 * machines, for it chooses its code by CPU; what they decode to does not.
 *
 * On one machine the same data always makes the same bytes.  ISA-L 2.30 does not ensure
 * this by itself, for two reasons.  It reads fields of its isal_zstream that its own init
 * does not set: window() sets them to zero.  And its code for levels 1 and 2 enters
 * position 2 of a window into its hash table under the hash of bits 16 to 47 of the
 * stream's address, which a register still holds, instead of the hash of the data at
 * position 2.  That matters only when this hash equals the hash of the data at position 0,
 * 1 or 2: place() then puts the stream elsewhere for this window.
 *
 * codec.c has this codec in its table; the compressors' threads call it, each with an
 * encoder of its own.
 */
#include "common/base/crc32c.h"
#include "common/image/codec/codec_zlib.h"

/* ISA-L's levels, which are not zlib's; all are what zlib calls fastest. */
enum { LEVEL_MAX = 3, LEVEL_DEFAULT = 1, ZLIB_LEVEL = 1 };

static void
head(int level, uint8_t *out)
{
	(void)level;
	deflate_stream_head(ZLIB_LEVEL, out);
}

#ifndef NO_ISAL
#include <assert.h>
#include <isa-l/igzip_lib.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	STORED_BYTES = 65535, /* most in a stored block */
	STORED_HEAD_BYTES = 5,
	SPARE_BYTES = 64, /* headers of a block that is given up, alignment */
	/* The stream can be at any of these places, which differ in the bits that are
	 * hashed.  There are more places than hashes to avoid, and few of them are ever
	 * used. */
	PLACES = 8,
	PLACE_SHIFT = 16,
	HASH_MASK = 0xff, /* no level has fewer bits for any window, most have more */
	SHUNNED = 3, /* the positions 0, 1 and 2, whose hashes are avoided */
	HASHED_BYTES = 4,
};

struct encoder {
	uint8_t *places;
	uint32_t level;
	uint32_t work_bytes;
	uint8_t work[];
};

static uint32_t
work_bytes(int level)
{
	static const uint32_t bytes[LEVEL_MAX + 1] = { ISAL_DEF_LVL0_DEFAULT,
		ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT };

	return bytes[level];
}

static void *
encoder_new(int level)
{
	struct encoder *z = malloc(sizeof *z + work_bytes(level));

	if (z == NULL)
		return NULL;
	z->places = malloc(
	    sizeof(struct isal_zstream) + ((size_t)(PLACES - 1) << PLACE_SHIFT));
	if (z->places == NULL) {
		free(z);
		return NULL;
	}
	z->level = (uint32_t)level;
	z->work_bytes = work_bytes(level);
	return z;
}

static void
encoder_free(void *encoder)
{
	struct encoder *z = encoder;

	free(z->places);
	free(z);
}

static size_t
bound(size_t raw_bytes)
{
	return raw_bytes + (raw_bytes / STORED_BYTES + 2) * STORED_HEAD_BYTES +
	       SPARE_BYTES;
}

/* The hash as the CRC-32C instruction computes it: from 0, and not inverted. */
static uint32_t
hash(const uint8_t word[HASHED_BYTES])
{
	uint8_t inverted[HASHED_BYTES];

	for (unsigned i = 0; i < HASHED_BYTES; i++)
		inverted[i] = (uint8_t)~word[i];
	return ~crc32c(inverted, HASHED_BYTES) & HASH_MASK;
}

static uint32_t
address_hash(const uint8_t *place)
{
	uint32_t bits = (uint32_t)((uintptr_t)place >> PLACE_SHIFT);
	uint8_t word[HASHED_BYTES];

	memcpy(word, &bits, sizeof word);
	return hash(word);
}

/* Find a place for the stream that does not change how this window is compressed. */
static struct isal_zstream *
place(const struct encoder *e, const uint8_t *in, size_t n)
{
	for (size_t i = 0; n >= SHUNNED + HASHED_BYTES && i < PLACES; i++) {
		uint8_t *p = e->places + (i << PLACE_SHIFT);
		uint32_t h = address_hash(p);
		if (h != hash(in) && h != hash(in + 1) && h != hash(in + 2))
			return (struct isal_zstream *)(void *)p;
	}
	return (struct isal_zstream *)(void *)e->places;
}

/* A full flush ends on a byte, and no block of it is the final one. */
static size_t
window(void *encoder, size_t fragment_bytes, const void *in, size_t n, void *out,
    size_t cap)
{
	struct encoder *e = encoder;
	struct isal_zstream *z = place(e, in, n);

	(void)fragment_bytes;
	memset(z, 0, offsetof(struct isal_zstream, internal_state.buffer));
	isal_deflate_stateless_init(z);
	z->level = e->level;
	z->level_buf = e->work;
	z->level_buf_size = e->work_bytes;
	z->flush = FULL_FLUSH;
	z->next_in = (uint8_t *)(uintptr_t)in;
	z->avail_in = (uint32_t)n;
	z->next_out = out;
	z->avail_out = (uint32_t)cap;
	int rc = isal_deflate_stateless(z);
	assert(rc == COMP_OK && z->avail_in == 0);
	return z->total_out;
}

const struct codec codec_igzip = {
	CODEC_ZLIB_STREAM,
	.name = "igzip",
	.level_min = 0,
	.level_max = LEVEL_MAX,
	.level_default = LEVEL_DEFAULT,
	.encoder_new = encoder_new,
	.encoder_free = encoder_free,
	.bound = bound,
	.window = window,
	.head = head,
};

#else

const struct codec codec_igzip = {
	CODEC_ZLIB_STREAM,
	.name = "igzip",
	.lacks = "ISA-L",
	.level_max = LEVEL_MAX,
	.level_default = LEVEL_DEFAULT,
	.head = head,
};

#endif /* NO_ISAL */
