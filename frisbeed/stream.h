/* stream.h: one engine with its sockets, in the thread that calls: a group's, or that
 * of one client that is served alone. */
#ifndef FRISBEED_STREAM_H
#define FRISBEED_STREAM_H

#include <stdatomic.h>

#include "common/disk/disk.h"
#include "common/net/sock.h"
#include "frisbeed/budget.h"
#include "frisbeed/clients.h"
#include "frisbeed/tally.h"

/* All of it belongs to the caller. */
struct stream {
	const char *name; /* the image's, for the log */
	struct server_config server;
	uint64_t keepalive_us;
	struct sock *sock, *second; /* second: NULL: none */
	struct disk *disk;
	struct budget *budget; /* NULL: the configuration's own rate */
	struct clients *clients;
	struct tally_box *tally;
	atomic_bool *stop;
	uint16_t client_port; /* served alone; 0: a group */
	/* What it had sent before it had a stream. */
	const void *first;
	size_t first_len;
	const uint8_t *first_from;
};

/* Until a signal, *stop, what the configuration says of its end, or an error. */
int stream_run(const struct stream *, struct err *);

#endif /* FRISBEED_STREAM_H */
