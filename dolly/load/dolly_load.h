/* dolly_load.h: a load of dolly: it joins a server, puts the image that comes into a
 * destination, and sends it on to other nodes meanwhile. */
#ifndef DOLLY_LOAD_DOLLY_LOAD_H
#define DOLLY_LOAD_DOLLY_LOAD_H

#include "dolly/engine/node.h"
#include "dolly/net/wires.h"
#include "imageunzip/install/destination.h"

struct dolly_load_config {
	const char *server;   /* HOST or HOST:PORT */
	const char *name;     /* this node's, for the server's table */
	/* Of the server, if it is not named there; and of this node, if it is free. */
	uint16_t port;
	const char *key;      /* file with the key of all connections; NULL: none */
	uint64_t patience_us; /* how long a server that went away is waited for */
	/* Raw data, which the server may send instead of an image, sets any_file and
	 * bytes. */
	struct destination *to;
	const char *relay, *relay_file; /* as those of relay.h; NULL: no relay */
	/* Called from time to time: how far the load is, in bytes; total 0: not known
	 * yet. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	/* Called with sentences for the user. */
	void (*say)(void *arg, const char *sentence);
	void (*warn)(void *arg, const char *sentence);
	void *arg; /* of these callbacks */
};

/* What came of it. */
struct dolly_load_stats {
	struct node_stats node;
	struct sink_sum sum;
	struct wires_encrypted encrypted; /* connections */
};

/* Loads the image, and returns when the server lets this node go.  0: the image is where
 * it belongs, and the statistics are filled in; -1: the error says why not, or how the
 * relay has failed. */
int dolly_load(const struct dolly_load_config *, struct dolly_load_stats *, struct err *);

#endif /* DOLLY_LOAD_DOLLY_LOAD_H */
