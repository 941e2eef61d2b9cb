/* precompressed.h: finds data that somebody has compressed already, so that it need not
 * be compressed again. */
#ifndef COMMON_IMAGE_WRITE_PRECOMPRESSED_H
#define COMMON_IMAGE_WRITE_PRECOMPRESSED_H

#include <stddef.h>
#include <stdint.h>

#include "common/image/codec/codec.h"
#include "common/image/format/ext.h"

struct precompressed {
	/* Puts a fragment of that codec, whose raw_bytes of data have that digest, into
	 * out[cap].  Returns its length in bytes, or 0 when there is none.  Several threads call
	 * it at once. */
	size_t (*find)(void *arg, const struct codec *,
	    const uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES], size_t raw_bytes, void *out,
	    size_t cap);
	void *arg;
};

#endif /* COMMON_IMAGE_WRITE_PRECOMPRESSED_H */
