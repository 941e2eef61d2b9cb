/* client_requests.h: what is requested in the base protocol, and when.
 *
 * `readahead` chunks are kept queued at the server, including those that other clients
 * were heard to request.  Lost blocks are requested again.  A request without effect is
 * repeated after the redo delay, or when nothing arrived for idle_ticks ticks, and then
 * ever more rarely until a block arrives.  With the extension, this policy requests
 * only what the server is to send before everything else.  Source: the protocol
 * specification, section 5; the Frisbee paper, section 4.3.2.
 */
#ifndef FRISBEE_CLIENT_CLIENT_REQUESTS_H
#define FRISBEE_CLIENT_CLIENT_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/blockmap.h"

struct client;
struct client_config;

/* Packets that bring nothing, as a neighbour repeats them, put off what is asked for no
 * longer than this: as long as a request is waited for whose place in the server's queue is
 * not known, with the usual redo delay; a server sends a chunk in this time at 2 Mbit/s. */
enum { CLIENT_PATIENCE_US = 4000000 };

/* Only client_requests.c writes it. */
struct client_requests {
	uint64_t tick_us, redo_us; /* as configured */
	uint32_t idle_ticks, most_backlog;
	uint64_t idle_from_us;  /* the last packet of the server, or the last request */
	uint64_t moved_us;      /* as client_requests_moved() and _alive() noted */
	uint32_t backoff_ticks; /* how much later silence is noticed, after earlier
	                           silences */
	uint64_t ahead_at_us;   /* the earliest time to request chunks ahead; 0: it was
	                           not needed so far */
	uint64_t first_at_us;   /* the earliest time to request chunk 0; 0: as above */
	uint32_t
	    backlog; /* request chunks ahead when fewer blocks than this are to come */
	uint64_t after; /* request when this many blocks have arrived; 0: no limit */
	uint64_t crowd_until_us; /* until then other clients count as being there */
	uint64_t
	    old_until_us; /* until then, clients that request whole chunks one by one */
};

void client_requests_begin(struct client_requests *, const struct client_config *);
/* An image is loaded. */
void client_requests_begin_image(struct client_requests *, uint64_t now_us);

/* Events: another client is there, and may request whole chunks; the server showed a
 * sign of life; a block arrived, which is one, too; a block that arrived was needed
 * (returns true if it is time to send a request); a pass ended that lost this many
 * blocks; there was a silence. */
void client_requests_crowd(struct client_requests *, uint64_t now_us);
void client_requests_old_client(struct client_requests *, uint64_t now_us);
void client_requests_alive(struct client_requests *, uint64_t now_us);
/* Something that was lacking came, was asked for, or became lacking, or the server went on
 * in its queue. */
void client_requests_moved(struct client_requests *, uint64_t now_us);
void client_requests_block(struct client_requests *, uint64_t now_us);
bool client_requests_counts(struct client_requests *);
void client_requests_lost(struct client_requests *, uint32_t lost);
void client_requests_silence(struct client_requests *, uint64_t now_us);

/* When packets that bring nothing have put off requests for too long. */
uint64_t client_requests_stuck_at_us(const struct client_requests *);
/* When the silence will be too long. */
uint64_t client_requests_idle_at_us(const struct client_requests *);
/* The age at which a request is repeated; UINT64_MAX: after a silence, only the next
 * silence is a reason. */
uint64_t client_requests_redo_us(const struct client_requests *);

/* Another client requested these blocks. */
void client_requests_hear(
    struct client *, uint64_t now_us, uint32_t chunk, const struct blockmap *);
/* For how long to hold a request back, so that not all clients send theirs at once. */
uint64_t client_jitter_us(struct client *, uint64_t now_us);
/* A request for these blocks of a chunk. */
size_t client_ask(struct client *, uint64_t now_us, uint32_t chunk,
    const struct blockmap *, void *pkt);
/* Put a request into pkt if it is time for one, and return its length, or 0.  The
 * three functions request what chunks lack (with parity, only of those for which
 * client_asks_blocks() is true); a chunk that has not begun; and chunk 0, when
 * others wait for it and the server is elsewhere. */
size_t client_requests_say_missing(struct client *, uint64_t now_us, void *pkt);
size_t client_requests_say_ahead(struct client *, uint64_t now_us, void *pkt);
size_t client_requests_say_first(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_REQUESTS_H */
