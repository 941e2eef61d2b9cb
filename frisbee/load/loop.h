/* loop.h: the work of a load's thread: sockets and time around the client's engine. */
#ifndef FRISBEE_LOAD_LOOP_H
#define FRISBEE_LOAD_LOOP_H

#include "common/net/sock.h"
#include "frisbee/client/client.h"
#include "frisbee/load/asks.h"
#include "frisbee/load/feeder.h"
#include "frisbee/load/load.h"

struct loop_config {
	uint32_t buffers;
	uint64_t keepalive_us;         /* 0: the default */
	uint64_t write_mb;             /* for the statistics */
	const struct sock_config *net; /* of the socket, and of the one of the second port */
	struct auth *auth;             /* of the socket */
	const uint8_t *server;         /* that the user named, 4 bytes */
	struct asks *asks;             /* what other threads ask for */
	/* The callbacks of struct load_config; none of them is NULL. */
	void (*tick)(void *arg, const struct load_stats *);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void (*say)(void *arg, const char *sentence);
	void (*image)(void *arg, const struct client_image *);
	void (*blocks)(void *arg, uint32_t chunk, uint32_t first, uint32_t count,
	    const uint8_t *data);
	void *arg; /* of these callbacks */
};

/* Loads the image into the feeder's sink, and leaves the session.  The feeder is taken over;
 * the other arguments stay the caller's.  The statistics are filled in.  0: the whole image is
 * installed; -1: the error says why not. */
int loop_run(struct client *, struct sock *, struct feeder *, struct mailbox *,
    const struct loop_config *, struct load_stats *, struct err *);

#endif /* FRISBEE_LOAD_LOOP_H */
