/* unicast.h: one image to many clients, each with a stream of its own.
 *
 * A client that asks from an address and port that has no stream gets one as soon as it has
 * shown that it receives what is sent there (strangers.h).  Nothing else need be known of the
 * client, also after a restart.  The number of streams is bounded, and so is the number for one
 * address.  A stream ends when its client has left or was silent, or when the client's machine
 * says that nobody listens at that port.  Other clients ask again until there is room. */
#ifndef FRISBEED_SERVE_UNICAST_H
#define FRISBEED_SERVE_UNICAST_H

#include "frisbeed/serve/stream.h"

struct unicast {
	/* the pattern for each client's stream; its sock is where anybody may ask */
	struct stream stream;
	struct sock_config net;
	struct auth *auth; /* authenticates the packets of the sockets */
	unsigned clients_max;
	int64_t idle_us; /* -T, as in the engine's configuration */
};

/* Serves all clients in the calling thread.  It ends as stream_run() does.  -1: an error. */
int unicast_run(const struct unicast *, struct err *);

#endif /* FRISBEED_SERVE_UNICAST_H */
