/* client_membership.h: whether there is a server: joining it, hearing it, leaving
 * it; and which image it serves.  What a server with the extension announces about
 * its session is in client_session.h. */
#ifndef FRISBEE_CLIENT_CLIENT_MEMBERSHIP_H
#define FRISBEE_CLIENT_CLIENT_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "frisbee/client/client.h"

/* Only client_membership.c writes it. */
struct client_membership {
	enum client_state state;
	char error[160]; /* why the load has failed; "": it has not */
	uint64_t start_us;
	uint64_t heard_us; /* the last packet of the server */
	uint64_t complete_us; /* when the last chunk arrived, or the server was last
	                         told so */

	uint64_t joined_us;  /* when JOIN was last sent */
	uint64_t join_at_us; /* when it is to be sent next */
	bool join_again;     /* send JOIN although loading: the server may not know this
	                        client */
	uint64_t cookie;     /* the cookie of a unicast server; 0: not known */

	uint32_t images; /* how often loading has begun */
	uint32_t blocks; /* the blocks of the image; 0: it is not known */
	uint64_t bytes;

	bool starved; /* no chunk buffer has been free since the server was last told so
	               */
	bool whole;   /* what the server is told at the end: whether the image is
	                 installed */
	bool leave_pending; /* LEAVE2 is to be sent */
};

/* Begin: the first JOIN is sent after the start delay. */
void client_membership_begin(
    struct client_membership *, uint64_t now_us, uint64_t start_delay_us);
/* A packet of the server arrived, or nothing was requested from it until now. */
void client_membership_heard(struct client_membership *, uint64_t now_us);
/* When the server will have been silent for silence_us.  With 0 there is no limit.
 * UINT64_MAX: the client does not wait for the server, so it does not give up. */
uint64_t client_membership_silent_at_us(
    const struct client_membership *, uint64_t silence_us, bool waits);
void client_membership_give_up(struct client_membership *, uint64_t silence_us);
/* The server cannot be used; `why` is the sentence that says so. */
void client_membership_refuse(struct client_membership *, const char *why);

/* JOIN is sent now, and next after this delay. */
void client_membership_joins(
    struct client_membership *, uint64_t now_us, uint64_t delay_us);
/* JOIN is sent next at this time. */
void client_membership_join_at(struct client_membership *, uint64_t at_us);
/* The load began with the answer of another sender, so JOIN is sent to the server
 * itself at once. */
void client_membership_join_again(struct client_membership *);
/* The server expects this cookie.  While joining, a JOIN with it is sent at once. */
void client_membership_cookie(
    struct client_membership *, uint64_t now_us, uint64_t cookie);

/* The server answers; this is the length of its image.  Was the answer meant for another
 * client?  Only a fresh JOIN of ours is known to have come before it. */
void client_membership_answered(
    struct client_membership *, uint64_t now_us, uint32_t blocks, uint64_t bytes);
bool client_membership_is_fresh(const struct client_membership *, uint64_t now_us);
/* Loading begins. */
void client_membership_load(struct client_membership *);
/* All chunks are taken, or one is needed again. */
void client_membership_complete(struct client_membership *);
void client_membership_goes_on(struct client_membership *);
/* The image is forgotten. */
void client_membership_forget_image(struct client_membership *);
/* The number of blocks of this chunk: fewer than others have at the end of a file. */
uint32_t client_membership_chunk_blocks(
    const struct client_membership *, uint32_t chunk);

/* No buffer was free, or (false) the server has been told so. */
void client_membership_starved(struct client_membership *, bool starved);
void client_membership_told(struct client_membership *);
/* When a client that has received everything and is still writing tells the server;
 * UINT64_MAX: never. */
uint64_t client_membership_flushing_at_us(const struct client_membership *);
void client_membership_flushing(struct client_membership *, uint64_t now_us);

/* The client leaves: note what it reports about the image, that LEAVE2 is to be
 * sent, and that it was sent. */
void client_membership_outcome(struct client_membership *, bool whole);
void client_membership_leave(struct client_membership *);
void client_membership_left(struct client_membership *);

#endif /* FRISBEE_CLIENT_CLIENT_MEMBERSHIP_H */
