/* chunk.h: one whole chunk: what its header and extension say, and its data. */
#ifndef COMMON_IMAGE_READ_CHUNK_H
#define COMMON_IMAGE_READ_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/codec/codec.h"
#include "common/image/format/ext.h"
#include "common/image/format/format.h"

struct chunk {
	struct ndz_header h;
	struct ext ext;
	const struct codec *codec;
	uint64_t raw_bytes; /* what the stream decodes to */
};

/* Parse header and extension of bytes[NDZ_CHUNK_BYTES].  ERR_FORMAT, ERR_UNSUPPORTED.
 * After success, and only then, chunk_free() is to be called. */
int chunk_parse(struct chunk *, const void *bytes, struct err *);
void chunk_free(struct chunk *);
/* Check header and stream against the digest in the extension, where there is one.
 * ERR_FORMAT: it is wrong. */
int chunk_check_digest(const struct chunk *, const void *bytes, struct err *);
/* Is the header right, by the header's own digest?  False also where there is no such
 * digest. */
bool chunk_header_proved(const struct chunk *, const void *bytes);
/* Decode all data into out[raw_bytes], and check its Adler-32.  ERR_FORMAT. */
int chunk_decode(
    const struct chunk *, const void *bytes, struct decoder *, void *out, struct err *);
/* Gives out all data in pieces, in order, for data that is too large for memory.  A piece
 * has at most 256 KiB, or is a fragment.  fn may change the data, and returns -1 to stop,
 * with its own error.  No sector is in two pieces.  Pieces are given out before the Adler-32
 * is known: a first call with fn NULL only checks it. */
int chunk_pieces(const struct chunk *, const void *bytes, struct decoder *,
    int (*fn)(void *arg, void *data, size_t n, struct err *), void *arg, struct err *);
/* Check everything that can be checked: Adler-32, and the digests of the chunk and of every
 * fragment, zero runs included. */
int chunk_verify(
    const struct chunk *, const void *bytes, struct decoder *, struct err *);

#endif /* COMMON_IMAGE_READ_CHUNK_H */
