/* client_nack.h: what a client says that it lacks, unless another one said it.
 *
 * With the extension chunks are not asked for one by one: the server sends what anybody wants,
 * and says which chunks still come.  A client that lacks something that does not come says so,
 * after a random time in which another may say it first: how many blocks of each group of a
 * chunk (NACK), for which parity comes, or whole chunks (WANT).
 */
#ifndef FRISBEE_CLIENT_CLIENT_NACK_H
#define FRISBEE_CLIENT_CLIENT_NACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/wirext.h"
#include "frisbee/client/client_bufs.h"

/* Only client_nack.c writes it. */
struct client_nack {
	uint8_t *
	    coming; /* a bit for each chunk: the server will send it; NULL: not known */
	uint32_t chunks;
	bool look;     /* a chunk may be lacking that does not come */
	bool want_all; /* nothing was said to be wanted yet */
	uint64_t want_at_us, report_at_us; /* held back until then; 0: nothing is */
	uint32_t most_lack; /* blocks in any report that was heard; slowly forgotten */
};

struct client;

/* An image of this number of chunks.  all_come: joining wants them all, and they come; else
 * the client says what it wants, want_all: everything at once.  False: no memory. */
bool client_nack_begin(
    struct client_nack *, uint32_t chunks, bool all_come, bool want_all);
/* The image is forgotten. */
void client_nack_forget(struct client_nack *);
/* Something happened after which a chunk may be lacking that does not come. */
void client_nack_look(struct client_nack *);
/* Nothing is believed to come any more. */
void client_nack_nothing_comes(struct client_nack *);
/* The server, or a client that wants it, says that this chunk will come, or that it will not. */
void client_nack_set_coming(struct client_nack *, uint32_t chunk, bool coming);
/* Will it? */
static inline bool
client_nack_coming(const struct client_nack *k, uint32_t chunk)
{
	return (k->coming[chunk / 8] >> chunk % 8 & 1) != 0;
}
/* The server has said of these chunks whether they come. */
void client_nack_hear_state(struct client_nack *, const struct wirext_map *);

/* Forget what was reported of a chunk; or only that it was, since the server has answered. */
void client_nacked_forget(struct client_nacked *);
void client_nacked_unanswered(struct client_nacked *);

/* Another client says what it wants, or lacks. */
void client_nack_hear_want(struct client *, const struct wirext_map *);
void client_nack_hear_reports(
    struct client *, uint64_t now_us, const struct wirext_msg *);
/* A message when it is time for one, or 0. */
size_t client_nack_say_report(struct client *, uint64_t now_us, void *pkt);
size_t client_nack_say_want(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_NACK_H */
