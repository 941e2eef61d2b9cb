/* codec_igzip.c: deflate by ISA-L: the fastest way to an image that every
 * installer reads.  The bytes that it makes for the same data may differ between
 * machines, for it chooses its code by CPU; what they decode to does not.
 *
 * ISA-L 2.30 reads fields of its isal_zstream that its own init leaves alone: here they
 * are zeros.  What is left is that its code for levels 1 and 2 enters the position 2
 * under a hash of what a register happens to hold, the stream's address: so one match
 * may be missed or found, and the fragment be a byte or two longer, depending on
 * where the encoder lies (3 of 16,000 windows; without the zeros 69). */
#include "common/ndz/codec_zlib.h"

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
};

struct encoder {
	struct isal_zstream z;
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
	z->level = (uint32_t)level;
	z->work_bytes = work_bytes(level);
	return z;
}

static void
encoder_free(void *z)
{
	free(z);
}

static size_t
bound(size_t raw_bytes)
{
	return raw_bytes + (raw_bytes / STORED_BYTES + 2) * STORED_HEAD_BYTES +
	       SPARE_BYTES;
}

/* A full flush ends on a byte, and no block of it is the final one. */
static size_t
window(void *encoder, size_t fragment_bytes, const void *in, size_t n, void *out,
    size_t cap)
{
	struct encoder *e = encoder;
	struct isal_zstream *z = &e->z;

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
