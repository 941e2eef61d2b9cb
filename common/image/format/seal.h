/* seal.h: the writer's side of proof.h: sign a finished chunk, then encrypt it. */
#ifndef COMMON_IMAGE_FORMAT_SEAL_H
#define COMMON_IMAGE_FORMAT_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/format.h"

struct seal_config {
	const char *sign, *encrypt; /* key files, or NULL */
};


struct seal;

/* Read the keys; *out is NULL when none are given. */
int seal_new(struct seal **, const struct seal_config *, struct err *);
/* NULL is fine; wipes the keys. */
void seal_free(struct seal *);
/* ERR_USAGE for an image with a UUID of the user's (-u), or encrypted in version 3. */
int seal_check(const struct seal_config *, bool has_uuid, bool v3, struct err *);
/* A UUID that no image had before. */
int seal_uuid(uint8_t uuid[NDZ_UUID_BYTES], struct err *);
/* *chunk is a finished chunk; instead it becomes a sealed copy, valid until the next
 * call.  seal NULL: it stays as it is. */
int seal_chunk(struct seal *, const void **chunk, struct err *);

#endif /* COMMON_IMAGE_FORMAT_SEAL_H */
