/* proof.h: what a reader demands of every chunk before anything is done with it:
 * a signature (--verify-key), encryption (--decrypt). */
#ifndef COMMON_IMAGE_FORMAT_PROOF_H
#define COMMON_IMAGE_FORMAT_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct proof_config {
	const char *verify_key, *decrypt; /* files, or NULL */
};


struct proof;

/* Read the keys; *out is NULL when none are wanted. */
int proof_new(struct proof **, const struct proof_config *, struct err *);
/* Free the proof and wipe the keys.  NULL is fine. */
void proof_free(struct proof *);
/* Prove that chunk[NDZ_CHUNK_BYTES] is chunk `number` of an image that was made with these
 * keys, and decrypt it in place.  proof NULL: nothing is checked.  From any thread.  Errors
 * as crypt_open() and verify_chunk(). */
int proof_chunk(struct proof *, uint32_t number, void *chunk, struct err *);
/* The id of the key that signatures are checked with, as "0123456789abcdef"; "": there is
 * no such key. */
const char *proof_key_name(const struct proof *);

#endif /* COMMON_IMAGE_FORMAT_PROOF_H */
