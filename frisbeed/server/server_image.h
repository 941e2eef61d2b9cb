/* server_image.h: how large the image of a session is, in blocks and chunks.  It is
 * part of the configuration: nothing writes it after server_new(). */
#ifndef FRISBEED_SERVER_SERVER_IMAGE_H
#define FRISBEED_SERVER_SERVER_IMAGE_H

#include <stdint.h>

#include "common/wire/wire.h"

struct server_image {
	uint64_t bytes;
	uint32_t blocks, chunks;
};

/* bytes: 1..INT32_MAX blocks of 1 KiB. */
static inline struct server_image
server_image_of(uint64_t bytes)
{
	uint32_t blocks = (uint32_t)((bytes + WIRE_BLOCK_BYTES - 1) / WIRE_BLOCK_BYTES);

	return (struct server_image){ .bytes = bytes,
		.blocks = blocks,
		.chunks = (blocks - 1) / WIRE_CHUNK_BLOCKS + 1 };
}

/* How many blocks the chunk has: only the last one may have fewer than the others. */
static inline uint32_t
server_image_chunk(const struct server_image *image, uint32_t chunk)
{
	uint32_t rest = image->blocks - chunk * WIRE_CHUNK_BLOCKS;

	return rest < WIRE_CHUNK_BLOCKS ? rest : WIRE_CHUNK_BLOCKS;
}

#endif /* FRISBEED_SERVER_SERVER_IMAGE_H */
