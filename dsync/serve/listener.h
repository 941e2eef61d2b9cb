/* listener.h: the socket that a server of TCP listens on. */
#ifndef DSYNC_SERVE_LISTENER_H
#define DSYNC_SERVE_LISTENER_H

#include <stdint.h>
#include <sys/socket.h>

#include "common/base/err.h"

enum { LISTENER_NAME_BYTES = 64 };

/* Listen at "[ADDRESS:]PORT", where an address of IPv6 is in brackets; without an address at all of
 * this host.  *fd does not block, and is the caller's; *port is the port that was taken, if 0 was
 * asked for.  ERR_USAGE: this is no address or no port; ERR_IO. */
int listener_open(const char *at, int *fd, uint16_t *port, struct err *);
/* Write the numeric address of a connection's other side, without its port, into name.  Returns
 * name. */
const char *listener_name(
    const struct sockaddr_storage *, socklen_t, char name[LISTENER_NAME_BYTES]);

#endif /* DSYNC_SERVE_LISTENER_H */
