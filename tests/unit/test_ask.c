/* What is believed of the reply of a master server: the addresses in it have to be those of hosts and
 * groups, because 0.0.0.0 is this machine for connect(2), and nobody's address in a packet. */
#include "common/net/ask.h"

#include <string.h>

#include "tests/t.h"

static const uint8_t host[4] = { 10, 9, 0, 1 }, group[4] = { 239, 192, 0, 1 }, none[4];
static const uint8_t all[4] = { 255, 255, 255, 255 };
static struct err e;

static int
check(enum master_method asked, uint8_t served, const uint8_t server[4], const uint8_t addr[4],
    uint16_t port)
{
	struct master_get_reply r = { .method = served, .port = port };

	memcpy(r.server, server, sizeof r.server);
	memcpy(r.addr, addr, sizeof r.addr);
	return ask_check_place(&r, asked, &e);
}

static bool
refused(enum master_method m, const uint8_t server[4], const uint8_t addr[4])
{
	return check(m, m, server, addr, 9) == -1 && e.kind == ERR_FORMAT;
}

static void
test_place(void)
{
	T_CHECK(check(MASTER_MULTICAST, MASTER_MULTICAST, host, group, 9) == 0);
	T_CHECK(check(MASTER_UNICAST, MASTER_UNICAST, host, host, 9) == 0);
	T_CHECK(check(MASTER_UNICAST, MASTER_MULTICAST, host, group, 9) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(check(MASTER_MULTICAST, MASTER_MULTICAST, host, group, 0) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(refused(MASTER_MULTICAST, none, group));
	T_CHECK(strstr(e.text, "0.0.0.0") != NULL);
	T_CHECK(refused(MASTER_MULTICAST, group, group));
	T_CHECK(refused(MASTER_MULTICAST, all, group));
	T_CHECK(refused(MASTER_MULTICAST, host, none));
	T_CHECK(refused(MASTER_MULTICAST, host, host));
	T_CHECK(refused(MASTER_UNICAST, none, host));
	T_CHECK(refused(MASTER_UNICAST, host, none));
	T_CHECK(refused(MASTER_UNICAST, host, group));
}

/* The bytes of an image go to nobody, rather than to who listens at this port on this machine. */
static void
test_connect(void)
{
	int fd;

	T_CHECK(ask_connect(none, 9, &fd, &e) == -1 && e.kind == ERR_FORMAT);
	T_CHECK(ask_connect(group, 9, &fd, &e) == -1 && e.kind == ERR_FORMAT);
}

int
main(void)
{
	test_place();
	test_connect();
	return t_done();
}
