/* loop.h: sockets and time around the client's engine: what a load's thread does. */
#ifndef FRISBEE_LOAD_LOOP_H
#define FRISBEE_LOAD_LOOP_H

#include "common/net/sock.h"
#include "frisbee/client/client.h"
#include "frisbee/load/asks.h"
#include "frisbee/load/feeder.h"
#include "frisbee/load/load.h"

struct loop_config {
	uint32_t buffers;
	uint64_t keepalive_us;         /* 0: the usual */
	uint64_t write_mb;             /* for the statistics */
	const struct sock_config *net; /* of the socket: the second one is as it */
	struct auth *auth;             /* of the socket */
	struct asks *asks;             /* what others want meanwhile */
	/* As those of struct load_config; none of them is NULL. */
	void (*tick)(void *arg, const struct load_stats *);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void (*say)(void *arg, const char *sentence);
	void (*image)(void *arg, const struct client_image *);
	void (*blocks)(void *arg, uint32_t chunk, uint32_t first, uint32_t count,
	    const uint8_t *data);
	void *arg; /* of these */
};

/* Loads the image into the feeder's sink, and leaves the session.  The feeder is taken over; the
 * other arguments stay the caller's.  0: all is installed; -1 with the error. */
int loop_run(struct client *, struct sock *, struct feeder *, struct mailbox *,
    const struct loop_config *, struct load_stats *, struct err *);

#endif /* FRISBEE_LOAD_LOOP_H */
