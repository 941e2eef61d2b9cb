/* ext.h: the extension area: what this suite adds to a chunk and old readers
 * do not look at.
 *
 * It begins at the first multiple of 8 behind the zlib stream, so a chunk that
 * has one still has a single used part and a tail of zeros:
 *
 *	u8 magic[8] "NDZ-EXT1", u32 total bytes (with this header), u32 CRC-32 of
 *	everything that follows, then records: u16 type, u16 reserved (0), u32
 *	length of the body, body, zeros up to a multiple of 8
 *
 * Unknown record types are skipped.  docs/image-format.md has every record to
 * the byte.
 */
#ifndef COMMON_IMAGE_FORMAT_EXT_H
#define COMMON_IMAGE_FORMAT_EXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "common/image/format/ext_reach.h"
#include "common/image/format/ext_tail.h"
#include "common/image/format/format.h"
#include "common/image/format/lost.h"
#include "common/image/format/samples.h"

enum {
	EXT_DIGEST_BYTES = 32,          /* SHA-256 */
	EXT_STATE_BYTES = 8 + 80,       /* the record, with its head */
	EXT_FRAGMENT_DIGEST_BYTES = 16, /* SHA-256, truncated */
	EXT_FRAGMENTS_MAX = 32768,
	EXT_FRAGMENT_RAW_MAX = CODEC_WINDOWS_MAX * FRAGMENT_WINDOW_BYTES,
	EXT_ENTRY_BYTES = 20, /* of either fragment table */
	EXT_HEAD_BYTES = 16,  /* in front of the records */
	EXT_KEY_ID_BYTES = 8,
	EXT_SIGNATURE_RAW_BYTES = 64, /* Ed25519 */
	EXT_SIGNATURE_BYTES = 8 + 80, /* the record, with its head */
};

/* How the fragment table says which sectors a fragment has. */
enum ext_table {
	EXT_TABLE_NONE,
	EXT_TABLE_WINDOWS, /* in windows of 64 KiB, at multiples of 64 KiB of the disk */
	EXT_TABLE_SECTORS, /* in sectors: how many of the stored ones it has */
};

/* One entry of the fragment table, in stream order. */
struct ext_fragment {
	uint32_t bytes;   /* compressed */
	bool zero;        /* all raw bytes are zero */
	/* EXT_TABLE_WINDOWS: how many windows, 1 to CODEC_WINDOWS_MAX unless zero; else 0 */
	uint64_t windows;
	/* How many of the chunk's stored sectors the fragment has.  They follow one another
	 * in the chunk's data, and unless `zero` they are at most EXT_FRAGMENT_RAW_MAX
	 * bytes.  ext_put() reads this for EXT_TABLE_SECTORS alone. */
	uint64_t sectors;
	uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES]; /* of the raw bytes; not for zero */
};

enum ext_kind { EXT_KIND_UNKNOWN, EXT_KIND_DISK, EXT_KIND_PARTITION, EXT_KIND_FILE };

/* Bits of ext_image.flags.  Unknown bits are of later versions, and are kept. */
enum { EXT_IMAGE_LIVE = 1 }; /* the source was in use while it was captured */

/* What chunk 0 says about the image. */
struct ext_image {
	enum ext_kind kind;
	uint64_t source_bytes;
	uint32_t sector_bytes; /* logical, of the source */
	uint64_t made_at;      /* seconds since 1970 */
	char tool[64];         /* "imagezip 0.1" */
	char filesystems[256]; /* "1:ext4 2:swap 3:raw" */
	uint8_t flags;
	/* How many sectors a disk must have for all that the image stores but its tail; 0: the
	 * image does not say it. */
	uint64_t needed_sectors;
};

/* The state of an image: what the image amounts to once it is installed, with its bases if
 * it is a delta.  The same contents in other chunks are the same state. */
enum ext_state_kind {
	EXT_STATE_NONE,
	EXT_STATE_UUID,      /* the contents of the image with this UUID */
	EXT_STATE_FILE,      /* the contents of the image whose file has this SHA-256 */
	/* the contents of all images with this signature, see sig_state() */
	EXT_STATE_SIGNATURE,
};

struct ext_state {
	uint8_t kind;           /* enum ext_state_kind, or one of a later version */
	uint8_t hash;           /* of a signature: enum sig_hash */
	uint32_t block_sectors; /* of a signature: the size of its blocks */
	uint8_t id[EXT_DIGEST_BYTES]; /* a UUID is 16 bytes and zeros */
};

