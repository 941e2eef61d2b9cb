/* waiting.h: connections that have not shown yet that they have the key.
 *
 * There are STRANGERS_MAX of them at most, STRANGERS_FROM_ONE from one address, and none for
 * longer than STRANGERS_US.  A new one takes the place of the oldest, so that strangers who
 * hold their places do not keep out a client with the key.  All functions are called in one
 * thread. */
#ifndef DSYNC_SERVE_WAITING_H
#define DSYNC_SERVE_WAITING_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/net/tls.h"
#include "dsync/serve/listener.h"

enum {
	STRANGERS_MAX = 64,      /* each takes up to about 100 kB */
	STRANGERS_FROM_ONE = 16, /* more than one host's copies need at once */
	STRANGERS_US = 10000000, /* a handshake takes two ways through the network */
};

struct waiting;

/* The key is borrowed.  ERR_NOMEM. */
int waiting_new(struct waiting **, struct tls *key, struct err *);
/* Close all of their connections.  NULL is fine. */
void waiting_free(struct waiting *);
/* Add a connection, whose socket does not block and is closed in the end, also when there is no
 * memory.  name: its address. */
void waiting_add(struct waiting *, int fd, const char *name, uint64_t now_us);
/* Remove those whose time is over. */
void waiting_sweep(struct waiting *, uint64_t now_us);
/* Fill in what poll(2) is to wait for.  Returns the number, STRANGERS_MAX at most. */
size_t waiting_polls(const struct waiting *, struct pollfd polls[STRANGERS_MAX]);

/* One who has shown the key. */
struct known {
	int fd;
	struct tls_wire *wire;
	char name[LISTENER_NAME_BYTES];
};
/* Go on with the handshakes of those whose sockets are ready in `polls`, as waiting_polls() has
 * filled it, and call known() with each that is done: fd and wire are its own then. */
void waiting_serve(struct waiting *, const struct pollfd polls[STRANGERS_MAX],
    void (*known)(void *arg, struct known *), void *arg);
/* How many were sent away since the last call, and the address of the last one: it has not shown the
 * key, was too slow, or had to make room.  The name stays until the next call. */
unsigned waiting_turned_away(struct waiting *, const char **name);

#endif /* DSYNC_SERVE_WAITING_H */
