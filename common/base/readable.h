/* readable.h: opens a file that somebody has named, to read it. */
#ifndef COMMON_BASE_READABLE_H
#define COMMON_BASE_READABLE_H

#include "common/base/err.h"

/* Returns a descriptor, whose reads wait as usual.  -1: ERR_REFUSED: it is a named pipe, which is not opened:
 * a server would wait for who writes to it, perhaps for ever; ERR_IO.  The pipe of a shell, as in "<(...)" or
 * in front of /dev/stdin, is none, and a named pipe that is the standard input already is read, too. */
int readable_open(const char *path, struct err *);

#endif /* COMMON_BASE_READABLE_H */
