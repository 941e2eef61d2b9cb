/* A chunk of raw data from the network of dolly: with a digest that fits, so that what
 * lies behind it is reached. */
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "dolly/raw/raw.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	enum { N = 4096 };
	static struct raw *r;
	uint8_t sent[SHA256_BYTES + N], out[N];
	struct err e;

	if (bytes > N || (r == NULL && raw_new(&r, false, &e) != 0))
		return 0;
	memcpy(sent + SHA256_BYTES, data, bytes);
	sha256(data, bytes, sent);
	(void)raw_unpack(r, 0, sent, (uint32_t)(SHA256_BYTES + bytes), out, N, &e);
	(void)raw_unpack(r, 0, data, (uint32_t)bytes, out, 100, &e);
	return 0;
}
