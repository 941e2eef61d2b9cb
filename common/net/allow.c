/* allow.c: the networks of option --allow, and whether an address is in one of them.  The
 * option parser calls allow_add() in the first thread; the threads of sessions call
 * allow_has(). */
#include "common/net/allow.h"

#include <string.h>

#include "common/base/number.h"
#include "common/wire/addr.h"

static uint32_t
number_of(const uint8_t addr[4])
{
	return (uint32_t)addr[0] << 24 | (uint32_t)addr[1] << 16 |
	       (uint32_t)addr[2] << 8 | addr[3];
}

int
allow_add(struct allow *a, const char *net, struct err *e)
{
	char text[ADDR_TEXT_MAX];
	const char *slash = strchr(net, '/');
	size_t n = slash != NULL ? (size_t)(slash - net) : strlen(net);
	uint64_t bits = 32;
	uint8_t addr[4];

	if (a->n == ALLOW_MAX)
		return err_set(e, ERR_USAGE, "more than %d networks", ALLOW_MAX);
	if (n >= sizeof text)
		return err_set(e, ERR_USAGE, "\"%s\" is not an IPv4 network", net);
	memcpy(text, net, n);
	text[n] = '\0';
	if (addr_parse(text, addr, e) != 0 ||
	    (slash != NULL && number_uint(slash + 1, 0, 32, &bits, e) != 0))
		return err_ctx(e, "%s", net);
	struct allow_net one = { number_of(addr),
		bits == 0 ? 0 : UINT32_MAX << (32 - bits) };
	if ((one.addr & ~one.mask) != 0)
		return err_set(e, ERR_USAGE,
		    "%s: the address has bits behind the first %u", net,
		    (unsigned)bits);
	a->net[a->n++] = one;
	return 0;
}

bool
allow_has(const struct allow *a, const uint8_t addr[4])
{
	if (a == NULL || a->n == 0)
		return true;
	for (unsigned i = 0; i < a->n; i++)
		if ((number_of(addr) & a->net[i].mask) == a->net[i].addr)
			return true;
	return false;
}
