/* relay.h: serves the image that a node receives by multicast in the node's own network, as a
 * Frisbee session whose image is a file that grows.
 *
 * A chunk is served as soon as it was put.  All functions are called by one thread; the
 * session has threads of its own. */
#ifndef DOLLY_RELAY_RELAY_H
#define DOLLY_RELAY_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct relay;

/* The image that is relayed. */
struct relay_image {
	uint32_t chunks;
	const uint8_t *identity; /* 16 bytes, borrowed */
};

/* Opens the session at `where`, "GROUP:PORT".  The image is kept in `file` (NULL: a new file in
 * TMPDIR), which relay_stop() removes.  ERR_USAGE: no such group or port; ERR_UNSUPPORTED: `file` is a
 * device or a pipe; ERR_IO; ERR_NOMEM; errors of serve.h. */
int relay_start(struct relay **, const char *where, const char *file,
    const struct relay_image *, struct err *);
/* Takes a whole proved chunk, in any order; a chunk that was put before is ignored.  ERR_IO:
 * the file cannot be written. */
int relay_put(struct relay *, uint32_t chunk, const void *bytes, struct err *);
/* The state of the session. */
struct relay_stats {
	bool over;               /* its clients have left, or it has failed */
	struct err err;          /* why it has failed; kind ERR_NONE: it has not */
	uint32_t clients, done;  /* clients that came; clients that said they are complete */
	uint32_t here;           /* clients that have not left, and are not forgotten */
	uint64_t busy_us; /* when one was heard, or blocks were sent, last; 0: never */
	uint64_t blocks_sent;    /* also to clients that have only joined */
	uint64_t bytes_sent;
};
/* Fills in the state as it is now. */
void relay_stats(struct relay *, struct relay_stats *);
/* Ends the session, removes the file, and frees everything.  NULL is allowed. */
void relay_stop(struct relay *);

#endif /* DOLLY_RELAY_RELAY_H */
