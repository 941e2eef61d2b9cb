/* tls.h: connections that can be made and read only with a common key: TLS 1.3 with a
 * pre-shared key (RFC 8446, section 4.2.11), by OpenSSL.  The kernel encrypts where it can.
 *
 * Several threads may use one key, but each connection belongs to one thread. */
#ifndef COMMON_NET_TLS_H
#define COMMON_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/err.h"

/* The key. */
struct tls;

/* Reads a key that `imagekey --group-key` has made.  identity, which must stay, is the name of
 * the kind of connection, such as "dolly": a handshake succeeds only if both sides have the same.
 * Errors of keyfile_read_secret(); ERR_NOMEM. */
int tls_new(struct tls **, const char *keyfile, const char *identity, struct err *);
/* Wipes and releases the key.  NULL is allowed. */
void tls_free(struct tls *);

/* One connection. */
struct tls_wire;

/* Makes a connection from a non-blocking socket, which stays the caller's; dialled: this side
 * has opened the connection.  NULL: no memory. */
struct tls_wire *tls_wire_new(struct tls *, int fd, bool dialled);
/* Releases the connection, but not the socket.  NULL is allowed. */
void tls_wire_free(struct tls_wire *);
/* Makes the handshake.  It is called before anything else, until it returns 1.  0: it is to
 * be called again when the socket can be read, or, with *writes set, written.  -1: the other
 * side has another key, or none. */
int tls_wire_shake(struct tls_wire *, bool *writes);
/* Send and receive as send(2) and recv(2) do, with -1 and errno EAGAIN when they would block,
 * or -1 and another errno.  After EAGAIN of a send the same bytes are to be sent next. */
ssize_t tls_wire_send(struct tls_wire *, const void *, size_t);
ssize_t tls_wire_recv(struct tls_wire *, void *, size_t);
/* Does the kernel encrypt what is sent?  Known when the handshake was made. */
bool tls_wire_in_kernel(const struct tls_wire *);
/* Are there decrypted bytes, of which poll(2) does not know? */
bool tls_wire_pending(const struct tls_wire *);

#endif /* COMMON_NET_TLS_H */
