/* client_urgent.h: chunks that are needed now, because somebody reads an image while
 * it is being loaded.  Each is requested by itself, in the base protocol, which the
 * server serves before its carousel.  The other chunks arrive as usual.  A load
 * without urgent chunks is not affected by this policy. */
#ifndef FRISBEE_CLIENT_CLIENT_URGENT_H
#define FRISBEE_CLIENT_CLIENT_URGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frisbee/client/client.h"
#include "frisbee/client/client_chunks.h"

/* Only client_urgent.c writes it. */
struct client_urgent {
	uint32_t chunk[CLIENT_URGENT_MAX]; /* oldest first; some may have arrived
	                                      meanwhile */
	uint32_t n;
};

/* This chunk is needed now.  Returns false if that was known.  If there are too
 * many, the oldest one is forgotten. */
bool client_urgent_add(struct client_urgent *, uint32_t chunk);
/* Was this chunk named as needed now?  It may have arrived meanwhile. */
bool client_urgent_is(const struct client_urgent *, uint32_t chunk);
/* Is there such a chunk that could have a buffer, and has none? */
bool client_urgent_lacks_buffer(
    const struct client_urgent *, const struct client_chunks *);
/* Forget those that are complete, or that the image does not have. */
void client_urgent_forget_done(struct client_urgent *, const struct client_chunks *);
/* Put a request for one of them into pkt.  Returns its length, or 0. */
size_t client_urgent_say(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_URGENT_H */
