/* relay.h: what a node gets, served by multicast in its own network: a Frisbee session
 * whose image is a file that grows.
 *
 * A chunk is served as soon as it is here.  The functions are called by one thread; the
 * session has threads of its own. */
#ifndef DOLLY_RELAY_RELAY_H
#define DOLLY_RELAY_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct relay;

/* What is to be relayed. */
struct relay_image {
	uint32_t chunks;
	const uint8_t *identity; /* 16 bytes, of the caller */
};

/* Opens the session at "GROUP:PORT".  The image is kept in `file` (NULL: one in TMPDIR),
 * which is gone when the relay is.  ERR_USAGE: no such group or port; ERR_IO. */
int relay_start(struct relay **, const char *where, const char *file,
    const struct relay_image *, struct err *);
/* Takes a whole chunk, in any order; one that is here already is fine. */
int relay_put(struct relay *, uint32_t chunk, const void *bytes, struct err *);
/* What has become of the session? */
struct relay_stats {
	bool over;               /* its clients have left, or it has failed: */
	struct err err;          /* kind ERR_NONE: it has not */
	uint32_t clients, done;  /* that were there; that said they have all */
	uint64_t bytes_sent;
};
void relay_stats(struct relay *, struct relay_stats *);
/* Ends the session, and frees everything.  Also NULL. */
void relay_stop(struct relay *);

#endif /* DOLLY_RELAY_RELAY_H */
