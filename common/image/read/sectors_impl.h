/* sectors_impl.h: an image that is read by sector, for sectors.c, which gives out its
 * data, and sectors_open.c, which looks at its headers. */
#ifndef COMMON_IMAGE_READ_SECTORS_IMPL_H
#define COMMON_IMAGE_READ_SECTORS_IMPL_H

#include "common/image/read/chunk.h"
#include "common/image/read/fragments.h"
#include "common/image/read/image.h"
#include "common/image/read/sectors.h"

enum { NO_CHUNK = UINT32_MAX };

/* The chunk that is open, and the piece of its data that is decoded. */
struct open_chunk {
	uint32_t number; /* NO_CHUNK: none is */
	uint8_t *bytes;  /* NDZ_CHUNK_BYTES */
	struct chunk c;
	unsigned region;     /* where the last look-up ended, and what of the */
	uint64_t region_raw; /* data is in front of it */
	bool pulling;        /* without a table: inflating, not yet at the end */
	struct fragments f;
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
	struct image_identity id;
	struct decoder *dec;
	uint8_t *fragment; /* a decoded one */
	struct open_chunk open;
};

/* Close the open chunk, if one is, unchecked. */
void sectors_leave_chunk(struct sectors *);

#endif /* COMMON_IMAGE_READ_SECTORS_IMPL_H */
