/* local.h: connections to the sockets of programs on this machine. */
#ifndef STREAM_NBD_LOCAL_H
#define STREAM_NBD_LOCAL_H

#include "common/base/err.h"

/* Connect to the program that listens at this path.  Returns a descriptor that blocks, which the
 * caller closes, or -1.  ERR_ABSENT: nobody listens there; ERR_USAGE: the path is too long;
 * ERR_IO. */
int local_connect(const char *path, struct err *);

#endif /* STREAM_NBD_LOCAL_H */
