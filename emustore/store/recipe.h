/* recipe.h: recipes: how a chunk is put together from fragments, and an image from chunks.
 *
 * The recipe of a chunk holds everything that is not in a fragment: the header, the ends
 * of the zlib stream, and what is behind the stream, without the entries of the fragment
 * table, which follow from the fragments.  docs/store-format.md describes it to the byte.
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
#include "emustore/store/redeflate.h"

enum {
	RECIPE_BLOCK_CHUNKS = 64, /* chunks whose recipes are compressed together */
	RECIPE_BLOCK_HEAD_BYTES = 12, /* the last four say how many bytes follow */
	RECIPE_BYTES_MAX = 1 << 30, /* of an image's object, which is in memory while it is put */
	RECIPE_LABELS_MAX = 64,
	RECIPE_TEXT_MAX = 255,
};

struct recipe_piece {
	/* a run of zeros, not a fragment */
	bool zero;
	uint64_t number;  /* of a fragment: which digest of the image's recipe is its own */
	uint64_t windows; /* windows and raw_bytes: only of a run of zeros */
	uint64_t raw_bytes;
};

/* The recipe of one chunk.  The pointers, except pieces, lead into the chunk, or into the
 * recipe that was decoded, and own nothing. */
struct recipe_chunk {
	/* The codec of the pieces, which are the stream without its head and tail; NULL:
	 * one piece is the whole stream. */
	const struct codec *codec;
	/* The entries of a fragment table of this kind belong into `rest`, at table_at. */
	enum ext_table table;
	/* The pieces are the data of a zlib stream of another program, which is redeflated
	 * as `how` says; nothing is behind the stream.  `codec` is that of the pieces. */
	bool redeflated;
	struct redeflate_how how;
	uint32_t adler;               /* Adler-32 of these data */
	uint8_t sha256[SHA256_BYTES]; /* SHA-256 of the chunk */
	uint32_t crc; /* CRC-32C of the chunk up to its last byte that is not 0 */
	uint32_t stream_bytes;
	const uint8_t *header; /* without the zeros at its end */
	size_t header_bytes;
	uint8_t stream_head[CODEC_ENDS_BYTES], stream_tail[CODEC_ENDS_BYTES];
	const uint8_t *rest; /* behind the stream, without the zeros at its end */
	size_t rest_bytes, table_at;
	size_t npieces, cap;
	struct recipe_piece *pieces; /* owned; freed by recipe_chunk_free() */
};

/* Free what a recipe owns, and clear it. */
void recipe_chunk_free(struct recipe_chunk *);
/* Append a copy of a piece.  ERR_NOMEM. */
int recipe_add_piece(struct recipe_chunk *, const struct recipe_piece *, struct err *);
/* Append the recipe of a chunk to the buffer, whose buf_ok() tells a failure. */
void recipe_put_chunk(struct buf *, const struct recipe_chunk *);
/* Read the next chunk of an unpacked block; the memory of c->pieces is used again.
 * ERR_FORMAT: the recipe is damaged. */
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
	bool redeflated; /* some chunks have a stream that is redeflated */
	uint8_t sha256[SHA256_BYTES]; /* of the whole image file */
	unsigned nlabels;
	struct recipe_label labels[RECIPE_LABELS_MAX];
};

/* Write and read the description of an image.  The body of RECORD_ABOUT is this
 * description; the body of RECORD_IMAGE is the same, followed by the blocks.  Reading
 * clears *i first.  ERR_UNSUPPORTED: a newer version of recipes; ERR_FORMAT: damaged. */
void recipe_put_image(struct buf *, const struct recipe_image *);
int recipe_get_image(struct recipe_image *, struct rd *, struct err *);

/* Append a block to the first buffer: u32 chunks, u32 bytes, u32 bytes compressed, zlib's
 * stream of `plain`, which has the recipes of `chunks` chunks.  ERR_NOMEM. */
int recipe_put_block(
    struct buf *, uint32_t chunks, const struct buf *plain, struct err *);
/* A block of a recipe.  The compressed bytes are borrowed. */
struct recipe_block {
	uint32_t chunks, plain_bytes, packed_bytes;
	const uint8_t *packed;
};
/* Read the next block, which borrows from the bytes of the reader.  1: there is one; 0:
 * there are no more; -1 ERR_FORMAT. */
int recipe_get_block(struct recipe_block *, struct rd *, struct err *);
/* Decompress a block into `plain`, whose memory is used again.  ERR_FORMAT, ERR_NOMEM. */
int recipe_unpack(const struct recipe_block *, struct buf *plain, struct err *);

#endif /* EMUSTORE_STORE_RECIPE_H */
