/* Any packet on an interface: told or not, and nothing is read behind it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/sniff.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t group[4] = { 239, 192, 7, 7 };
	uint8_t *exactly = malloc(len + 1);

	if (exactly == NULL)
		return 0;
	memcpy(exactly + 1, data, len);
	struct sniff s = sniff_packet(exactly + 1, len, group);
	assert(s.kind == SNIFF_OTHER || len >= 24);
	free(exactly);
	return 0;
}
