/* Networks of option --allow. */
#include "common/net/allow.h"

#include "tests/t.h"

static bool
has(const char *net, uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	struct allow list = { 0 };
	uint8_t addr[4] = { a, b, c, d };
	struct err e;

	T_CHECK(allow_add(&list, net, &e) == 0);
	return allow_has(&list, addr);
}

static bool
refused(const char *net)
{
	struct allow list = { 0 };
	struct err e;

	return allow_add(&list, net, &e) != 0 && e.kind == ERR_USAGE && list.n == 0;
}

int
main(void)
{
	struct allow list = { 0 };
	uint8_t addr[4] = { 10, 1, 2, 3 };
	struct err e;

	T_CHECK(allow_has(NULL, addr));
	T_CHECK(allow_has(&list, addr));
	T_CHECK(has("10.1.0.0/16", 10, 1, 255, 255));
	T_CHECK(!has("10.1.0.0/16", 10, 2, 0, 0));
	T_CHECK(has("10.1.2.3", 10, 1, 2, 3));
	T_CHECK(!has("10.1.2.3", 10, 1, 2, 4));
	T_CHECK(has("0.0.0.0/0", 1, 2, 3, 4));
	T_CHECK(has("128.0.0.0/1", 255, 0, 0, 0));
	T_CHECK(!has("128.0.0.0/1", 127, 0, 0, 0));
	T_CHECK(refused("10.1.0.1/16"));
	T_CHECK(refused("10.1.0.0/33"));
	T_CHECK(refused("10.1.0.0/"));
	T_CHECK(refused(""));
	T_CHECK(refused("/8"));
	T_CHECK(refused("lan"));
	T_CHECK(refused("10.1.0.0/8x"));
	T_CHECK(refused("1111111111111111111111111.0.0.0/8"));
	T_CHECK(allow_add(&list, "10.1.0.0/16", &e) == 0);
	T_CHECK(allow_add(&list, "10.9.9.9", &e) == 0);
	T_CHECK(allow_has(&list, addr));
	while (list.n < ALLOW_MAX)
		T_CHECK(allow_add(&list, "10.9.9.9", &e) == 0);
	T_CHECK(allow_add(&list, "10.9.9.9", &e) != 0);
	return t_done();
}
