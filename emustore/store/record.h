/* record.h: the records that packs and recipes consist of; docs/store-format.md describes
 * them to the byte.
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
	RECORD_DIGESTS = 7,  /* the SHA-256 of each fragment of the recipe */
};

struct record_head {
	enum record_type type; /* may be one that this version does not know */
	uint64_t number; /* random, or 0 */
	/* length of the body, and its CRC-32C */
	uint32_t body_bytes, body_crc;
};

/* The head of a fragment, which stands in front of its data. */
struct fragment_head {
	/* of the compressed data: the identity of the fragment */
	uint8_t sha256[SHA256_BYTES];
	uint8_t raw_digest[RAW_DIGEST_BYTES]; /* as in the fragment table of images */
	uint32_t raw_bytes; /* 0: the fragment is a whole zlib stream, and has no raw digest */
	uint32_t adler;     /* Adler-32 of the raw bytes */
};

/* What the fragment table of a chunk says of the raw bytes of a fragment. */
struct fragment_raw {
	uint8_t digest[RAW_DIGEST_BYTES];
	uint32_t bytes;
};

/* A fragment and where it is in its pack. */
struct pack_fragment {
	uint64_t at;    /* byte offset of its record in the pack */
	uint32_t bytes; /* length of its data */
	struct fragment_head head;
};

/* Write the head of a record, with its checksum, to out. */
void record_put_head(const struct record_head *, uint8_t out[RECORD_HEAD_BYTES]);
/* Read the head of a record from len bytes.  false: this is no head, or a damaged one.
 * The body is not checked. */
bool record_get_head(struct record_head *, const void *bytes, size_t len);
/* Write the head of a fragment to out. */
void fragment_put_head(const struct fragment_head *, uint8_t out[FRAGMENT_HEAD_BYTES]);
/* Read the head of a fragment from the body of its record, which has len bytes.
 * ERR_FORMAT: the body is too short, or too long for a fragment. */
int fragment_get_head(
    struct fragment_head *, const void *bytes, size_t len, struct err *);
/* Append a whole record and its padding to b; its body is given in two parts, a and c.
 * buf_ok() of b tells a failure. */
void record_append(struct buf *b, enum record_type, uint64_t number, const void *a,
    size_t a_bytes, const void *c, size_t c_bytes);
/* Read the next record; *body borrows its body.  Head and body are checked.  false: there
 * is no record, or it is damaged. */
bool record_next(struct rd *, struct record_head *, struct rd *body);
/* The length of a record with a body of this length: head, body and padding. */
uint64_t record_whole_bytes(uint64_t body_bytes);

#endif /* EMUSTORE_STORE_RECORD_H */
