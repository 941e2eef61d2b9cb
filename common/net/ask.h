/* ask.h: ask a master server, as a client. */
#ifndef COMMON_NET_ASK_H
#define COMMON_NET_ASK_H

#include "common/wire/master_proof.h"

/* Where a master is: a name or an address, and "HOST:PORT" for another port than MASTER_PORT. */

/* One request, one reply; with a token (MASTER_TOKEN_BYTES; NULL: none) once more, when the server wants it
 * proved.  Waits at most 60 s for each step; a signal ends it (cancel.h).  The reply's
 * error is for the caller to look at.  ERR_USAGE: the host has no address; ERR_IO: it cannot be
 * reached, or does not answer; ERR_FORMAT: it answers with something else. */
int ask_get(const char *master, const struct master_get *, const uint8_t *token,
    struct master_get_reply *, struct err *);
int ask_put(const char *master, const struct master_put *, const uint8_t *token,
    struct master_put_reply *, struct err *);
/* Read a token for these from a file that imagekey made.  Errors of keyfile.h.  Wipe it after use. */
int ask_read_token(const char *path, uint8_t token[MASTER_TOKEN_BYTES], struct err *);
/* After the last byte of an image was sent to `fd`: what has become of it.  1: it was taken; 0: the server
 * says nothing about it, as original ones do; -1: it was refused (ERR_REFUSED, with the reason). */
int ask_verdict(int fd, struct err *);
/* A connection to the place that a reply to PUT names, for the bytes of an image. */
int ask_connect(const uint8_t addr[4], uint16_t port, int *fd, struct err *);

#endif /* COMMON_NET_ASK_H */
