/* server_counters.h: what a session has counted of what was heard and sent.
 *
 * Parts that count for their own use (server_sent, server_members, rate, repair) keep
 * those counts; server_stats() puts all of them together.
 *
 * Only server_counters.c writes struct server_counters.
 */
#ifndef FRISBEED_SERVER_SERVER_COUNTERS_H
#define FRISBEED_SERVER_SERVER_COUNTERS_H

#include <stdint.h>

enum server_counter {
	/* Messages: of the base protocol, of the extension, and those that are neither.
	 */
	COUNT_JOINS,
	COUNT_LEAVES,
	COUNT_REQUESTS,
	COUNT_PREQUESTS,
	COUNT_WANTS,
	COUNT_NACKS,
	COUNT_CREDITS,
	COUNT_MTU_ACKS,
	COUNT_CONGESTIONS,
	COUNT_HEARS,
	COUNT_BAD_PACKETS,
	COUNT_OTHERS, /* of other servers */
	COUNT_URGENT, /* blocks that URGENTs added to those that wait to be sent */
	/* Blocks that requests asked for; those of them that came anyway; those in
	 * requests for less than a chunk. */
	COUNT_ASKED,
	COUNT_MERGED,
	COUNT_LOST,
	/* Packets of one or several blocks that were sent, and the bytes of all
	 * packets; blocks that were left out, since they are empty; clients that were
	 * forgotten. */
	COUNT_DATA_PACKETS,
	COUNT_BYTES,
	COUNT_LEFT_OUT,
	COUNT_FORGOTTEN,
	SERVER_COUNTERS
};

struct server_counters {
	uint64_t n[SERVER_COUNTERS];
};

/* Add `more` to a counter, and return its new value. */
uint64_t server_count(struct server_counters *, enum server_counter, uint64_t more);

#endif /* FRISBEED_SERVER_SERVER_COUNTERS_H */
