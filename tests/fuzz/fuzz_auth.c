/* Any packet at a server, a client that waits, one that was welcomed, and one that has no key:
 * what is taken is in the packet, and is taken once.  Any bytes as what is sent: they
 * arrive as they are. */
#include <assert.h>
#include <string.h>

#include "common/net/auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const uint8_t from[4] = { 10, 0, 0, 1 };
static const uint8_t key[AUTH_KEY_BYTES] = { 1, 2, 3 };

/* The packets of the corpus are of these. */
static struct auth *
make(bool server, const uint8_t *with, uint64_t id)
{
	struct auth_config c = { .server = server,
		.key = with,
		.id = id,
		.session = server ? 77 : 0,
		.group = { 239, 1, 2, 3 },
		.port = 5007,
		.senders = 2 };
	struct auth *a = NULL;
	struct err e;

	int rc = auth_new(&a, &c, &e);
	assert(rc == 0);
	return a;
}

static const uint8_t *
give(struct auth *a, const uint8_t *pkt, size_t len, size_t *n)
{
	return auth_open(a, AUTH_FIRST, pkt, len, from, 5007, n);
}

static void
hear(struct auth *a, const uint8_t *data, size_t len)
{
	uint8_t pkt[AUTH_PACKET_MAX];
	size_t n;

	const uint8_t *p = give(a, data, len, &n);
	assert(p == NULL || (p >= data && p + n == data + len));
	if (p != NULL && auth_is_on(a)) {
		p = give(a, data, len, &n);
		assert(p == NULL);
	}
	n = auth_put_notice(a, pkt);
	assert(n == AUTH_HEADER_BYTES);
}

static void
arrive(struct auth *to, struct auth *by, const uint8_t *data, size_t len)
{
	static uint8_t pkt[AUTH_HEADER_BYTES + 65536];
	struct gmac_part part = { data, len };
	struct err e;
	size_t n;

	int rc = auth_seal(by, AUTH_FIRST, &part, 1, pkt, &e);
	assert(rc == 0);
	memcpy(pkt + AUTH_HEADER_BYTES, data, len);
	const uint8_t *p = give(to, pkt, AUTH_HEADER_BYTES + len, &n);
	assert(p != NULL && n == len && memcmp(p, data, len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct auth *server = make(true, key, 1), *waiting = make(false, key, 2),
		    *client = make(false, key, 3), *open = make(false, NULL, 4);
	uint8_t pkt[AUTH_PACKET_MAX];
	size_t n;

	if (len > 65536)
		len = 65536;
	n = auth_put_hello(waiting, pkt);
	assert(n > 0);
	n = auth_put_hello(client, pkt);
	give(server, pkt, n, &n);
	n = auth_put_welcome(server, pkt);
	give(client, pkt, n, &n);
	bool welcomed = auth_was_welcomed(client);
	assert(welcomed);
	/* First: what is heard may have the same numbers. */
	arrive(client, server, data, len);
	arrive(server, client, data, len);
	hear(server, data, len);
	hear(waiting, data, len);
	hear(client, data, len);
	hear(open, data, len);
	n = auth_put_welcome(server, pkt);
	assert(n == 0 || n == AUTH_HEADER_BYTES + AUTH_ASKER_BYTES);
	auth_free(server);
	auth_free(waiting);
	auth_free(client);
	auth_free(open);
	return 0;
}
