/* client_nack.h: the messages by which a client says what it lacks, unless another
 * client has said so.
 *
 * With the extension, chunks are not requested one by one: the server sends what any
 * client wants, and announces which chunks it will send.  A client that lacks something
 * that will not come waits for a random time, in which another client may send the
 * same.  It then sends a NACK, which says how many blocks of each group of a chunk are
 * missing and is answered by parity, or a WANT for whole chunks.
 */
#ifndef FRISBEE_CLIENT_CLIENT_NACK_H
#define FRISBEE_CLIENT_CLIENT_NACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/wirext.h"
#include "frisbee/client/client_bufs.h"
#include "frisbee/client/client_heed.h"

/* Only client_nack.c writes it. */
struct client_nack {
	uint8_t *
	    coming; /* a bit for each chunk: the server will send it; NULL: not known */
	uint32_t chunks;
	bool look;     /* a chunk may be missing that will not come */
	bool want_all; /* no WANT was sent yet */
	uint64_t want_at_us,
	    report_at_us;   /* until when a message is held back; 0: there is none */
	uint32_t most_lack; /* the most blocks that a NACK of others named; slowly
	                       forgotten */
	/* A chunk that is lacking, would not come, and was wanted by others; UINT32_MAX: none.
	 * The server sends it soon, or announces that it will. */
	uint32_t wanted;
	uint64_t wanted_us;
	client_addresses wanters;
};

struct client;

/* An image of this number of chunks.  all_come: joining wants them all, and they come; else
 * the client says what it wants, want_all: everything at once.  False: no memory. */
bool client_nack_begin(
    struct client_nack *, uint32_t chunks, bool all_come, bool want_all);
/* The image is forgotten. */
void client_nack_forget(struct client_nack *);
/* Something happened after which a chunk may be missing that will not come. */
void client_nack_look(struct client_nack *);
/* Assume that no chunk will come any more. */
void client_nack_nothing_comes(struct client_nack *);
/* The server, or a client that wants it, has said that this chunk will come, or that
 * it will not. */
void client_nack_set_coming(struct client_nack *, uint32_t chunk, bool coming);
/* Will this chunk come? */
static inline bool
client_nack_coming(const struct client_nack *k, uint32_t chunk)
{
	return (k->coming[chunk / 8] >> chunk % 8 & 1) != 0;
}
/* The server has nothing to send any more, and answers soon: for how long a NACK is held back
 * is drawn anew. */
void client_nack_server_is_idle(struct client_nack *);

/* Forget what NACKs have said about a chunk; or (answered) only that there were
 * some, because the server has answered. */
void client_nacked_forget(struct client_nacked *);
void client_nacked_unanswered(struct client_nacked *);

/* The server begins to send this chunk. */
void client_nack_pass_begins(struct client_nack *, uint32_t chunk);
/* The server has announced for these chunks whether they will come.  If it neither sends nor
 * announces a chunk that others want, these addresses are ignored for some time. */
void client_nack_hear_state(
    struct client *, uint64_t now_us, const struct wirext_map *);
/* A WANT or a NACK of another client arrived. */
void client_nack_hear_want(
    struct client *, uint64_t now_us, const struct wirext_msg *);
void client_nack_hear_reports(
    struct client *, uint64_t now_us, const struct wirext_msg *);
/* Put a message into pkt if it is time for one.  Returns its length, or 0. */
size_t client_nack_say_report(struct client *, uint64_t now_us, void *pkt);
size_t client_nack_say_want(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_NACK_H */
