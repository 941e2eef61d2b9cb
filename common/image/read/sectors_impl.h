/* sectors_impl.h: an image that is read by sector, for sectors.c and random.c, which give out
 * its data, sectors_open.c, which looks at its headers, and sectors_find.c, which knows from
 * then on what is where, as sectors_blocks.c does of blocks. */
#ifndef COMMON_IMAGE_READ_SECTORS_IMPL_H
#define COMMON_IMAGE_READ_SECTORS_IMPL_H

#include "common/image/read/chunk.h"
#include "common/image/read/fragments.h"
#include "common/image/read/image.h"
#include "common/image/read/sectors.h"
#include "common/wire/blockmap.h"

enum { NO_CHUNK = UINT32_MAX };

/* The chunk that is open, and the piece of its data that is decoded. */
struct open_chunk {
	uint32_t number; /* NO_CHUNK: no chunk is open */
	uint8_t *bytes;  /* NDZ_CHUNK_BYTES */
	struct chunk c;
	bool pulling;    /* without a table: inflating, not yet at the end */
	struct fragments *fragments; /* with one: all of them; owned */
	const struct fragments *f;   /* the fragment whose data the piece is */
	uint64_t piece_at, piece_bytes; /* of the chunk's data */
	uint8_t *piece;                 /* NULL: a fragment that is not decoded yet */
};

struct sectors {
	struct image *img;
	bool proved;
	struct lost lost;
	struct rangeset stored, freed;
	bool has_basis;
	struct basis basis;
	uint64_t total;
	struct range *spans; /* of each chunk: from its first region to its last */
	struct ndz_reloc *relocs;
	size_t nrelocs, relocs_cap;
	struct ndz_header header;
	struct ext ext;
	struct image_identity id; /* of chunk 0 */
	struct decoder *dec;
	uint8_t *fragment; /* room for a decoded one, FRAGMENT_BYTES_MAX */
	struct open_chunk open;
};

/* Close the open chunk, if there is one, without checking the rest of it. */
void sectors_leave_chunk(struct sectors *);

/* Read and prove all of chunk i into bytes[NDZ_CHUNK_BYTES].  *c is what it says, checked
 * against the image, and against the chunk's digest where it has one; chunk_free() is to be
 * called.  From any thread.  Errors name the chunk. */
int sectors_whole_chunk(
    struct sectors *, uint32_t i, void *bytes, struct chunk *c, struct err *);
/* Read header and fragment table of chunk i into their places of bytes[NDZ_CHUNK_BYTES]; *here:
 * the blocks that were read.  Returns 1: *c is what they say, checked against the image, and
 * chunk_free() is to be called; 0: they cannot be trusted without the rest of the chunk; or -1.
 * The chunk itself is not proved, so the image must not be one that is.  From any thread.
 * Errors name the chunk. */
int sectors_read_table(struct sectors *, uint32_t i, void *bytes, struct chunk *c,
    struct blockmap *here, struct err *);
/* How many of the sectors r chunk i has in a row from the first one on, and where in its
 * data they are, in bytes.  From any thread.  ERR_FORMAT: it does not have the first one;
 * the error names the chunk. */
int sectors_place(const struct sectors *, uint32_t i, const struct chunk *, struct range r,
    uint64_t *sectors, uint64_t *at, struct err *);

#endif /* COMMON_IMAGE_READ_SECTORS_IMPL_H */
