/* ask.h: a client's questions to a master server (master.h).
 *
 * A master server is named by a host name or an IPv4 address; "HOST:PORT" names another port
 * than MASTER_PORT. */
#ifndef COMMON_NET_ASK_H
#define COMMON_NET_ASK_H

#include "common/wire/master_proof.h"

/* Send a request and receive the reply.  token: MASTER_TOKEN_BYTES, or NULL for none; with a
 * token, the request is sent once more when the server asks for a proof.  Each step may take
 * 60 s; a signal ends the wait (cancel.h).  The caller looks at the reply's error.  ERR_USAGE:
 * with a token the name is too long; ERR_IO: the host has no address, or the server cannot be
 * reached or does not answer; ERR_FORMAT: the answer is not one of a master server. */
int ask_get(const char *master, const struct master_get *, const uint8_t *token,
    struct master_get_reply *, struct err *);
int ask_put(const char *master, const struct master_put *, const uint8_t *token,
    struct master_put_reply *, struct err *);
/* Does the reply say where the image is served, in the way that was asked for?  `method` is
 * MASTER_UNICAST or MASTER_MULTICAST.  ERR_UNSUPPORTED: it is served in another way; ERR_FORMAT: an
 * address of the reply is none of a host, or none of a group.  The sentence says what is wrong with
 * the answer. */
int ask_check_place(const struct master_get_reply *, enum master_method method, struct err *);
/* Read a token for ask_get() and ask_put() from a file that imagekey made.  The caller wipes the
 * token after use.  Errors of keyfile.h. */
int ask_read_token(const char *path, uint8_t token[MASTER_TOKEN_BYTES], struct err *);
/* Receive the verdict about an upload, after the last byte of the image was sent to `fd`.  1: the
 * image was taken; 0: the server closes the connection and sends no verdict, as original servers do;
 * -1: the image was refused (ERR_REFUSED, with the reason), a signal came (ERR_CANCELLED), the
 * connection broke or the server was silent for an hour (ERR_IO), or what came is no whole verdict
 * (ERR_FORMAT). */
int ask_verdict(int fd, struct err *);
/* Connect to the address and TCP port that a reply to PUT names, for the bytes of an image.  The
 * caller closes *fd, which does not block.  ERR_FORMAT: the address is none of a host; ERR_IO;
 * ERR_CANCELLED. */
int ask_connect(const uint8_t addr[4], uint16_t port, int *fd, struct err *);

#endif /* COMMON_NET_ASK_H */
