/* master_proof.h: how a client shows a master server that it has a token, without sending it.
 *
 * The server answers a first request with a challenge, and the client repeats the request with a proof:
 * HMAC-SHA-256 with the token over the whole message, of which the challenge is a part.  Both stand at
 * the end of the field of the name, which original servers do not look at behind the name.
 * docs/protocol-wire.md describes the bytes. */
#ifndef COMMON_WIRE_MASTER_PROOF_H
#define COMMON_WIRE_MASTER_PROOF_H

#include "common/wire/master.h"

enum {
	MASTER_TOKEN_BYTES = 32,
	MASTER_CHALLENGE_BYTES = 32,
	MASTER_PROOF_BYTES = 68, /* of the field of the name */
	MASTER_PROVED_NAME_MAX = MASTER_NAME_MAX - MASTER_PROOF_BYTES,
};

/* Put a proof into a request (a whole GET or PUT).  Without a challenge (NULL) it says only that the
 * client has a token.  ERR_USAGE: the name is too long to have a proof behind it. */
int master_proof_put(void *request, size_t bytes,
    const uint8_t challenge[MASTER_CHALLENGE_BYTES],
    const uint8_t token[MASTER_TOKEN_BYTES], struct err *);
/* Has this request a proof?  Then *challenge points to the one that it answers, inside the request: zeros
 * where it answers none. */
bool master_proof_get(const void *request, size_t bytes, const uint8_t **challenge);
/* Is the proof of such a request made with this token?  Takes the same time for all tokens. */
bool master_proof_is_by(
    const void *request, size_t bytes, const uint8_t token[MASTER_TOKEN_BYTES]);

#endif /* COMMON_WIRE_MASTER_PROOF_H */
