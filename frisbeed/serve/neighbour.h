/* neighbour.h: does another server serve our group and port already? */
#ifndef FRISBEED_SERVE_NEIGHBOUR_H
#define FRISBEED_SERVE_NEIGHBOUR_H

#include "frisbeed/serve/session.h"

/* Ask on all sessions' sockets, for a quarter of a second in all; a session that is
 * answered fails (os EADDRINUSE), with the address in its error.  Those that serve a
 * single address are not asked.  ERR_IO. */
int neighbours_look(struct session **, unsigned n, struct err *);

#endif /* FRISBEED_SERVE_NEIGHBOUR_H */
