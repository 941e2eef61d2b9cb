/* challenge.c: makes challenges, and recognises them again (challenge.h).  master.c and answer.c
 * call it, in the master's first thread. */
#include "mfrisbeed/master/challenge.h"

#include <openssl/crypto.h>
#include <string.h>

#include "common/base/random_bytes.h"
#include "common/base/rd.h"
#include "common/base/sha256.h"
#include "common/base/wr.h"

/* How long a challenge is valid.  A client answers at once, but its network may be slow. */
#define LIFE_US UINT64_C(60000000)

enum { TIME_BYTES = 8, MARK_BYTES = MASTER_CHALLENGE_BYTES - TIME_BYTES };

void
challenge_init(struct challenge *c)
{
	random_bytes(c->secret, sizeof c->secret);
}

/* The authentication of a challenge, which needs the secret: a digest of the secret, the
 * time and the address.  All inputs have a fixed length, and the digest is cut, so nobody
 * can extend it. */
static void
mark(const struct challenge *c, uint64_t made_us, const uint8_t from[4],
    uint8_t out[MARK_BYTES])
{
	uint8_t in[CHALLENGE_SECRET_BYTES + TIME_BYTES + 4], digest[SHA256_BYTES];
	struct wr w = wr_to(in, sizeof in);

	wr_bytes(&w, c->secret, sizeof c->secret);
	wr_le64(&w, made_us);
	wr_bytes(&w, from, 4);
	sha256(in, sizeof in, digest);
	memcpy(out, digest, MARK_BYTES);
}

void
challenge_make(const struct challenge *c, uint64_t now_us, const uint8_t from[4],
    uint8_t out[MASTER_CHALLENGE_BYTES])
{
	struct wr w = wr_to(out, TIME_BYTES);

	wr_le64(&w, now_us);
	mark(c, now_us, from, out + TIME_BYTES);
}

bool
challenge_holds(const struct challenge *c, uint64_t now_us, const uint8_t from[4],
    const uint8_t in[MASTER_CHALLENGE_BYTES])
{
	struct rd r = rd_from(in, TIME_BYTES);
	uint64_t made_us = rd_le64(&r);
	uint8_t own[MARK_BYTES];

	if (made_us > now_us || now_us - made_us > LIFE_US)
		return false;
	mark(c, made_us, from, own);
	return CRYPTO_memcmp(own, in + TIME_BYTES, MARK_BYTES) == 0;
}
