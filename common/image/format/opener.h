/* opener.h: opens sealed chunks: what a reader demands of every chunk before anything is
 * done with it, a signature (--verify-key) or encryption (--decrypt). */
#ifndef COMMON_IMAGE_FORMAT_OPENER_H
#define COMMON_IMAGE_FORMAT_OPENER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct opener_config {
	const char *verify_key, *decrypt; /* files, or NULL */
};

struct opener;

/* Read the keys; *out is NULL when none are wanted. */
int opener_new(struct opener **, const struct opener_config *, struct err *);
/* Free the opener and wipe the keys.  NULL is fine. */
void opener_free(struct opener *);
/* Prove that chunk[NDZ_CHUNK_BYTES] is chunk `number` of an image that was sealed with these
 * keys, and decrypt it in place.  opener NULL: nothing is checked.  From any thread.  Errors
 * as crypt_open() and verify_chunk(). */
int opener_open(struct opener *, uint32_t number, void *chunk, struct err *);
/* The id of the key that signatures are checked with, as "0123456789abcdef"; "": there is
 * no such key. */
const char *opener_key_name(const struct opener *);

#endif /* COMMON_IMAGE_FORMAT_OPENER_H */
