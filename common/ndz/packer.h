/* packer.h: fragments in disk order → chunks.
 *
 * Chunks are filled one at a time; their [firstsect, lastsect) tile the image.
 * A chunk is closed when the next fragment would not fit: by bytes, by region
 * entries, or by raw data that is not zero (16 MiB).  A run of zero windows is
 * one entry of the fragment table and costs about 1/1000 of its size.
 * A chunk is emitted when a fragment comes that does not fit any more, for only
 * then is it known where it ends; the last one at packer_finish().
 */
#ifndef COMMON_NDZ_PACKER_H
#define COMMON_NDZ_PACKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/ndz/deflate.h"
#include "common/ndz/ext.h"
#include "common/ndz/format.h"

enum {
	PACKER_RAW_MAX = 16 << 20,	/* bytes of a chunk that are not zero */
	WINDOW_SECTORS = FRAGMENT_WINDOW_BYTES / SECTOR_BYTES,
	FRAGMENT_REGIONS_MAX = WINDOW_SECTORS / 2,
};

/* The allocated sectors of one aligned 64 KiB window, compressed. */
struct fragment {
	unsigned nregions;			/* 1..FRAGMENT_REGIONS_MAX */
	struct range regions[FRAGMENT_REGIONS_MAX];	/* sectors, ascending, apart */
	bool zero;				/* all zero: the three below are unused */
	const void *data;			/* deflate, borrowed for the call */
	uint32_t bytes;
	uint32_t adler;				/* of the raw bytes */
	uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES];
	unsigned nrelocs;			/* whose sectors are among these */
	const struct ndz_reloc *relocs;		/* borrowed for the call */
};

struct packer_config {
	unsigned version;			/* 3 or 5 */
	uint8_t header_uuid[NDZ_UUID_BYTES];	/* V5: into the header; may be zero */
	uint8_t uuid[NDZ_UUID_BYTES];		/* into the extension of every chunk */
	int level;				/* for the zlib header and zero runs */
	struct ext_image image;			/* into chunk 0 */
	struct ext_state state, base;		/* NONE, or into every chunk */
	struct rangeset *freed;			/* of a delta, or NULL; borrowed */
	/* Takes each finished chunk, in order; -1 stops with its error. */
	int (*emit)(void *arg, const void *chunk, struct err *);
	void *arg;
};

struct packer;

int packer_new(struct packer **, const struct packer_config *, struct err *);
void packer_free(struct packer *);
/* ERR_FORMAT when a fragment has more relocations than a header holds. */
int packer_add(struct packer *, const struct fragment *, struct err *);
/* Attach one more relocation to the fragment that was added last.  There is
 * always room for one behind a fragment without any; more can be ERR_FORMAT. */
int packer_add_reloc(struct packer *, const struct ndz_reloc *, struct err *);
/* Close the image; `total` is the size of the imaged area in sectors.  An
 * image without any fragment is ERR_FORMAT ("nothing to store"). */
int packer_finish(struct packer *, uint64_t total, struct err *);
/* Chunks emitted so far. */
uint32_t packer_chunks(const struct packer *);

#endif /* COMMON_NDZ_PACKER_H */
