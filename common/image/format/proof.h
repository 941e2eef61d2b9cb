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
/* NULL is fine; wipes the keys. */
void proof_free(struct proof *);
/* Prove chunk[NDZ_CHUNK_BYTES] to be number `number` of an image that was made with
 * these keys, and decrypt it in place.  proof NULL: nothing is asked.  From any thread. */
int proof_chunk(struct proof *, uint32_t number, void *chunk, struct err *);
/* "0123456789abcdef", of the key that signatures are checked with; "" for none. */
const char *proof_key_name(const struct proof *);

#endif /* COMMON_IMAGE_FORMAT_PROOF_H */
