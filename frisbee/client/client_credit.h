/* client_credit.h: how many blocks the server may send: the credit that clients grant.
 *
 * A server with the extension sends as many blocks as any client has granted (by
 * CREDIT, or by CREDIT_AT in an unpaced session), so clients must grant more in time.
 * This policy decides when, and how many.  An unpaced server sends at once what it is
 * granted, so the credit is a window then, which shrinks when a pass loses much.
 */
#ifndef FRISBEE_CLIENT_CLIENT_CREDIT_H
#define FRISBEE_CLIENT_CLIENT_CREDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frisbee/client/client_heed.h"

/* Only client_credit.c writes it.  Blocks are counted as struct client_position does. */
struct client_credit {
	uint64_t granted; /* the server sends until this many blocks have arrived,
	                     according to the grants */
	uint64_t more_at; /* more is to be granted when this many have arrived */
	uint64_t at_us;   /* until when a message is held back; 0: there is none */
	uint64_t seen_us; /* the last block, or the last grant of any client */
	uint32_t tries; /* grants that this client has repeated since the last block */
	uint64_t came_us; /* the last block */
	/* granted as it was before promised_us, and at least 30 ms before that. */
	uint64_t promised, promised_before, promised_us;
	client_addresses granters; /* others that have granted what is still to come */
	client_addresses suspects; /* the granters when the server last said that it waits */
	/* Unpaced server: it may have this many blocks in flight, and the window is not cut
	 * again until cut_till blocks have come. */
	uint32_t window;
	uint64_t cut_till;
};

struct client;

/* A server with the extension begins to send. */
void client_credit_begin(struct client_credit *, uint64_t now_us, bool unpaced);
/* The image is forgotten (client_credit_forget()); or the server was restarted and
 * knows of no grant. */
void client_credit_forget(struct client_credit *);
void client_credit_new_session(struct client_credit *, uint64_t received);
/* Blocks or parity arrived, needed or not; `received` is their number so far.
 * Returns true if it is time to grant more. */
bool client_credit_came(struct client_credit *, uint64_t now_us, uint64_t received);
/* A client granted this many blocks (0: its message only says how far it has got). */
void client_credit_granted(struct client_credit *, uint64_t now_us, uint64_t received,
    uint32_t blocks, bool unpaced);
/* Another client, with this address, granted this many blocks. */
void client_credit_heard(struct client_credit *, uint64_t now_us, uint64_t received,
    uint32_t blocks, bool unpaced, const uint8_t from[4]);
/* The server says that it waits for credit.  When this client grants nothing, because
 * according to earlier grants many blocks are still to come, then blocks were lost, or
 * the server has not received the grants of others, or does not act on them.  What was
 * granted is forgotten, and addresses whose grants counted twice in a row are ignored for
 * some time. */
void client_credit_held(struct client *, uint64_t now_us);
/* A pass has ended that lost this many blocks. */
void client_credit_lost(struct client_credit *, uint64_t received, uint32_t lost);
/* Put a grant into pkt if it is time for one.  Returns its length, or 0. */
size_t client_credit_say(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_CREDIT_H */
