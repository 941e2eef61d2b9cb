/* taken.h: the sentence about a port that a socket cannot have. */
#ifndef COMMON_NET_TAKEN_H
#define COMMON_NET_TAKEN_H

#include <errno.h>

#include "common/base/err.h"

/* ERR_IO with errno: bind(2) or listen(2) has refused `what`, as "TCP port 5101".  cli_main() adds the
 * option that chooses another one.  Returns -1. */
static inline int
taken_say(struct err *e, const char *what)
{
	if (errno != EADDRINUSE)
		return err_os(e, "%s", what);
	err_set(e, ERR_IO, "%s is taken by another program", what);
	e->os = EADDRINUSE;
	return -1;
}

#endif /* COMMON_NET_TAKEN_H */
