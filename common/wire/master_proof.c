/* master_proof.c: proofs in requests to a master server are made and checked.  Clients call this
 * before they ask (ask.c), and mfrisbeed when it answers, each in its first thread. */
#include "common/wire/master_proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/base/sha256.h"

static const uint8_t magic[4] = { 'F', 'B', 'X', 'T' };

/* The byte of a request at which the length of the name stands; the name follows the length. */
enum { GET_NAME_LENGTH_AT = 14, PUT_NAME_LENGTH_AT = 13, LENGTH_BYTES = 2 };

/* The byte at which the proof stands in this request; 0: the message is no request, or its name
 * leaves no room for a proof. */
static size_t
proof_at(const void *request, size_t bytes)
{
	size_t length_at = bytes == MASTER_GET_BYTES   ? GET_NAME_LENGTH_AT
	                   : bytes == MASTER_PUT_BYTES ? PUT_NAME_LENGTH_AT
	                                               : 0;
	struct rd r = rd_from(request, bytes);

	if (length_at == 0)
		return 0;
	rd_skip(&r, length_at);
	if (rd_be16(&r) > MASTER_PROVED_NAME_MAX)
		return 0;
	return length_at + LENGTH_BYTES + MASTER_PROVED_NAME_MAX;
}

/* Compute the HMAC over the message, with zeros in place of the HMAC itself. */
static bool
compute(const void *request, size_t bytes, size_t at,
    const uint8_t token[MASTER_TOKEN_BYTES], uint8_t mac[SHA256_BYTES])
{
	uint8_t copy[MASTER_PUT_BYTES];
	unsigned n = 0;

	memcpy(copy, request, bytes);
	memset(copy + at + sizeof magic + MASTER_CHALLENGE_BYTES, 0, SHA256_BYTES);
	return HMAC(EVP_sha256(), token, MASTER_TOKEN_BYTES, copy, bytes, mac, &n) != NULL &&
	       n == SHA256_BYTES;
}

int
master_proof_put(void *request, size_t bytes,
    const uint8_t challenge[MASTER_CHALLENGE_BYTES],
    const uint8_t token[MASTER_TOKEN_BYTES], struct err *e)
{
	size_t at = proof_at(request, bytes);
	uint8_t *to = (uint8_t *)request + at;

	if (at == 0)
		return err_set(e, ERR_USAGE,
		    "with a token, a name can have at most %d bytes",
		    MASTER_PROVED_NAME_MAX);
	memset(to, 0, MASTER_PROOF_BYTES);
	memcpy(to, magic, sizeof magic);
	if (challenge == NULL)
		return 0;
	memcpy(to + sizeof magic, challenge, MASTER_CHALLENGE_BYTES);
	if (!compute(request, bytes, at, token,
		to + sizeof magic + MASTER_CHALLENGE_BYTES))
		return err_set(e, ERR_IO, "HMAC-SHA-256 is not available");
	return 0;
}

bool
master_proof_get(const void *request, size_t bytes, const uint8_t **challenge)
{
	size_t at = proof_at(request, bytes);
	const uint8_t *proof = (const uint8_t *)request + at;

	if (at == 0 || memcmp(proof, magic, sizeof magic) != 0)
		return false;
	*challenge = proof + sizeof magic;
	return true;
}

bool
master_proof_is_by(
    const void *request, size_t bytes, const uint8_t token[MASTER_TOKEN_BYTES])
{
	const uint8_t *challenge;
	uint8_t mac[SHA256_BYTES];

	if (!master_proof_get(request, bytes, &challenge))
		return false;
	size_t at = (size_t)(challenge - (const uint8_t *)request) - sizeof magic;
	bool same = compute(request, bytes, at, token, mac) &&
	            CRYPTO_memcmp(mac, challenge + MASTER_CHALLENGE_BYTES, sizeof mac) == 0;
	OPENSSL_cleanse(mac, sizeof mac);
	return same;
}
