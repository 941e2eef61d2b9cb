/* client_claim.h: what may end a load.
 *
 * A claim is a message of the pinned sender that would end the load: another image, a file
 * that was changed.  One packet with a forged address can say so.  A claim is believed
 * when it is repeated for a second in which nothing speaks for the image that was begun,
 * though the client asks the server by JOIN all the time.
 */
#ifndef FRISBEE_CLIENT_CLIENT_CLAIM_H
#define FRISBEE_CLIENT_CLIENT_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only client_claim.c writes it. */
struct client_claim {
	const char *why;    /* what is claimed; NULL: nothing is */
	uint8_t addr[4];    /* who claims it */
	uint64_t since_us;  /* when it was claimed for the first time */
	uint64_t last_us;   /* when it was claimed last */
	uint64_t ask_us;    /* when the server is to be asked about it */
	bool denied;        /* a claim has been contradicted */
	uint64_t denied_us; /* when this last happened */
};

#define CLIENT_OTHER_IMAGE "has another image now than the one that was begun"

/* The pinned sender, or while joining any sender, says that the load is impossible.
 * `why` is a constant, the end of a sentence that begins with the address.  Returns
 * true if the claim is confirmed. */
bool client_claim_hear(struct client_claim *, uint64_t now_us, const uint8_t from[4],
    const char *why, bool joining);
/* A packet contradicts the claim. */
void client_claim_deny(struct client_claim *, uint64_t now_us);
/* Another sender is pinned, so the claim does not matter any more. */
void client_claim_forget(struct client_claim *);
/* Is something claimed that is neither believed nor contradicted yet? */
bool client_claim_pends(const struct client_claim *);
/* When the server is to be asked by JOIN; UINT64_MAX: nothing is claimed. */
uint64_t client_claim_ask_at_us(const struct client_claim *);
/* Is the server to be asked now?  If so, it is asked again later.  A claim that was
 * not repeated for long is forgotten. */
bool client_claim_asks(struct client_claim *, uint64_t now_us);
/* The sentence: address and claim.  Returns text[cap]. */
const char *client_claim_text(const struct client_claim *, char *text, size_t cap);

#endif /* FRISBEE_CLIENT_CLIENT_CLAIM_H */
