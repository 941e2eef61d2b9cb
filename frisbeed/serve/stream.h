/* stream.h: one engine with its sockets, in the thread that calls: a group's, or that
 * of one client that is served alone. */
#ifndef FRISBEED_SERVE_STREAM_H
#define FRISBEED_SERVE_STREAM_H

#include <stdatomic.h>

#include "common/image/read/source.h"
#include "common/net/allow.h"
#include "common/net/sock.h"
#include "frisbeed/serve/budget.h"
#include "frisbeed/serve/clients.h"
#include "frisbeed/serve/identity.h"
#include "frisbeed/serve/tally.h"

/* All of it belongs to the caller. */
struct stream {
	const char *name; /* the image's, for the log */
	struct server_config server;
	uint64_t keepalive_us;
	struct sock *sock, *second; /* second: NULL: none */
	struct source *image;
	struct identity *identity; /* the image's */
	struct budget *budget; /* NULL: the configuration's own rate */
	struct clients *clients;
	struct tally_box *tally;
	atomic_bool *stop;
	const struct allow *allow; /* whose packets are heard */
	/* it ends when this number of clients is complete; 0: it does not */
	uint32_t until_clients;
	uint16_t client_port; /* served alone; 0: a group */
	/* What it had sent before it had a stream; of no bytes: nothing. */
	struct stream_packet {
		const void *bytes;
		size_t len;
	} first[2];
	const uint8_t *first_from;
	bool *served; /* set when anything was sent to it that it asked for */
};

/* Have as many clients as until_clients said that they installed the whole image? */
bool stream_has_enough(const struct stream *);
/* Run until a signal, *stop, the end that the configuration names, or an error. */
int stream_run(const struct stream *, struct err *);

#endif /* FRISBEED_SERVE_STREAM_H */
