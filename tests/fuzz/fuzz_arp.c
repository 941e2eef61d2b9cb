/* Any bytes as an answer to an ARP probe or to a ping: nothing is read behind them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/arp.h"
#include "common/net/ping.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *exactly = malloc(len + 1), mac[ARP_MAC_BYTES], addr[4];

	if (exactly == NULL)
		return 0;
	memcpy(exactly + 1, data, len);
	assert(!arp_get_reply(exactly + 1, len, mac, addr) || len >= ARP_BYTES);
	assert(!ping_is_reply(exactly + 1, len, true, 7) || len >= 28);
	assert(!ping_is_reply(exactly + 1, len, false, 7) || len >= PING_BYTES);
	free(exactly);
	return 0;
}
