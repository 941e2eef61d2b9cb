/* challenge.h: challenges that clients with a token answer.  The server remembers none of them: each says
 * when and to which address it was given, and is authenticated with a secret of this run. */
#ifndef MFRISBEED_MASTER_CHALLENGE_H
#define MFRISBEED_MASTER_CHALLENGE_H

#include "common/wire/master_proof.h"

enum { CHALLENGE_SECRET_BYTES = 32 };

struct challenge {
	uint8_t secret[CHALLENGE_SECRET_BYTES];
};

/* A new secret.  ERR_IO: there are no random numbers. */
int challenge_init(struct challenge *, struct err *);
/* One for the client of this address.  now_us: of a clock that nobody sets (clock_us()). */
void challenge_make(const struct challenge *, uint64_t now_us, const uint8_t from[4],
    uint8_t out[MASTER_CHALLENGE_BYTES]);
/* Was it given to this address, not longer than a minute ago? */
bool challenge_holds(const struct challenge *, uint64_t now_us, const uint8_t from[4],
    const uint8_t in[MASTER_CHALLENGE_BYTES]);

#endif /* MFRISBEED_MASTER_CHALLENGE_H */
