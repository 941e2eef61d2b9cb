/* format.h: the header of an ndz chunk, to the byte.
 *
 * An image is a sequence of 1 MiB chunks.  A chunk is a 4096-byte header area,
 * one zlib stream of `size` bytes at offset 4096, and padding:
 *
 *	off  V1            V2, V3         V5
 *	0    u32 magic, u32 size, i32 index, i32 total, i32 4096, i32 nregions
 *	24   regions       u32 firstsect  0
 *	28                 u32 lastsect   0
 *	32                 i32 nrelocs    i32 nrelocs
 *	36                 regions        4 bytes of padding (none in files made
 *	40                                u64 firstsect       by 32-bit programs:
 *	48                                u64 lastsect        everything below
 *	56                                uuid[16]            4 bytes earlier)
 *	72                                regions
 *
 * Regions are {start, count} in sectors, u32 each (V5: u64 each); relocations
 * follow at once: {u32 type, u32 sector, u32 offset, u32 size}, in V5 {u32
 * type, u32 offset, u64 sector, u64 size}.  Little-endian.
 *
 * Images in the suite's own format are like V5, but have another magic, so that programs
 * that do not know them refuse them, and u32 codec at 36.  Encrypted images are like these,
 * but have a magic of their own and the id of their key at 24.
 * Source: the image format specification, sections 1-3; docs/image-format.md.
 */
#ifndef COMMON_IMAGE_FORMAT_FORMAT_H
#define COMMON_IMAGE_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/image/codec/codec.h"

enum {
	NDZ_CHUNK_BYTES = 1 << 20,
	NDZ_HEADER_BYTES = 4096,
	NDZ_STREAM_MAX = NDZ_CHUNK_BYTES - NDZ_HEADER_BYTES,
	NDZ_REGIONS_MAX = (NDZ_HEADER_BYTES - 24) / 8,     /* V1 */
	NDZ_RELOCS_MAX = (NDZ_HEADER_BYTES - 36 - 8) / 16, /* V3, one region */
	NDZ_UUID_BYTES = 16,
};

enum ndz_reloc_type {
	NDZ_RELOC_NONE,
	NDZ_RELOC_FREEBSD_LABEL,
	NDZ_RELOC_OPENBSD_LABEL,
	NDZ_RELOC_LILO_ADDRESS,
	NDZ_RELOC_LILO_MAP,
	NDZ_RELOC_LILO_CHECKSUM,
	NDZ_RELOC_SHORT_SECTOR, /* only the first `size` bytes are real */
	NDZ_RELOC_GPT_FIX,
};

struct ndz_reloc {
	uint32_t type; /* enum ndz_reloc_type, or one we do not know */
	uint64_t sector;
	uint32_t offset; /* bytes into the sector */
	uint64_t size;   /* bytes */
};

/* The magics of images that programs of the base format refuse. */
#define NDZ_MAGIC_OWN 0x355a444eu       /* "NDZ5" */
#define NDZ_MAGIC_ENCRYPTED 0x455a444eu /* "NDZE": see crypt.h */

struct ndz_header {
	unsigned version; /* 1, 2, 3, 5 */
	bool encrypted;   /* everything behind the header is encrypted */
	unsigned codec;   /* enum codec_id; 0: deflate, in the base format */
	uint32_t size;    /* bytes of the zlib stream: 1..NDZ_STREAM_MAX */
	int32_t index, total;
	uint64_t firstsect, lastsect; /* V1 has none: both follow from the regions */
	uint8_t uuid[NDZ_UUID_BYTES]; /* zero before V5 */
	unsigned nregions, nrelocs;
	struct range regions[NDZ_REGIONS_MAX]; /* sectors; ascending, not touching */
	struct ndz_reloc relocs[NDZ_RELOCS_MAX];
};

/* Decode and check the first `len` bytes of a chunk; NDZ_HEADER_BYTES are
 * needed.  ERR_FORMAT: unknown magic, a size of 0 or too large, no regions,
 * tables that do not fit, regions that are empty, descend, touch, or reach
 * beyond 2^55 sectors, lastsect before the last region or firstsect behind the
 * first, more raw data than `size` bytes can hold.  ERR_UNSUPPORTED, by name:
 * V4 and V6 (encrypted or signed images), images of the other byte order, codecs
 * that are unknown or that this build lacks. */
int ndz_header_get(struct ndz_header *, const void *chunk, size_t len, struct err *);
/* Do these four bytes begin an image, though perhaps one that cannot be read? */
bool ndz_looks_like_image(const uint8_t magic[4]);
/* The codec of the chunk's stream. */
const struct codec *ndz_header_codec(const struct ndz_header *);
/* Encode into buf[NDZ_HEADER_BYTES], zero filled.  Versions 3 and 5.
 * ERR_FORMAT when the tables do not fit, or numbers are too large for V3. */
int ndz_header_put(const struct ndz_header *, void *buf, struct err *);
/* How many bytes of the header area a version needs for nregions and nrelocs entries. */
size_t ndz_header_need(unsigned version, unsigned nregions, unsigned nrelocs);
/* Bytes that the stream inflates to: the sum of all regions. */
uint64_t ndz_header_raw_bytes(const struct ndz_header *);

/* The sectors that a relocation looks at or changes. */
struct range reloc_sectors(const struct ndz_reloc *);
/* The order of two struct ndz_reloc for qsort(3): by sector, and by offset in it.  A header may
 * list them in any order. */
int ndz_reloc_order(const void *, const void *);

#endif /* COMMON_IMAGE_FORMAT_FORMAT_H */
