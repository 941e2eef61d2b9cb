/* server_life.h: when a session begins to send, and when it ends.
 *
 * It begins when as many clients have joined as it waits for, and a moment after the
 * first of them, so that clients that join together miss nothing.  With -T it ends a
 * certain time after the last request, or after the last client has left.
 *
 * Only server_life.c writes struct server_life.
 */
#ifndef FRISBEED_SERVER_SERVER_LIFE_H
#define FRISBEED_SERVER_SERVER_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct server_life {
	int64_t idle_us;       /* as in struct server_config */
	uint64_t linger_us;    /* as there, but never 0 */
	uint32_t wait_clients; /* as there, too */
	bool begun;            /* wait_clients have been there at the same time */
	bool served;           /* a client has done more than join and leave */
	uint64_t begin_us;     /* no block is sent before */
	uint64_t asked_us;     /* the last request or JOIN */
	uint64_t joined_us;    /* when a client last joined */
	uint64_t left_us;      /* when a client last left or was forgotten */
};

void server_life_init(struct server_life *, int64_t idle_us, uint64_t linger_us,
    uint32_t wait_clients, uint64_t now_us);
/* A client has joined. */
void server_life_joined(struct server_life *, uint64_t now_us);
/* The number of clients has changed to this. */
void server_life_count(struct server_life *, uint32_t clients);
/* A client has joined while nothing was wanted, so the first block waits for other
 * clients. blocks_per_s: the highest rate; 0: there is none. */
void server_life_await(struct server_life *, uint64_t now_us, double blocks_per_s);
/* A client has joined, or sent a message that requests blocks. */
void server_life_asked(struct server_life *, uint64_t now_us);
/* A client has done more than join and leave. */
void server_life_served(struct server_life *);
void server_life_left(struct server_life *, uint64_t now_us);
/* When blocks may be sent; UINT64_MAX: not before more clients join. */
uint64_t server_life_begins_us(const struct server_life *);
/* When the session ends if nothing is heard until then and nothing is to be sent;
 * UINT64_MAX: never. clients: how many are there. */
uint64_t server_life_ends_us(const struct server_life *, uint32_t clients);
/* The first millisecond from which the client that joined last receives all that is
 * sent. */
uint32_t server_life_ready_ms(const struct server_life *);

#endif /* FRISBEED_SERVER_SERVER_LIFE_H */
