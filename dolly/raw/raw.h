/* raw.h: chunks of a file or disk that is no image, in the form in which they are sent:
 *
 *	digest[32]   SHA-256 of all that follows
 *	u8           packing: 0 the bytes as they are, 1 one zstd frame (RFC 8878)
 *	le32         number of the chunk
 *	the bytes of the chunk (1 MiB, or fewer in the last chunk), in that packing
 *
 * The digest is checked before anything else of a chunk is used.  A node that passes a chunk on
 * could change both, so the server also says the first bytes of each digest itself
 * (dolly/engine/node_digests.c). */
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

/* State for packing and unpacking, used by one thread. */
struct raw;

/* Makes the state.  compress: raw_pack() compresses chunks that become smaller with zstd.
 * ERR_NOMEM; ERR_UNSUPPORTED: this build lacks zstd. */
int raw_new(struct raw **, bool compress, struct err *);
/* NULL is allowed. */
void raw_free(struct raw *);

/* The length in bytes of a chunk of `bytes` bytes of raw data, before it is packed. */
uint32_t raw_length(uint64_t bytes, uint32_t chunk);

/* Packs the n bytes of a chunk (0 < n <= RAW_CHUNK_BYTES) into to[RAW_HEAD_BYTES + n].  Returns
 * the number of bytes to send. */
uint32_t raw_pack(
    struct raw *, uint32_t chunk, const void *bytes, uint32_t n, uint8_t *to);
/* The digest of a chunk, as it was sent: the bytes that the server says. */
const uint8_t *raw_digest(const void *sent);
/* Are the digest and the number of a chunk right, as it was sent? */
bool raw_is_right(uint32_t chunk, const uint8_t *sent, uint32_t sent_bytes);
/* Unpacks the sent_bytes bytes of a chunk.  Returns where its n bytes are: in what was sent, if
 * they were not packed, or in room[n].  NULL with ERR_FORMAT: the digest is wrong, it is another
 * chunk, or its length is not n. */
const void *raw_unpack(struct raw *, uint32_t chunk, const uint8_t *sent,
    uint32_t sent_bytes, void *room, uint32_t n, struct err *);

#endif /* DOLLY_RAW_RAW_H */
