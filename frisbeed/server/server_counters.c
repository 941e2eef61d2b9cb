/* server_counters.c: what a session has counted.  The files of the server's engine call
 * server_count() when something happens that is counted, in the engine's only thread. */
#include "frisbeed/server/server_counters.h"

uint64_t
server_count(struct server_counters *c, enum server_counter which, uint64_t more)
{
	c->n[which] += more;
	return c->n[which];
}
