/* origin.h: what a server serves: an image, or the bytes of any file or disk. */
#ifndef DOLLY_ORIGIN_H
#define DOLLY_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/image.h"
#include "common/image/read/source.h"
#include "dolly/engine/msg.h"
#include "dolly/raw/raw.h"

/* Begins as all zeros. */
struct origin {
	struct source source; /* of raw data; an image has its own */
	struct image *image;  /* NULL: raw data */
	struct raw *raw;
	uint8_t *chunk; /* of raw data, before it is packed */
	const char *name;
	enum msg_content content;
	uint32_t chunks;
	uint32_t chunk_bytes; /* the most that is sent of one */
	uint64_t bytes;
	uint8_t identity[MSG_IDENTITY_BYTES];
};

/* Opens an image, or with `raw` anything that can be read in any order; `zstd` packs its
 * chunks.  ERR_IO, ERR_FORMAT: it is no image, or empty; ERR_UNSUPPORTED: a pipe. */
int origin_open(
    struct origin *, const char *path, bool raw, bool zstd, struct err *);
void origin_close(struct origin *);
/* Reads a chunk, as it is sent, into to[chunk_bytes]; *length: how much that is.  From one
 * thread at a time. */
int origin_read(
    void *origin, uint32_t chunk, void *to, uint32_t *length, struct err *);

#endif /* DOLLY_ORIGIN_H */
