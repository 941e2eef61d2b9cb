/* server_interleave.h: whether chunks are to be sent in turns, a set of them at once.
 *
 * What is lost in one long burst is lost by one chunk, and the parity that mends it is
 * sent for this one client.  When a set of chunks takes turns, the burst is spread over
 * all of them, and the worst client of each lacks not much more than the mean.
 * A burst is known by what a report says: all groups lack about the same, while
 * losses one by one differ from group to group.
 *
 * Only server_interleave.c writes struct server_sets.
 */
#ifndef FRISBEED_SERVER_SERVER_INTERLEAVE_H
#define FRISBEED_SERVER_SERVER_INTERLEAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

struct server_sets {
	bool on;
	double bursts;    /* share of the reports lately that tell of them */
	uint8_t heard[4]; /* the address whose report was heard last */
};

/* A report from this address says how much of each group of a chunk is lacking; several
 * addresses may report.  True: it is another answer now. */
bool server_sets_hear(struct server_sets *, const uint8_t ip[4], bool several,
    const uint8_t lack[WIREXT_GROUPS]);

#endif /* FRISBEED_SERVER_SERVER_INTERLEAVE_H */
