/* gmac.h: the tag that authenticates a packet: GMAC, which is AES-128-GCM with associated data
 * alone.
 *
 * With the processor's instructions, GMAC is the cheapest authentication in libcrypto
 * (bench/auth.c compares).  If a number is used twice with one key, the key is as good as known.
 * Source: NIST SP 800-38D.
 */
#ifndef COMMON_NET_GMAC_H
#define COMMON_NET_GMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum { GMAC_KEY_BYTES = 16, GMAC_TAG_BYTES = 16 };

/* A key with its tables.  Changing to another key costs about 200 ns. */
struct gmac {
	void *cipher, *ctx; /* of libcrypto; owned */
	bool keyed;         /* `key` is set in ctx */
	uint8_t key[GMAC_KEY_BYTES];
};

/* A part of a packet; the bytes are borrowed. */
struct gmac_part {
	const void *bytes;
	size_t len;
};

/* Begin without a key.  ERR_UNSUPPORTED: libcrypto does not have AES-128-GCM. */
int gmac_init(struct gmac *, struct err *);
/* Wipe the key and free all.  A struct gmac that is all zeros is fine. */
void gmac_fini(struct gmac *);
/* Compute the tag of the n parts, one after the other, with this key and number.  False:
 * libcrypto fails, which does not happen after gmac_init() succeeded. */
bool gmac_tag(struct gmac *, const uint8_t key[GMAC_KEY_BYTES], uint64_t number,
    const struct gmac_part *, unsigned n, uint8_t tag[GMAC_TAG_BYTES]);

#endif /* COMMON_NET_GMAC_H */
