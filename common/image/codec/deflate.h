/* deflate.h: fragments, and the zlib stream that they make up.
 *
 * A fragment is compressed on its own to raw deflate that ends on a byte and
 * has no final block, so fragments can be put side by side in any number:
 *
 *	78 9c | fragment | fragment | ... | 03 00 | Adler-32 (big-endian)
 *
 * A deflater and an inflater belong to one thread at a time.
 * Source: RFC 1950, RFC 1951.
 */
#ifndef COMMON_IMAGE_CODEC_DEFLATE_H
#define COMMON_IMAGE_CODEC_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum {
	FRAGMENT_WINDOW_BYTES = 64 * 1024,
	STREAM_HEAD_BYTES = 2,
	STREAM_TAIL_BYTES = 2 + 4, /* final empty block, Adler-32 */
	/* The best level that takes less time than partclone with zstd -3 (bench/run levels). */
	DEFLATE_LEVEL_DEFAULT = 6,
	/* the length of all pieces of a stream but the last */
	INFLATER_PIECE_BYTES = 256 * 1024,
};

struct deflater;
struct inflater;

/* level: 0 to 9, as in the option -z; 0 stores without compressing. */
struct deflater *deflater_new(int level); /* NULL: out of memory */
void deflater_free(struct deflater *);
/* The most bytes that a fragment of raw_bytes can take. */
size_t deflater_bound(size_t raw_bytes);
/* Compress in[n] into out[cap], cap >= deflater_bound(n).  Cannot fail:
 * returns the length. */
size_t deflater_fragment(
    struct deflater *, const void *in, size_t n, void *out, size_t cap);

/* A fragment of n > 0 zero bytes, made without compressing.  deflate_zeros_bytes() returns
 * its length, which is about n / 1032 and under 120 more; deflate_zeros() writes it to out. */
size_t deflate_zeros_bytes(uint64_t n);
void deflate_zeros(uint64_t n, void *out);
/* Are in[in_bytes] exactly what deflate_zeros(n) makes? */
bool deflate_is_zeros(const void *in, size_t in_bytes, uint64_t n);

/* The two bytes in front of a stream that was made at this level. */
void deflate_stream_head(int level, uint8_t head[STREAM_HEAD_BYTES]);
/* What ends a stream whose raw bytes have this Adler-32. */
void deflate_stream_tail(uint32_t adler, uint8_t tail[STREAM_TAIL_BYTES]);

/* Adler-32: adler_of() of bytes; adler_update() of more bytes behind those whose sum was
 * `adler`; adler_combine() of a and then b, from both sums and b's length; adler_zeros() of
 * n zero bytes.  The sum of no bytes is 1. */
uint32_t adler_of(const void *data, size_t n);
uint32_t adler_update(uint32_t adler, const void *data, size_t n);
uint32_t adler_combine(uint32_t a, uint32_t b, uint64_t b_bytes);
uint32_t adler_zeros(uint64_t n);

struct inflater *inflater_new(void); /* NULL: out of memory */
void inflater_free(struct inflater *);
/* Decode a whole zlib stream of in_bytes into exactly out_bytes.  Everything is checked:
 * that the stream ends at exactly in_bytes, its length, its Adler-32.  ERR_FORMAT. */
int inflater_stream(struct inflater *, const void *in, size_t in_bytes, void *out,
    size_t out_bytes, struct err *);
/* Decode one fragment into exactly out_bytes.  ERR_FORMAT, ERR_NOMEM. */
int inflater_fragment(struct inflater *, const void *in, size_t in_bytes, void *out,
    size_t out_bytes, struct err *);
/* Decode a whole stream in pieces of at most 256 KiB.  inflater_begin() goes to its start;
 * ERR_NOMEM.  inflater_more() returns 1 and the next piece in *data and *n, valid until the
 * next call; 0 at the end, when everything was checked; or -1 with ERR_FORMAT.  Pieces are
 * returned before the Adler-32 is known. */
int inflater_begin(struct inflater *, const void *in, size_t in_bytes,
    uint64_t out_bytes, struct err *);
int inflater_more(struct inflater *, void **data, size_t *n, struct err *);
/* Decode a whole stream that is too large for memory, and give it to fn in pieces of at
 * most 256 KiB, in order.  fn may change the data, and returns -1 to stop, with its own
 * error.  Pieces begin at multiples of 256 KiB, and are given out before the Adler-32 is
 * known: a call with fn NULL only checks the stream.  ERR_FORMAT, ERR_NOMEM. */
int inflater_pieces(struct inflater *, const void *in, size_t in_bytes,
    uint64_t out_bytes, int (*fn)(void *arg, void *data, size_t n, struct err *),
    void *arg, struct err *);

#endif /* COMMON_IMAGE_CODEC_DEFLATE_H */
