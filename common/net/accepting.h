/* accepting.h: listening for connections, and accepting them, also when the process or the system
 * has no descriptor left.
 *
 * A connection that cannot be accepted stays in the listener's queue, so poll(2) returns at once,
 * again and again.  A struct accepting leaves the listener alone for a while instead.  It belongs
 * to one thread.
 */
#ifndef COMMON_NET_ACCEPTING_H
#define COMMON_NET_ACCEPTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/base/err.h"

/* How long a listener is left alone.  Half of this time passes on average before a connection is
 * accepted that could be, which nobody notices; and one try in this time costs nothing. */
enum { ACCEPTING_REST_US = 200000 };

struct accepting {
	int listener; /* does not block; the owner closes it */
	uint64_t rests_until_us; /* clock_us(); set by accepting_next() */
};

/* Listens at this IPv4 address (0.0.0.0: any) and *port, which is set (0: any that is free); any: if
 * the port is taken, at another one.  ERR_IO, and then the listener is -1. */
int accepting_port(struct accepting *, const uint8_t address[4], uint16_t *port, bool any,
    struct err *);
/* Listens at this address and port.  ERR_IO. */
int accepting_at(struct accepting *, const struct sockaddr *, socklen_t, struct err *);
/* Listens at a Unix socket, which takes the place of one that an earlier process has left.  ERR_IO:
 * there is another file, or its folder cannot be written; ERR_USAGE: the path is too long. */
int accepting_path(struct accepting *, const char *path, struct err *);
/* The descriptor that poll(2) is to wait for: the listener, or -1, which poll(2) ignores, while
 * it is left alone.  Whoever polls has to look again after ACCEPTING_REST_US at most. */
int accepting_fd(const struct accepting *);
/* Accepts the next connection.  from and len: where it comes from, as of accept(2).  Returns its
 * descriptor, which is the caller's and does not block; -1: there is none now. */
int accepting_next(struct accepting *, void *from, socklen_t *len);
/* Makes the kernel notice that the other side of a TCP connection is gone: it has
 * acknowledged nothing for 10 seconds, or taken nothing of what it is sent for
 * silent_ms.  What is sent goes at once. */
void accepting_keep(int fd, int silent_ms);

#endif /* COMMON_NET_ACCEPTING_H */
