/* deflate_zeros.c: a run of zeros of any length as one deflate block.
 *
 * With the literal/length code {285: 0, literal 0: 10, end: 11} and a distance code of one
 * bit, 258 zeros are two bits, both zero.  This is the densest that deflate can be, 1032 to
 * 1.  The block is one literal, as many matches of 258 bytes as fit, and literals for the
 * rest.  An empty stored block behind it makes the fragment end on a byte.
 *
 * The codecs of zlib streams call this for windows of zeros, in any thread.
 */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/zero.h"
#include "common/image/codec/deflate.h"

enum { MATCH_BYTES = 258 };

struct bits {
	uint8_t *out; /* NULL: only count */
	uint64_t n;   /* bits so far */
};

/* Put `count` bits of v, the lowest first. */
static void
put(struct bits *b, unsigned v, unsigned count)
{
	for (unsigned i = 0; i < count; i++, b->n++)
		if (b->out != NULL && (v >> i & 1) != 0)
			b->out[b->n / 8] |= (uint8_t)(1u << b->n % 8);
}

/* Codes are sent from their highest bit, so these are written reversed. */
enum { LIT_0 = 1 /* 10 */, LIT_END = 3 /* 11 */, LIT_BITS = 2 };
enum { CL_ZEROS = 0 /* 0 */, CL_ONE = 1 /* 10 */, CL_TWO = 3 /* 11 */ };

static void
put_zero_lengths(struct bits *b, unsigned count)
{
	put(b, CL_ZEROS, 1); /* symbol 18: 11 to 138 zero lengths */
	put(b, count - 11, 7);
}

static void
put_header(struct bits *b)
{
	enum { HLIT = 286 - 257, HDIST = 1 - 1, HCLEN = 18 - 4 };
	/* Lengths of the code length codes in the order of RFC 1951, 3.2.7. */
	static const uint8_t
	    cl[18] = { [2] = 1 /* 18 */, [15] = 2 /* 2 */, [17] = 2 /* 1 */ };

	put(b, 0, 1); /* not final */
	put(b, 2, 2); /* dynamic codes */
	put(b, HLIT, 5);
	put(b, HDIST, 5);
	put(b, HCLEN, 4);
	for (size_t i = 0; i < sizeof cl; i++)
		put(b, cl[i], 3);
	put(b, CL_TWO, 2);        /* literal 0 */
	put_zero_lengths(b, 138); /* 1..255 */
	put_zero_lengths(b, 255 - 138);
	put(b, CL_TWO, 2);       /* 256, the end */
	put_zero_lengths(b, 28); /* 257..284 */
	put(b, CL_ONE, 2);       /* 285: 258 bytes */
	put(b, CL_ONE, 2);       /* distance 1 */
}

static void
put_run(struct bits *b, uint64_t n)
{
	uint64_t matches = (n - 1) / MATCH_BYTES, rest = (n - 1) % MATCH_BYTES;

	put_header(b);
	put(b, LIT_0, LIT_BITS);
	b->n += 2 * matches; /* all bits zero, as the buffer is */
	for (uint64_t i = 0; i < rest; i++)
		put(b, LIT_0, LIT_BITS);
	put(b, LIT_END, LIT_BITS);
	put(b, 0, 3); /* a stored block: aligned, LEN 0, NLEN */
	b->n = (b->n + 7) / 8 * 8;
	put(b, 0x0000, 16);
	put(b, 0xffff, 16);
}

size_t
deflate_zeros_bytes(uint64_t n)
{
	struct bits b = { 0 };

	assert(n > 0);
	put_run(&b, n);
	return (size_t)(b.n / 8);
}

void
deflate_zeros(uint64_t n, void *out)
{
	struct bits b = { .out = out };

	memset(out, 0, deflate_zeros_bytes(n));
	put_run(&b, n);
}

/* The head and the end of the run are made and compared; between them all bits of the
 * matches are zero. */
bool
deflate_is_zeros(const void *in, size_t in_bytes, uint64_t n)
{
	enum { HEAD_CAP = 64, END_CAP = 128, CAP = HEAD_CAP + END_CAP };
	uint8_t ends[CAP], want[CAP];
	const uint8_t *p = in;
	size_t left_out = in_bytes > CAP ? in_bytes - CAP : 0;

	if (n == 0 || in_bytes != deflate_zeros_bytes(n))
		return false;
	if (left_out == 0) {
		deflate_zeros(n, want);
		return memcmp(p, want, in_bytes) == 0;
	}
	if (!is_zero(p + HEAD_CAP, left_out))
		return false;
	/* Without the whole bytes of matches, a shorter run remains, whose head and end are
	 * made. */
	memcpy(ends, p, HEAD_CAP);
	memcpy(ends + HEAD_CAP, p + HEAD_CAP + left_out, END_CAP);
	deflate_zeros(n - left_out * 4 * MATCH_BYTES, want);
	return memcmp(ends, want, sizeof want) == 0;
}
