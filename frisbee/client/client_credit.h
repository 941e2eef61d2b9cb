/* client_credit.h: how many blocks the server may send: the credit that clients grant it.
 *
 * A server with the extension sends as many blocks as anybody said that it can take (CREDIT, or
 * CREDIT_AT without a pace), so it is told in time how many more.  This policy decides when, and
 * how many.  A server without a pace sends at once what it is granted, so the credit is a
 * window then, which shrinks when a pass loses much.
 */
#ifndef FRISBEE_CLIENT_CLIENT_CREDIT_H
#define FRISBEE_CLIENT_CLIENT_CREDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only client_credit.c writes it.  Blocks are counted as struct client_position does. */
struct client_credit {
	uint64_t
	    granted; /* the server sends until this many blocks have come, as it was told */
	uint64_t more_at; /* it is to be told more when this many have come */
	uint64_t at_us;   /* a message is held back until then; 0: none is */
	uint64_t
	    seen_us; /* the last block, or the last time that somebody granted more */
	uint32_t tries; /* grants since the last block */
	/* Unpaced server: it may have this many blocks in flight, and the window is not cut
	 * again until cut_till blocks have come. */
	uint32_t window;
	uint64_t cut_till;
};

struct client;

/* A server with the extension begins to send. */
void client_credit_begin(struct client_credit *, uint64_t now_us, bool unpaced);
/* The image is forgotten; or the server was started anew and knows of no grant. */
void client_credit_forget(struct client_credit *);
void client_credit_new_session(struct client_credit *, uint64_t received);
/* Blocks or parity came, of use or not: this many in all.  True: it is time to say more. */
bool client_credit_came(struct client_credit *, uint64_t now_us, uint64_t received);
/* Somebody granted this many blocks (0: the message only says how far its sender is). */
void client_credit_granted(struct client_credit *, uint64_t now_us, uint64_t received,
    uint32_t blocks, bool unpaced);
/* A pass has ended that lost this many blocks. */
void client_credit_lost(struct client_credit *, uint64_t received, uint32_t lost);
/* A grant when it is time for one, or 0. */
size_t client_credit_say(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_CREDIT_H */
