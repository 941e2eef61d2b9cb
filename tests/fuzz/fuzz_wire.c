/* Any packet: refused, or encoded again to something that decodes to the same. */
#include <assert.h>
#include <string.h>

#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct wire_msg m, again;
	struct err e;
	uint8_t one[WIRE_PACKET_MAX], two[WIRE_PACKET_MAX];

	if (wire_get(&m, data, len, &e) != 0)
		return 0;
	size_t n = wire_put(&m, one, sizeof one);
	assert(n > 0 && n <= len);
	int got = wire_get(&again, one, n, &e);
	assert(got == 0);
	size_t n2 = wire_put(&again, two, sizeof two);
	assert(n2 == n && memcmp(one, two, n) == 0);
	return 0;
}
