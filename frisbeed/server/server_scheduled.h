/* server_scheduled.h: which chunks were given out since a client has joined.
 *
 * Clients that join while nothing is sent between them join in the same turn: what one
 * of them is sent, the others are sent, too.  A new turn begins with the first client
 * that joins after something of the image has changed, that is, after a chunk was given
 * out or sent.  Such a client lacks no more than what the last turn's clients wanted and
 * what has changed since then, so a crowd that joins does not make the server walk the
 * whole image each time.
 *
 * Only server_scheduled.c writes struct server_given.
 */
#ifndef FRISBEED_SERVER_SERVER_SCHEDULED_H
#define FRISBEED_SERVER_SERVER_SCHEDULED_H

#include <stdbool.h>
#include <stdint.h>

/* Changed chunks that are told apart.  With more of them, all chunks count as changed: a
 * client that joins in the middle of a session lacks most of the image anyway. */
enum { SERVER_GIVEN_CHANGED = 32 };

struct server_given {
	uint32_t nchunks;
	uint32_t turn;     /* of joins; 0: nobody has joined yet */
	uint32_t *in_turn; /* by chunk: the turn in which it was last given out; 0: never */
	bool many;         /* all chunks have changed; else these: */
	uint32_t n, changed[SERVER_GIVEN_CHANGED];
};

/* -1: no memory; server_given_fini() also then.  At first all chunks have changed. */
int server_given_init(struct server_given *, uint32_t nchunks);
void server_given_fini(struct server_given *);
/* A client joins: the turn in which it does. */
uint32_t server_given_join(struct server_given *);
/* All that anybody wants of the chunk is given out. */
void server_given_out(struct server_given *, uint32_t chunk);
/* Has that happened in this turn, or in a later one? */
bool server_given_since(const struct server_given *, uint32_t chunk, uint32_t turn);
/* A block of the chunk was given out or sent. */
void server_given_changed(struct server_given *, uint32_t chunk);
/* The i-th chunk (from 0 on) that has changed; false: fewer have. */
bool server_given_each(const struct server_given *, uint32_t i, uint32_t *chunk);
/* All of these are wanted now: none has changed any more. */
void server_given_settle(struct server_given *);

#endif /* FRISBEED_SERVER_SERVER_SCHEDULED_H */
