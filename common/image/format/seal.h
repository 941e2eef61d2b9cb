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
/* Free the seal and wipe the keys.  NULL is fine. */
void seal_free(struct seal *);
/* ERR_USAGE when a sealed image has a UUID from the user (-u), or when an encrypted one is
 * of version 3. */
int seal_check(const struct seal_config *, bool has_uuid, bool v3, struct err *);
/* Make a random UUID, which no image had before. */
int seal_uuid(uint8_t uuid[NDZ_UUID_BYTES], struct err *);
/* *chunk points to a finished chunk, and is made to point to a sealed copy, which is valid
 * until the next call.  seal NULL: *chunk stays as it is. */
int seal_chunk(struct seal *, const void **chunk, struct err *);

#endif /* COMMON_IMAGE_FORMAT_SEAL_H */
