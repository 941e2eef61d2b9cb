/* relay.h: passes bytes between a connection and two descriptors: those of a program's pipes, at
 * the server, and those of dsync's own pipes, at the client. */
#ifndef DSYNC_TALK_RELAY_H
#define DSYNC_TALK_RELAY_H

#include <stdbool.h>

#include "common/base/err.h"
#include "dsync/talk/talk.h"

struct relay_config {
	struct talk *talk; /* borrowed */
	int in;  /* what can be read here is sent, up to its end; borrowed; -1: nothing is sent */
	int out; /* what arrives is written here; borrowed; -1: it is dropped */
	/* The relay of a client ends with the server's RESULT, or with an error as soon as nobody
	 * reads `out` any more.  That of a server ends when the end of `in` was sent; what arrives
	 * after nobody reads `out` is dropped. */
	bool client;
	/* Nothing more is written to `out`: all has arrived, or nobody reads it.  NULL: nobody needs
	 * to know. */
	void (*out_ended)(void *arg);
	void *arg;
};

/* Pass bytes on.  Both descriptors are made non-blocking.  0: a server's relay has ended, or a
 * client's with the result of a success.  -1: the sentence of the server's result, ERR_IO: the
 * connection has ended, ERR_FORMAT, ERR_CANCELLED. */
int relay(const struct relay_config *, struct err *);

#endif /* DSYNC_TALK_RELAY_H */
