/* client_requests.h: what is asked for by requests of the base protocol, and when.
 *
 * `readahead` chunks are kept queued at the server, counting those that others were heard to ask
 * for.  What was lost is asked for again; what was asked and does not come is repeated after
 * the redo delay, or when nothing came for idle_ticks ticks, and then ever more rarely until a
 * block comes.  With the extension this policy asks only for what the server is to send before
 * all else.  Source: the protocol specification, section 5; the Frisbee paper, section 4.3.2.
 */
#ifndef FRISBEE_CLIENT_CLIENT_REQUESTS_H
#define FRISBEE_CLIENT_CLIENT_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/blockmap.h"

struct client;
struct client_config;

/* Only client_requests.c writes it. */
struct client_requests {
	uint64_t tick_us, redo_us; /* as configured */
	uint32_t idle_ticks, most_backlog;
	uint64_t
	    idle_from_us; /* the last sign of life of the server, or of a request */
	uint32_t backoff_ticks; /* silence is noticed this much later, after silences */
	uint64_t ahead_at_us;   /* ask ahead not before; 0: it was not needed so far */
	uint64_t first_at_us;   /* the same of chunk 0 */
	uint32_t backlog;       /* ask ahead when fewer blocks than this are to come */
	uint64_t after;         /* ask when this many have come; 0: no matter */
	uint64_t crowd_until_us; /* other clients are there, */
	uint64_t old_until_us;   /* and some that ask for whole chunks one by one */
};

void client_requests_begin(struct client_requests *, const struct client_config *);
/* An image is loaded. */
void client_requests_begin_image(struct client_requests *, uint64_t now_us);

/* What happened: another client is there, and may ask for whole chunks; there was a sign of
 * life; a block came, which is one too; of the blocks that came, one was of use (true: it is
 * time to ask); a pass ended that lost this many blocks; there was a silence. */
void client_requests_crowd(struct client_requests *, uint64_t now_us);
void client_requests_old_client(struct client_requests *, uint64_t now_us);
void client_requests_alive(struct client_requests *, uint64_t now_us);
void client_requests_block(struct client_requests *, uint64_t now_us);
bool client_requests_counts(struct client_requests *);
void client_requests_lost(struct client_requests *, uint32_t lost);
void client_requests_silence(struct client_requests *, uint64_t now_us);

/* When silence is too long. */
uint64_t client_requests_idle_at_us(const struct client_requests *);
/* A request this old is repeated; UINT64_MAX: after a silence, only another one is a reason. */
uint64_t client_requests_redo_us(const struct client_requests *);

/* Another client asked for these blocks. */
void client_requests_hear(
    struct client *, uint64_t now_us, uint32_t chunk, const struct blockmap *);
/* How long to hold a request back, lest everybody speaks at once. */
uint64_t client_jitter_us(struct client *, uint64_t now_us);
/* A request for these blocks of a chunk. */
size_t client_ask(struct client *, uint64_t now_us, uint32_t chunk,
    const struct blockmap *, void *pkt);
/* A request when it is time for one, or 0: for what chunks lack (with parity, only of those of
 * which client_asks_blocks() is true); for a chunk that has not begun; for chunk 0, when
 * others wait for it and the server is elsewhere. */
size_t client_requests_say_missing(struct client *, uint64_t now_us, void *pkt);
size_t client_requests_say_ahead(struct client *, uint64_t now_us, void *pkt);
size_t client_requests_say_first(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_REQUESTS_H */
