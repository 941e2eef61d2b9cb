/* Messages of the master server: what is accepted comes back to the byte, but for what stands behind a
 * name. */
#include "common/wire/master_proof.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
try_get(const uint8_t *data, size_t bytes)
{
	uint8_t out[MASTER_GET_BYTES];
	struct master_get m, back;
	struct err e;

	if (master_get_read(&m, data, bytes, &e) != 0)
		return;
	master_get_write(&m, out);
	if (master_get_read(&back, out, sizeof out, &e) != 0 ||
	    strcmp(m.name, back.name) != 0 || m.methods != back.methods)
		abort();
}

static void
try_put(const uint8_t *data, size_t bytes)
{
	uint8_t out[MASTER_PUT_BYTES];
	struct master_put m, back;
	struct err e;

	if (master_put_read(&m, data, bytes, &e) != 0)
		return;
	master_put_write(&m, out);
	if (master_put_read(&back, out, sizeof out, &e) != 0 ||
	    strcmp(m.name, back.name) != 0 || m.bytes != back.bytes)
		abort();
}

static void
try_replies(const uint8_t *data, size_t bytes)
{
	uint8_t out[MASTER_PUT_REPLY_BYTES];
	struct master_get_reply g;
	struct master_put_reply p;
	struct err e;

	if (master_get_reply_read(&g, data, bytes, &e) == 0) {
		master_get_reply_write(&g, out);
		if (master_error_text(g.error) == NULL)
			abort();
	}
	if (master_put_reply_read(&p, data, bytes, &e) == 0)
		master_put_reply_write(&p, out);
	struct master_verdict v;
	if (master_verdict_read(&v, data, bytes, &e) == 0 &&
	    strlen(v.reason) >= sizeof v.reason)
		abort();
}

/* Whatever has the form of a proof is made by nobody who has not the token. */
static void
try_proof(const uint8_t *data, size_t bytes)
{
	static const uint8_t token[MASTER_TOKEN_BYTES] = { 7 };
	const uint8_t *challenge;

	if (master_proof_get(data, bytes, &challenge) &&
	    (challenge < data || challenge + 2 * MASTER_CHALLENGE_BYTES > data + bytes))
		abort();
	if (master_proof_is_by(data, bytes, token))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	try_proof(data, bytes);
	try_get(data, bytes);
	try_put(data, bytes);
	try_replies(data, bytes);
	return 0;
}