struct ext {
	bool present;
	uint8_t uuid[NDZ_UUID_BYTES];
	bool has_uuid;
	bool has_digest;
	uint8_t digest[EXT_DIGEST_BYTES]; /* of the chunk up to the stream's end */
	bool has_header_digest;
	uint8_t header_digest[EXT_DIGEST_BYTES]; /* of the chunk's header area alone */
	bool last;                               /* this is the image's last chunk */
	/* how many chunks the image has; in its last chunk only */
	uint32_t nchunks;
	bool has_image;
	struct ext_image image;
	bool has_state;
	struct ext_state state; /* NONE: the state is what the image's own UUID says */
	struct ext_state base;  /* the state that this image is a delta of; NONE: whole */
	/* Of a delta: sectors that its base stores and that are free by now, as far as
	 * there was room for them.  They ascend, belong to this chunk, and are in no
	 * region. */
	size_t nfreed;
	struct range *freed; /* owned; ext_free() */
	/* Of a delta: samples of its base's data.  In chunk 0 they are of the whole disk,
	 * in other chunks of the chunk's own sectors.  `shared`: of sectors that the chunk
	 * has together with others. */
	bool has_samples;
	struct samples samples, shared; /* owned; ext_free() */
	/* The signature, which is the last record, over what sign.h says.  ext_put() does
	 * not write it. */
	bool has_signature;
	uint8_t key_id[EXT_KEY_ID_BYTES];
	uint8_t signature[EXT_SIGNATURE_RAW_BYTES];
	/* place in the chunk of all records but the signature */
	size_t records_at, records_bytes;
	enum ext_table table; /* of the fragments below */
	size_t nfragments;
	struct ext_fragment *fragments; /* owned; ext_free() */
	struct lost lost;               /* only in the last chunk; owned */
	struct tail tail; /* the image's; in chunk 0, and in chunks that store some of it */
	/* How far partitions and filesystems reach, in chunk 0; NULL: the image does not
	 * say it.  Owned. */
	struct reach *reach;
};

/* Read the extension of a whole chunk whose header is h.  Returns 0 with `present` false
 * when there is none; after success ext_free() is to be called.  ERR_FORMAT: the extension
 * is damaged (fragment lengths must add up to the stream, their windows or sectors to the
 * regions).  ERR_NOMEM. */
int ext_get(struct ext *, const struct ndz_header *h, const void *chunk, struct err *);
/* Free what ext_get() allocated: fragments, freed sectors, samples, lost sectors, and
 * reach. */
void ext_free(struct ext *);
/* Write the extension behind the stream of a chunk; ERR_FORMAT when it does not fit. */
int ext_put(const struct ext *, const struct ndz_header *h, void *chunk, struct err *);
/* Write one entry of a table of this kind. */
void ext_put_entry(
    enum ext_table, const struct ext_fragment *, uint8_t out[EXT_ENTRY_BYTES]);
/* Add a signature behind all other records of a chunk that has none.  ERR_FORMAT: there is
 * no room, or the chunk has a signature, or no extension. */
int ext_add_signature(const struct ndz_header *h, void *chunk,
    const uint8_t key_id[EXT_KEY_ID_BYTES],
    const uint8_t signature[EXT_SIGNATURE_RAW_BYTES], struct err *);
/* How many bytes ext_put() will need for a table of nfragments entries and, with `image`,
 * the record of chunk 0, with room for LOST_RANGES_MIN lost ranges.  A state record takes
 * EXT_STATE_BYTES more, the record of a tail tail_record_bytes(), that of how far
 * partitions reach reach_record_bytes(), and a record of samples ext_samples_need(). */
size_t ext_need(size_t nfragments, bool image);
/* How many ranges of freed sectors fit behind everything else, when `reserve` bytes are
 * left free. */
size_t ext_freed_room(const struct ext *, const struct ndz_header *h, size_t reserve);
/* ext_samples_room(): how many samples of the base fit, when `reserve` bytes are left free.
 * ext_samples_need(): how many bytes the record of n samples takes, with its head. */
size_t ext_samples_room(const struct ext *, const struct ndz_header *h, size_t reserve);
size_t ext_samples_need(size_t n);
/* Is the chunk a part of a delta, which needs its base? */
bool ext_is_delta(const struct ext *);
/* Does the image say that it is of a disk with partitions? */
bool ext_is_partitioned(const struct ext *);
/* Are the two states the same? */
bool ext_state_same(const struct ext_state *, const struct ext_state *);
/* Write a state for people, as in "UUID 0123...", to buf[cap].  Returns buf. */
const char *ext_state_text(const struct ext_state *, char *buf, size_t cap);
/* The offset in the chunk at which its area begins, if it has one. */
size_t ext_area_at(const struct ndz_header *);
/* How long the area is; its first EXT_HEAD_BYTES must be in the chunk.  0: there is no
 * area, or it does not fit. */
size_t ext_area_bytes(const struct ndz_header *, const void *chunk);
/* SHA-256 of chunk[0, 4096). */
void ext_header_digest(const void *chunk, uint8_t digest[EXT_DIGEST_BYTES]);
/* SHA-256 of chunk[0, 4096 + size). */
void ext_chunk_digest(
    const struct ndz_header *h, const void *chunk, uint8_t digest[EXT_DIGEST_BYTES]);
/* ext_chunk_digest() of two chunks, in little more time than of one. */
void ext_chunk_digests(const struct ndz_header *h, const void *chunk,
    uint8_t digest[EXT_DIGEST_BYTES], const struct ndz_header *h2, const void *chunk2,
    uint8_t digest2[EXT_DIGEST_BYTES]);

#endif /* COMMON_IMAGE_FORMAT_EXT_H */
