/* Any packet as a probe: refused, or encoded again to the same bytes of meaning;
 * answers are never longer than what was asked with. */
#include <assert.h>
#include <string.h>

#include "frisbeed/server/server_probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t addr[4] = { 10, 0, 0, 1 };
	struct server_probe s;
	struct server_probe_answer out[2];
	struct probe p, q;
	uint8_t pkt[PROBE_BYTES_MAX];
	struct err e;

	if (probe_get(&p, data, len, &e) != 0)
		return 0;
	bool put = probe_put(&p, pkt, len);
	assert(put);
	int got = probe_get(&q, pkt, len, &e);
	assert(got == 0 && memcmp(&p, &q, sizeof p) == 0);
	server_probe_init(&s, addr, addr, 5, p.session, 0);
	unsigned n = server_probe_input(&s, 0, data, len, p.srcip, true, out);
	assert(n <= 2 && (!p.echo || n == 0));
	for (unsigned i = 0; i < n; i++)
		assert(out[i].len <= len);
	return 0;
}
