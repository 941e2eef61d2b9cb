/* stream.h: one engine with its sockets, which runs in the calling thread and serves a group,
 * or one client alone. */
#ifndef FRISBEED_SERVE_STREAM_H
#define FRISBEED_SERVE_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/limiter.h"
#include "common/image/read/source.h"
#include "common/net/allow.h"
#include "common/net/sock.h"
#include "frisbeed/serve/budget.h"
#include "frisbeed/serve/clients.h"
#include "frisbeed/serve/identity.h"
#include "frisbeed/serve/order_finder.h"
#include "frisbeed/serve/sentmap.h"
#include "frisbeed/serve/tally.h"

/* How many lines are logged about clients and other servers, which strangers can play: of all
 * streams of a session together, since a stranger can have one after the other. */
struct stream_lines {
	pthread_mutex_t lock; /* of what follows */
	struct limiter clients, others;
};

/* Everything that pointers here lead to belongs to the caller. */
struct stream {
	const char *name; /* the image's name, for the log */
	struct stream_lines *lines;
	struct server_config server;
	uint64_t keepalive_us;
	struct sock *sock, *second; /* second: NULL: none */
	struct source *image;
	struct identity *identity; /* of the image */
	/* The order of reads of the image; order.order NULL: there is none.  stream_run() fills in
	 * order.chunks. */
	struct order_config order;
	struct budget *budget; /* NULL: the configuration's own rate */
	struct clients *clients;
	struct tally_box *tally;
	struct sentmap *sentmap; /* of a group */
	atomic_bool *stop;
	const struct allow *allow; /* whose packets are heard */
	/* the stream ends when this number of clients is complete; 0: no number ends it */
	uint32_t until_clients;
	uint16_t client_port; /* the port of a client that is served alone; 0: a group */
	/* Packets that this client sent before it had a stream; len 0: none. */
	struct stream_packet {
		const void *bytes;
		size_t len;
	} first[2];
	const uint8_t *first_from; /* the client's address */
	bool *served; /* set at the end: whether any block was sent; NULL: not wanted */
};

/* Have as many clients as until_clients said that they installed the whole image? */
bool stream_has_enough(const struct stream *);
/* Runs until a signal, *stop, the end that the configuration says, or an error.  -1: an error. */
int stream_run(const struct stream *, struct err *);

#endif /* FRISBEED_SERVE_STREAM_H */
