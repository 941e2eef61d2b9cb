/* crypt.h: chunks that only the holder of a key can read.
 *
 * AES-256-GCM over everything behind the header of a chunk; the header stays
 * readable, and is authenticated.  A key file is one line of text:
 *
 *	NDZ-KEY-1 AES-256-GCM <64 hex digits>
 *
 * Each image is encrypted with a key of its own, made of this one and its UUID, so
 * no nonce (UUID and chunk number) is ever used twice with one key as long as every
 * capture has a fresh UUID.  docs/image-format.md describes everything to the byte.
 */
#ifndef COMMON_IMAGE_FORMAT_CRYPT_H
#define COMMON_IMAGE_FORMAT_CRYPT_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/format.h"

enum {
	CRYPT_KEY_BYTES = 32,
	CRYPT_ID_BYTES = 8,
	CRYPT_TAG_BYTES = 16, /* at the very end of a chunk: writers leave it free */
};

struct crypt;

/* Make a new key file, mode 0600. */
int crypt_make_key(const char *path, struct err *);
/* Read a key file.  ERR_REFUSED when others may read it. */
int crypt_new(struct crypt **, const char *path, struct err *);
/* Wipes the key. */
void crypt_free(struct crypt *);
/* The id of the key, which tells keys apart and says nothing more about them. */
const uint8_t *crypt_key_id(const struct crypt *);
/* The id of the key that a chunk is encrypted with; it points into the chunk. */
const uint8_t *crypt_chunk_key_id(const uint8_t *chunk);

/* Encrypt chunk[NDZ_CHUNK_BYTES] in place.  Its header has a UUID and the suite's own magic
 * (ndz_header.codec is not 0), and its last CRYPT_TAG_BYTES are zeros.  ERR_UNSUPPORTED: it
 * is a chunk of another kind. */
int crypt_seal(struct crypt *, uint8_t *chunk, struct err *);
/* Decrypt in place, to exactly the bytes that crypt_seal() got.  ERR_REFUSED: the
 * chunk is not encrypted, or with another key; ERR_FORMAT: it is damaged or forged.
 * After a failure the content of the chunk is undefined. */
int crypt_open(struct crypt *, uint8_t *chunk, struct err *);

#endif /* COMMON_IMAGE_FORMAT_CRYPT_H */
