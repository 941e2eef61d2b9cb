/* client_heed.c: whose messages keep this client from sending its own.  The files that
 * read messages of clients and of the server call this, in the engine's only thread. */
#include "frisbee/client/client_heed.h"

#include "frisbee/client/client_chunks.h"

enum {
	/* It takes a second or two to find out that the server does not act on an
	 * address.  This is repeated after each minute, so a load takes longer by that
	 * much a minute for each such address. */
	IGNORED_US = 60000000,
};

client_addresses
client_address(const uint8_t from[4])
{
	uint64_t key = (uint64_t)from[0] << 24 | (uint64_t)from[1] << 16 |
	               (uint64_t)from[2] << 8 | from[3];

	return UINT64_C(1) << client_random(&key) % 64;
}

void
client_heed_ignore(struct client_heed *h, uint64_t now_us, client_addresses which)
{
	if (which == 0)
		return;
	if (now_us >= h->until_us)
		h->ignored = 0;
	h->ignored |= which;
	h->until_us = now_us + IGNORED_US;
}

bool
client_heed_ignores(const struct client_heed *h, uint64_t now_us, const uint8_t from[4])
{
	return now_us < h->until_us && (h->ignored & client_address(from)) != 0;
}
