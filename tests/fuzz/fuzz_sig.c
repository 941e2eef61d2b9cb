/* Signatures: what is read is written again to the byte, but for spare fields,
 * and keeps its promises. */
#include "common/image/format/sig.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct sig s, again;
	struct err e;
	uint64_t end = 0;

	if (sig_get(&s, data, len, &e) != 0)
		return 0;
	for (size_t i = 0; i < s.n; i++) {
		const struct sig_record *r = &s.records[i];
		if (r->start < end || r->count == 0 || r->count > s.block_sectors)
			abort();
		end = (uint64_t)r->start + r->count;
	}
	uint8_t *buf = malloc(sig_bytes(&s));
	if (buf == NULL || sig_bytes(&s) != len)
		abort();
	sig_put(&s, buf);
	/* The records, and all of the header that has a meaning. */
	if (memcmp(buf, data, 20) != 0 ||
	    memcmp(buf + SIG_HEADER_BYTES, data + SIG_HEADER_BYTES,
		len - SIG_HEADER_BYTES) != 0 ||
	    sig_get(&again, buf, len, &e) != 0 || again.n != s.n)
		abort();
	sig_free(&again);
	sig_free(&s);
	free(buf);
	return 0;
}
