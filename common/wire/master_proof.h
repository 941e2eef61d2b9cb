/* master_proof.h: how a client shows a master server that it has a token, without sending it.
 *
 * The server answers a first request with a challenge, and the client repeats the request with a
 * proof: the HMAC-SHA-256, with the token, of the whole message with the challenge in it.
 * Challenge and HMAC stand at the end of the field of the name; original servers ignore what is
 * behind the name in this field.
 * docs/protocol-wire.md describes the bytes. */
#ifndef COMMON_WIRE_MASTER_PROOF_H
#define COMMON_WIRE_MASTER_PROOF_H

#include "common/wire/master.h"

enum {
	MASTER_TOKEN_BYTES = 32,
	MASTER_CHALLENGE_BYTES = 32,
	MASTER_PROOF_BYTES = 68, /* at the end of the field of the name */
	MASTER_PROVED_NAME_MAX = MASTER_NAME_MAX - MASTER_PROOF_BYTES,
};

/* Put a proof into a request (a whole GET or PUT).  challenge NULL: the proof only says that the
 * client has a token.  ERR_USAGE: the name is too long to have a proof behind it.  ERR_IO:
 * libcrypto has no HMAC-SHA-256. */
int master_proof_put(void *request, size_t bytes,
    const uint8_t challenge[MASTER_CHALLENGE_BYTES],
    const uint8_t token[MASTER_TOKEN_BYTES], struct err *);
/* Has this request a proof?  If so, *challenge points into the request, to the challenge that
 * the proof answers (zeros: it answers none). */
bool master_proof_get(const void *request, size_t bytes, const uint8_t **challenge);
/* Is the proof of this request made with this token?  The comparison takes the same time for all
 * tokens.  False also if the request has no proof. */
bool master_proof_is_by(
    const void *request, size_t bytes, const uint8_t token[MASTER_TOKEN_BYTES]);

#endif /* COMMON_WIRE_MASTER_PROOF_H */
