/* dial.h: connects to `dsync serve`. */
#ifndef DSYNC_TALK_DIAL_H
#define DSYNC_TALK_DIAL_H

#include "common/base/err.h"
#include "dsync/talk/talk.h"

/* Connect to a TCP port, a number, of a host, which is a name or an address of IPv4 or IPv6, and
 * make the handshake with this key.  ERR_ABSENT: the host has no address; ERR_IO: it cannot be
 * reached; ERR_REFUSED: it has another key, or none; ERR_CANCELLED, ERR_NOMEM.  The key is
 * borrowed for as long as the connection is. */
int dial(struct talk **, const char *host, const char *port, struct tls *key, struct err *);

#endif /* DSYNC_TALK_DIAL_H */
