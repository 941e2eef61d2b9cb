/* Any packet of the extension: refused, or encoded again to the same meaning. */
#include <assert.h>
#include <string.h>

#include "common/wire/wirext.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct wirext_msg m, again;
	struct wirext_answer a;
	struct err e;
	uint8_t one[WIREXT_PACKET_MAX], two[WIREXT_PACKET_MAX];
	uint32_t flags;
	uint64_t cookie;
	bool whole;

	(void)wirext_get_offer(data, len, &flags);
	(void)wirext_get_cookie(data, len, &cookie);
	(void)wirext_get_outcome(data, len, &whole);
	if (wirext_get_answer(data, len, &a))
		assert(a.port != 0 && a.session != 0);
	if (wirext_get(&m, data, len, &e) != 0)
		return 0;
	size_t n = wirext_put(&m, one, sizeof one);
	assert(n > 0 && n <= len);
	int got = wirext_get(&again, one, n, &e);
	assert(got == 0);
	size_t n2 = wirext_put(&again, two, sizeof two);
	assert(n2 == n && memcmp(one, two, n) == 0);
	return 0;
}
