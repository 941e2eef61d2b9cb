/* record.h: what a pack file consists of, to the byte; docs/store-format.md.
 *
 *	record: u32 magic, u8 type, u8 0 0 0, u64 number, u32 bytes of the body,
 *	u32 CRC-32C of the body, u32 0, u32 CRC-32C of these 28 bytes; the body;
 *	zeros up to a multiple of 8
 */
#ifndef EMUSTORE_STORE_RECORD_H
#define EMUSTORE_STORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/sha256.h"

enum {
	STORE_FORMAT = 1,      /* of the index, and of a store as it is made */
	STORE_FORMAT_MADE = 2, /* of a store with chunks that are made again */
	STORE_FORMAT_MAX = STORE_FORMAT_MADE,
	RECORD_HEAD_BYTES = 32,
	RECORD_ALIGN = 8,
	RAW_DIGEST_BYTES = 16,
	FRAGMENT_HEAD_BYTES = SHA256_BYTES + RAW_DIGEST_BYTES + 4 + 4,
	/* From the beginning of a fragment's record to its data. */
	FRAGMENT_DATA_AT = RECORD_HEAD_BYTES + FRAGMENT_HEAD_BYTES,
	STORE_FRAGMENT_MAX = 1 << 20,
};

enum record_type {
	RECORD_PACK = 1,     /* first in every pack; number: the pack's */
	RECORD_FRAGMENT = 2, /* number: the fragment's */
	RECORD_IMAGE = 3,    /* number: the image's; body: recipe.h */
	RECORD_REMOVED = 4,  /* number: that of an image that is no more */
	RECORD_REPLACES =
	    5, /* number: how many u32 numbers of packs its body holds: they
	        * count no longer, all of use in them came before this */
	/* Only in the objects of images in a bucket: */
	RECORD_ABOUT = 6,   /* an image without its blocks */
	RECORD_DIGESTS = 7, /* SHA-256 of the fragments that it names */
};

struct record_head {
	enum record_type type; /* may be one that this version does not know */
	uint64_t number;
	uint32_t body_bytes, body_crc;
};

/* What stands in front of a fragment's data. */
struct fragment_head {
	uint8_t sha256[SHA256_BYTES];         /* of the data: its identity */
	uint8_t raw_digest[RAW_DIGEST_BYTES]; /* as in the fragment table of images */
	uint32_t raw_bytes; /* 0: a whole zlib stream; no raw digest */
	uint32_t adler;     /* Adler-32 of the raw bytes */
};

void record_put_head(const struct record_head *, uint8_t out[RECORD_HEAD_BYTES]);
/* false: not one, or a damaged one. */
bool record_get_head(struct record_head *, const void *bytes, size_t len);
void fragment_put_head(const struct fragment_head *, uint8_t out[FRAGMENT_HEAD_BYTES]);
/* ERR_FORMAT when it is too short. */
int fragment_get_head(
    struct fragment_head *, const void *bytes, size_t len, struct err *);
/* A whole record with its padding behind b; body in two parts. */
void record_append(struct buf *b, enum record_type, uint64_t number, const void *a,
    size_t a_bytes, const void *c, size_t c_bytes);
/* The next record, whole and checked, as *body; false: none, or a damaged one. */
bool record_next(struct rd *, struct record_head *, struct rd *body);
/* With head and padding. */
uint64_t record_whole_bytes(uint64_t body_bytes);

#endif /* EMUSTORE_STORE_RECORD_H */
