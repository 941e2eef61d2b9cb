/* tls.h: connections that only those who have one key can read or make: TLS 1.3 with a
 * pre-shared key (RFC 8446, section 4.2.11), by OpenSSL.  The kernel encrypts where it can.
 *
 * Used by one thread. */
#ifndef DOLLY_NET_TLS_H
#define DOLLY_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/err.h"

/* The key. */
struct tls;

/* A key of `imagekey --group-key`.  Errors as keyfile_read_secret(); ERR_NOMEM. */
int tls_new(struct tls **, const char *keyfile, struct err *);
void tls_free(struct tls *); /* also NULL */

/* One connection. */
struct tls_wire;

/* For a connected socket that does not block, and stays the caller's; dialled: this side
 * has made the connection.  NULL: no memory. */
struct tls_wire *tls_wire_new(struct tls *, int fd, bool dialled);
void tls_wire_free(struct tls_wire *); /* also NULL */
/* Before anything else, until it returns 1.  0: call again when the socket can be read, or
 * with *writes written.  -1: the other side has another key, or none. */
int tls_wire_shake(struct tls_wire *, bool *writes);
/* As send(2) and recv(2), with -1 and errno EAGAIN when they would block; another -1 has
 * an errno, too.  After EAGAIN of a send the same bytes are to be sent next. */
ssize_t tls_wire_send(struct tls_wire *, const void *, size_t);
ssize_t tls_wire_recv(struct tls_wire *, void *, size_t);
/* Are there bytes that poll(2) does not see? */
bool tls_wire_pending(const struct tls_wire *);

#endif /* DOLLY_NET_TLS_H */
