/* recipe.h: how a chunk is put together from fragments, and an image from chunks.
 *
 * A recipe holds of a chunk all that is not in a fragment: header, the ends of
 * the zlib stream, and what is behind it, without the entries of the fragment table,
 * which follow from the fragments.  docs/store-format.md has it to the byte.
 */
#ifndef EMUSTORE_STORE_RECIPE_H
#define EMUSTORE_STORE_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/rd.h"
#include "common/image/codec/codec.h"
#include "common/image/format/ext.h"
#include "emustore/store/name.h"
#include "emustore/store/record.h"
#include "emustore/store/remake.h"

enum {
	RECIPE_BLOCK_CHUNKS = 64, /* compressed together */
	RECIPE_LABELS_MAX = 64,
	RECIPE_TEXT_MAX = 255,
};

struct recipe_piece {
	bool zero;
	uint64_t number;  /* of the fragment: which digest of the recipe */
	uint64_t windows; /* of a run of zeros */
	uint64_t raw_bytes;
};

/* Pointers into the chunk, or into the recipe that was decoded. */
struct recipe_chunk {
	/* Of the pieces, head and tail are apart from them; NULL: the one piece is all
	 * of the stream. */
	const struct codec *codec;
	/* Entries of such a fragment table belong into the tail at table_at. */
	enum ext_table table;
	/* The pieces are the data of a zlib stream of another program, which is made
	 * again; nothing is behind it.  codec is that of the pieces. */
	bool made;
	struct remake_how how;
	uint32_t adler;               /* of that data */
	uint8_t sha256[SHA256_BYTES]; /* of the chunk */
	uint32_t crc; /* CRC-32C of the chunk up to its last byte that is not 0 */
	uint32_t stream_bytes;
	const uint8_t *header; /* without the zeros at its end */
	size_t header_bytes;
	uint8_t stream_head[CODEC_ENDS_BYTES], stream_tail[CODEC_ENDS_BYTES];
	const uint8_t *rest; /* behind the stream, without the zeros at its end */
	size_t rest_bytes, table_at;
	size_t npieces, cap;
	struct recipe_piece *pieces; /* owned; recipe_chunk_free() */
};

void recipe_chunk_free(struct recipe_chunk *);
/* ERR_NOMEM. */
int recipe_add_piece(struct recipe_chunk *, const struct recipe_piece *, struct err *);
void recipe_put_chunk(struct buf *, const struct recipe_chunk *);
/* The next chunk of a block; what c->pieces has is used again.  ERR_FORMAT. */
int recipe_get_chunk(struct recipe_chunk *c, struct rd *, struct err *);

struct recipe_label {
	char key[RECIPE_TEXT_MAX + 1], value[RECIPE_TEXT_MAX + 1];
};

/* What is known of an image besides its chunks. */
struct recipe_image {
	struct store_name name;
	char parent[STORE_NAME_MAX + 16]; /* "name:version", or "" */
	uint64_t put_at;                  /* seconds since 1970 */
	uint64_t data_bytes;
	uint32_t chunks;
	bool made; /* some of them have a stream that is made again */
	uint8_t sha256[SHA256_BYTES]; /* of the whole image file */
	unsigned nlabels;
	struct recipe_label labels[RECIPE_LABELS_MAX];
};

/* The body of RECORD_IMAGE is this, followed by its blocks; of RECORD_ABOUT this alone. */
void recipe_put_image(struct buf *, const struct recipe_image *);
int recipe_get_image(struct recipe_image *, struct rd *, struct err *);

/* A block: u32 chunks, u32 bytes, u32 bytes compressed, zlib's stream. */
int recipe_put_block(
    struct buf *, uint32_t chunks, const struct buf *plain, struct err *);
struct recipe_block {
	uint32_t chunks, plain_bytes, packed_bytes;
	const uint8_t *packed;
};
/* 1 the next, 0 there are no more, -1 ERR_FORMAT. */
int recipe_get_block(struct recipe_block *, struct rd *, struct err *);
/* Into plain, whose memory is used again. */
int recipe_unpack(const struct recipe_block *, struct buf *plain, struct err *);

#endif /* EMUSTORE_STORE_RECIPE_H */
