/* allow.h: the networks whose packets a server hears (--allow). */
#ifndef COMMON_NET_ALLOW_H
#define COMMON_NET_ALLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

enum { ALLOW_MAX = 64 }; /* each packet is compared with all of them */

struct allow {
	unsigned n; /* 0: everybody */
	struct allow_net {
		uint32_t addr, mask; /* in the byte order of this machine */
	} net[ALLOW_MAX];
};

/* Add a network ("10.1.0.0/16"), or an address.  ERR_USAGE: the text is neither, the address has
 * bits behind the prefix, or there are ALLOW_MAX networks already. */
int allow_add(struct allow *, const char *net, struct err *);
/* Is the address in one of the networks?  With NULL or an empty list, every address is. */
bool allow_has(const struct allow *, const uint8_t addr[4]);

#endif /* COMMON_NET_ALLOW_H */
