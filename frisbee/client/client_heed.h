/* client_heed.h: whose messages keep this client from sending its own.
 *
 * A client does not say what another client has said, since the server has heard it, too.  A
 * client whose messages the server does not act on would keep all others silent that way: its
 * messages may not reach the server, or it may be hostile.  When the server's announcements
 * show this, the address is ignored for a minute.
 */
#ifndef FRISBEE_CLIENT_CLIENT_HEED_H
#define FRISBEE_CLIENT_CLIENT_HEED_H

#include <stdbool.h>
#include <stdint.h>

/* A set of addresses.  Each has one of 64 places, so an address may be taken for another
 * one; a client then sends a message that was not necessary. */
typedef uint64_t client_addresses;

/* Only client_heed.c writes it. */
struct client_heed {
	client_addresses ignored;
	uint64_t until_us;
};

client_addresses client_address(const uint8_t from[4]);
/* The server does not act on what these addresses send. */
void client_heed_ignore(struct client_heed *, uint64_t now_us, client_addresses);
/* Is this address ignored? */
bool client_heed_ignores(
    const struct client_heed *, uint64_t now_us, const uint8_t from[4]);

#endif /* FRISBEE_CLIENT_CLIENT_HEED_H */
