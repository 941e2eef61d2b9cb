/* client_urgent.h: chunks that are needed now, while the others come as ever: somebody reads what
 * is being loaded.  Each is asked for by itself, in the base protocol, which the server serves
 * before its carousel.  This is a policy of its own: whoever says nothing urgent never notices
 * that it is there.
 */
#ifndef FRISBEE_CLIENT_CLIENT_URGENT_H
#define FRISBEE_CLIENT_CLIENT_URGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frisbee/client/client.h"
#include "frisbee/client/client_chunks.h"

/* Only client_urgent.c writes it. */
struct client_urgent {
	uint32_t
	    chunk[CLIENT_URGENT_MAX]; /* oldest first; some may be here meanwhile */
	uint32_t n;
};

/* This chunk is needed now.  False: that was known.  The oldest one gives way. */
bool client_urgent_add(struct client_urgent *, uint32_t chunk);
/* Is this chunk needed now?  Also when it is here meanwhile. */
bool client_urgent_is(const struct client_urgent *, uint32_t chunk);
/* Is there one that could have a buffer, and has none? */
bool client_urgent_lacks_buffer(
    const struct client_urgent *, const struct client_chunks *);
/* Forget those that are complete, or that the image does not have. */
void client_urgent_forget_done(struct client_urgent *, const struct client_chunks *);
/* A request for one of them, or 0. */
size_t client_urgent_say(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_URGENT_H */
