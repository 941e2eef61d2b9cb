/* unicast.h: one image to many clients, each with a stream of its own.
 *
 * A client that asks from an address and port that has no stream gets one as soon as it has
 * shown that it receives what is sent there (strangers.h): also after a restart, nothing need
 * be known of it.  Streams are few, also those of one address, and end when their client
 * has left, was silent, or its machine says that nobody listens there; others ask again until
 * there is room. */
#ifndef FRISBEED_SERVE_UNICAST_H
#define FRISBEED_SERVE_UNICAST_H

#include "frisbeed/serve/stream.h"

struct unicast {
	/* the pattern for each client's stream; its sock is where anybody may ask */
	struct stream stream;
	struct sock_config net;
	struct auth *auth; /* of the sockets */
	unsigned clients_max;
	int64_t idle_us; /* -T, as the engine's */
};

/* Serve all clients; ends as stream_run() does. */
int unicast_run(const struct unicast *, struct err *);

#endif /* FRISBEED_SERVE_UNICAST_H */
