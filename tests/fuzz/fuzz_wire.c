/* Packets: what decodes is encoded to packets that decode to the same. */
#include "common/net/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct wire_msg m, again;
	struct err e;
	uint8_t pkt[WIRE_PACKET_MAX], second[WIRE_PACKET_MAX];

	if (wire_get(&m, data, len, &e) != 0)
		return 0;
	size_t n = wire_put(&m, pkt, sizeof pkt);
	if (n == 0 || wire_get(&again, pkt, n, &e) != 0 ||
	    wire_put(&again, second, sizeof second) != n || memcmp(pkt, second, n) != 0)
		abort();
	return 0;
}
