/* raw.h: chunks of a file or disk that is no image, as they are sent: a digest, how the
 * bytes are packed, and the bytes.
 *
 *	digest[32]   SHA-256 of all that follows
 *	u8           packing: 0 the bytes as they are, 1 one zstd frame (RFC 8878)
 *	le32         number of the chunk
 *	the bytes of the chunk, 1 MiB but for the last one
 *
 * The digest is looked at before anything else is believed. */
#ifndef DOLLY_RAW_RAW_H
#define DOLLY_RAW_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum {
	RAW_CHUNK_BYTES = 1 << 20,
	RAW_HEAD_BYTES = 32 + 1 + 4,
	RAW_SENT_MAX = RAW_HEAD_BYTES + RAW_CHUNK_BYTES,
};

/* Packs and unpacks; of one thread. */
struct raw;

/* compress: pack with zstd what becomes smaller.  ERR_NOMEM; ERR_UNSUPPORTED: this build
 * lacks zstd. */
int raw_new(struct raw **, bool compress, struct err *);
void raw_free(struct raw *); /* also NULL */

/* Chunks of so many bytes. */
uint32_t raw_chunks(uint64_t bytes);
/* The length of this one of them. */
uint32_t raw_length(uint64_t bytes, uint32_t chunk);

/* The bytes[n] of a chunk (0 < n <= RAW_CHUNK_BYTES), as they are sent, into
 * to[RAW_HEAD_BYTES + n]: how many. */
uint32_t raw_pack(
    struct raw *, uint32_t chunk, const void *bytes, uint32_t n, uint8_t *to);
/* Back, into to[n].  ERR_FORMAT: it is not that chunk, or not as long as that, or its
 * digest is another one. */
int raw_unpack(struct raw *, uint32_t chunk, const uint8_t *sent, uint32_t sent_bytes,
    void *to, uint32_t n, struct err *);

#endif /* DOLLY_RAW_RAW_H */
