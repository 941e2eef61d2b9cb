/* await.h: waiting for one socket that does not block, until a time is over or a signal came. */
#ifndef COMMON_NET_AWAIT_H
#define COMMON_NET_AWAIT_H

#include <stdint.h>

#include "common/base/err.h"

/* Waits until the socket is ready for `what` (POLLIN, POLLOUT), at most until the time end_us
 * (clock.h).  `late` is the sentence of the failure when nothing has come until then.  Returns
 * 0; ERR_CANCELLED when the thread's work is to end (cancel.h); ERR_IO. */
int await_socket(int fd, short what, uint64_t end_us, const char *late, struct err *);
/* Waits until connect(2), which was begun on the socket, has ended.  Errors as await_socket()'s;
 * ERR_IO is also that the connection was refused. */
int await_connection(int fd, uint64_t end_us, struct err *);

#endif /* COMMON_NET_AWAIT_H */
