/* gmac.h: what authenticates a packet: AES-128-GCM over nothing but associated data (GMAC).
 *
 * With the processor's instructions it is the cheapest one that can be had of libcrypto: bench/auth.c
 * compares.  No number may be used twice with one key, or the key is as good as known.
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
	void *cipher, *ctx; /* of libcrypto */
	bool keyed;
	uint8_t key[GMAC_KEY_BYTES];
};

struct gmac_part {
	const void *bytes;
	size_t len;
};

/* ERR_UNSUPPORTED: libcrypto does not have AES-128-GCM. */
int gmac_init(struct gmac *, struct err *);
/* Wipes the key.  A struct gmac that is all zeros is fine. */
void gmac_fini(struct gmac *);
/* The tag of all parts, one after the other, with this key and number.  False: libcrypto
 * fails, which does not happen after gmac_init() succeeded. */
bool gmac_tag(struct gmac *, const uint8_t key[GMAC_KEY_BYTES], uint64_t number,
    const struct gmac_part *, unsigned n, uint8_t tag[GMAC_TAG_BYTES]);

#endif /* COMMON_NET_GMAC_H */
