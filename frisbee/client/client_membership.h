/* client_membership.h: is there a server: joining it, hearing it, leaving it; and which image it
 * serves.  What a server with the extension says of its session is in client_session.h.
 */
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
	uint64_t
	    complete_us; /* when the last chunk came, or the server was told of it last */

	uint64_t joined_us;  /* when JOIN was said last */
	uint64_t join_at_us; /* when it is to be said next */
	bool join_again;     /* though loading: the server may not know this client */
	uint64_t cookie; /* of a server that answers this client alone; 0: not known */

	uint32_t images; /* how often loading has begun */
	uint32_t blocks; /* of the image; 0: there is none */
	uint64_t bytes;

	bool starved; /* no chunk buffer was free since the server was told last */
	bool whole;   /* what the server is told at the end: the image is installed */
	bool leave_pending; /* LEAVE2 is to be said */
};

/* JOIN is said first after the start delay. */
void client_membership_begin(
    struct client_membership *, uint64_t now_us, uint64_t start_delay_us);
/* A packet of the server came, or nobody asked it for anything until now. */
void client_membership_heard(struct client_membership *, uint64_t now_us);
/* When the server has been silent for silence_us (0: no matter how long), for which only a
 * client that waits for it gives up; UINT64_MAX: never. */
uint64_t client_membership_silent_at_us(
    const struct client_membership *, uint64_t silence_us, bool waits);
void client_membership_give_up(struct client_membership *, uint64_t silence_us);
/* The server cannot be used: why is a sentence. */
void client_membership_refuse(struct client_membership *, const char *why);

/* JOIN is said now, and next after this delay. */
void client_membership_joins(
    struct client_membership *, uint64_t now_us, uint64_t delay_us);
/* JOIN is said next at this time. */
void client_membership_join_at(struct client_membership *, uint64_t at_us);
/* Another sender's answer began the load: the server itself is to be joined at once. */
void client_membership_join_again(struct client_membership *);
/* The server wants this cookie back.  While joining, it gets a new one at once. */
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

/* No buffer was free; and the server was told. */
void client_membership_starved(struct client_membership *, bool starved);
void client_membership_told(struct client_membership *);
/* When a client that has everything but still writes says so; UINT64_MAX: it does not. */
uint64_t client_membership_flushing_at_us(const struct client_membership *);
void client_membership_flushing(struct client_membership *, uint64_t now_us);

/* The client leaves: what it says of the image, that LEAVE2 is due, that it was said. */
void client_membership_outcome(struct client_membership *, bool whole);
void client_membership_leave(struct client_membership *);
void client_membership_left(struct client_membership *);

#endif /* FRISBEE_CLIENT_CLIENT_MEMBERSHIP_H */
