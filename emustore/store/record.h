/* record.h: what packs and recipes consist of, to the byte; docs/store-format.md.
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
	PACK_VERSION = 1, /* in the first record of a pack */
	RECORD_HEAD_BYTES = 32,
	RECORD_ALIGN = 8,
	RAW_DIGEST_BYTES = 16,
	FRAGMENT_HEAD_BYTES = SHA256_BYTES + RAW_DIGEST_BYTES + 4 + 4,
	/* From the beginning of a fragment's record to its data. */
	FRAGMENT_DATA_AT = RECORD_HEAD_BYTES + FRAGMENT_HEAD_BYTES,
	STORE_FRAGMENT_MAX = 1 << 20,
};

enum record_type {
	RECORD_PACK = 1,     /* first in every pack; body: u32 PACK_VERSION */
	RECORD_FRAGMENT = 2, /* a fragment's head, and its data */
	RECORD_IMAGE = 3,    /* a recipe, see recipe.h */
	RECORD_ABOUT = 6,    /* a recipe without its blocks */
	RECORD_DIGESTS = 7,  /* the SHA-256 of each fragment that it names */
};

struct record_head {
	enum record_type type; /* may be one that this version does not know */
	uint64_t number; /* by chance, or 0 */
	uint32_t body_bytes, body_crc;
};

/* What stands in front of a fragment's data. */
struct fragment_head {
	uint8_t sha256[SHA256_BYTES];         /* of the data: its identity */
	uint8_t raw_digest[RAW_DIGEST_BYTES]; /* as in the fragment table of images */
	uint32_t raw_bytes; /* 0: a whole zlib stream; no raw digest */
	uint32_t adler;     /* Adler-32 of the raw bytes */
};

/* A fragment and where it is in its pack. */
struct pack_fragment {
	uint64_t at;    /* of its record */
	uint32_t bytes; /* of its data */
	struct fragment_head head;
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
