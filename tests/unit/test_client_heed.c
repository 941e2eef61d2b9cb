/* Which other clients one is silent for. */
#include "frisbee/client/client_heed.h"
#include "tests/t.h"

enum { S = 1000000 };

static const uint8_t a[4] = { 10, 0, 0, 1 }, b[4] = { 10, 0, 0, 2 };

int
main(void)
{
	struct client_heed h = { 0 };

	T_CHECK(client_address(a) != client_address(b));
	T_CHECK(!client_heed_ignores(&h, 0, a));
	client_heed_ignore(&h, 1 * S, client_address(a));
	client_heed_ignore(&h, 2 * S, 0);
	T_CHECK(client_heed_ignores(&h, 60 * S, a));
	T_CHECK(!client_heed_ignores(&h, 60 * S, b));
	T_CHECK(!client_heed_ignores(&h, 61 * S, a));
	client_heed_ignore(&h, 61 * S, client_address(b));
	T_CHECK(!client_heed_ignores(&h, 61 * S, a));
	T_CHECK(client_heed_ignores(&h, 61 * S, b));
	return t_done();
}
