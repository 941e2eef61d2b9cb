/* neighbour.h: finds out whether another server already serves the group and port of a
 * session. */
#ifndef FRISBEED_SERVE_NEIGHBOUR_H
#define FRISBEED_SERVE_NEIGHBOUR_H

#include "frisbeed/serve/session.h"

/* Asks on the sockets of all n sessions, for a quarter of a second in all.  A session that
 * gets an answer fails (os EADDRINUSE), with the other server's address in its error. 
 * Sessions that serve a single address do not ask.  ERR_IO; ERR_CANCELLED. */
int neighbour_look(struct session **, unsigned n, struct err *);

#endif /* FRISBEED_SERVE_NEIGHBOUR_H */
