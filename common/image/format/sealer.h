/* sealer.h: the writer's side of opener.h: signs a finished chunk, then encrypts it. */
#ifndef COMMON_IMAGE_FORMAT_SEALER_H
#define COMMON_IMAGE_FORMAT_SEALER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/format.h"

struct sealer_config {
	const char *sign, *encrypt; /* key files, or NULL */
};

struct sealer;

/* Read the keys; *out is NULL when none are given. */
int sealer_new(struct sealer **, const struct sealer_config *, struct err *);
/* Free the sealer and wipe the keys.  NULL is fine. */
void sealer_free(struct sealer *);
/* ERR_USAGE when a sealed image has a UUID from the user (-u), or when an encrypted one is
 * of version 3. */
int sealer_check(const struct sealer_config *, bool has_uuid, bool v3, struct err *);
/* Make a random UUID, which no image had before. */
void sealer_uuid(uint8_t uuid[NDZ_UUID_BYTES]);
/* *chunk points to a finished chunk, and is made to point to a sealed copy, which is valid
 * until the next call.  sealer NULL: *chunk stays as it is. */
int sealer_seal(struct sealer *, const void **chunk, struct err *);

#endif /* COMMON_IMAGE_FORMAT_SEALER_H */
