/* challenge.h: challenges that clients answer to prove that they have a token.  The server
 * does not remember them: a challenge contains the time at which it was made, and is
 * authenticated with a secret of this run and the address of the client. */
#ifndef MFRISBEED_MASTER_CHALLENGE_H
#define MFRISBEED_MASTER_CHALLENGE_H

#include "common/wire/master_proof.h"

enum { CHALLENGE_SECRET_BYTES = 32 };

struct challenge {
	uint8_t secret[CHALLENGE_SECRET_BYTES];
};

/* Draws a new secret. */
void challenge_init(struct challenge *);
/* Makes a challenge for the client with this address.  now_us: the time of clock_us(). */
void challenge_make(const struct challenge *, uint64_t now_us, const uint8_t from[4],
    uint8_t out[MASTER_CHALLENGE_BYTES]);
/* Was the challenge made for this address, not longer than a minute ago? */
bool challenge_holds(const struct challenge *, uint64_t now_us, const uint8_t from[4],
    const uint8_t in[MASTER_CHALLENGE_BYTES]);

#endif /* MFRISBEED_MASTER_CHALLENGE_H */
