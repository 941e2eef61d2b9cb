/* server_scheduled.h: which chunks were scheduled for sending since a client joined.
 *
 * Clients belong to the same cohort if nothing was scheduled or sent between their
 * joins: what one of them receives, all of them receive.  A new cohort begins with the
 * first client that joins after a chunk was scheduled or sent; such a chunk counts as
 * changed.  The client lacks at most what the last cohort wanted, and the chunks that
 * have changed since then.  So when a crowd joins, the server does not have to look at
 * all chunks for each client.
 *
 * Only server_scheduled.c writes struct server_scheduled.
 */
#ifndef FRISBEED_SERVER_SERVER_SCHEDULED_H
#define FRISBEED_SERVER_SERVER_SCHEDULED_H

#include <stdbool.h>
#include <stdint.h>

/* How many changed chunks are listed.  With more of them, all chunks count as changed:
 * a client that joins in the middle of a session lacks most of the image anyway. */
enum { SERVER_SCHEDULED_CHANGED = 32 };

struct server_scheduled {
	uint32_t nchunks;
	uint32_t cohort;     /* the last one; 0: nobody has joined yet */
	uint32_t *cohort_of; /* by chunk: the last cohort when it was last scheduled; 0:
	                        never */
	bool many; /* all chunks have changed; otherwise only those in `changed` */
	uint32_t n, changed[SERVER_SCHEDULED_CHANGED];
};

/* -1: no memory; server_scheduled_fini() also then.  At first all chunks have changed.
 */
int server_scheduled_init(struct server_scheduled *, uint32_t nchunks);
void server_scheduled_fini(struct server_scheduled *);
/* A client joins.  Returns the number of its cohort. */
uint32_t server_scheduled_join(struct server_scheduled *);
/* All blocks of the chunk that any client wants have been scheduled. */
void server_scheduled_add(struct server_scheduled *, uint32_t chunk);
/* Was the chunk scheduled while this cohort, or a later one, was the last one? */
bool server_scheduled_since(
    const struct server_scheduled *, uint32_t chunk, uint32_t cohort);
/* A block of the chunk was scheduled or sent. */
void server_scheduled_changed(struct server_scheduled *, uint32_t chunk);
/* *chunk is the i-th chunk (from 0 on) that has changed.  Returns false if fewer have.
 */
bool server_scheduled_each(
    const struct server_scheduled *, uint32_t i, uint32_t *chunk);
/* The carousel wants all changed chunks now, so from here on none counts as changed. */
void server_scheduled_settle(struct server_scheduled *);

#endif /* FRISBEED_SERVER_SERVER_SCHEDULED_H */
