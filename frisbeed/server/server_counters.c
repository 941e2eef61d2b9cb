/* server_counters.c: what a session has counted.  All files of the server's engine count
 * here, each where a thing happens. */
#include "frisbeed/server/server_counters.h"

uint64_t
server_count(struct server_counters *c, enum server_counter which, uint64_t more)
{
	c->n[which] += more;
	return c->n[which];
}
