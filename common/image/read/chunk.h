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

/* Header and extension of bytes[NDZ_CHUNK_BYTES].  ERR_FORMAT,
 * ERR_UNSUPPORTED.  Only after success: chunk_free(). */
int chunk_parse(struct chunk *, const void *bytes, struct err *);
void chunk_free(struct chunk *);
/* Header and stream against the digest of the extension, where there is one. */
int chunk_check_digest(const struct chunk *, const void *bytes, struct err *);
/* The header alone against its own; false also where there is none. */
bool chunk_header_proved(const struct chunk *, const void *bytes);
/* All data into out[raw_bytes], checked against its Adler-32. */
int chunk_decode(
    const struct chunk *, const void *bytes, struct decoder *, void *out, struct err *);
/* The same in pieces, in order, for data that is too large for memory: of at most
 * 256 KiB, or a fragment.  fn may change the data, and returns -1 to stop, with its
 * own error.  No sector is in two pieces.  They are given out before the Adler-32
 * is known: run it once with fn NULL to check. */
int chunk_pieces(const struct chunk *, const void *bytes, struct decoder *,
    int (*fn)(void *arg, void *data, size_t n, struct err *), void *arg, struct err *);
/* Everything that can be checked: Adler-32, and of the extension the chunk's
 * digest and every fragment's, zero runs included. */
int chunk_verify(
    const struct chunk *, const void *bytes, struct decoder *, struct err *);

#endif /* COMMON_IMAGE_READ_CHUNK_H */
