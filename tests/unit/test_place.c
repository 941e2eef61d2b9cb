/* Which image goes where, as the command line has it. */
#include "frisbeed/serve/place.h"

#include <string.h>

#include "tests/t.h"

static struct place *p;
static struct err e;

static int
parse(const char *addr, const char *port, unsigned n, const char *const *from)
{
	char *operands[4];

	struct net_options common = { .addr = addr, .port = port };

	for (unsigned i = 0; i < n; i++)
		operands[i] = (char *)(uintptr_t)from[i];
	return places_parse(&p, operands, n, &common, &e);
}

static bool
is(const struct place *at, const char *image, const char *addr, const char *port)
{
	return strcmp(at->image, image) == 0 && strcmp(at->net.addr, addr) == 0 &&
	       strcmp(at->net.port, port) == 0;
}

static void
test_places(void)
{
	const char *two[] = { "a", "b@x@y" },
		   *four[] = { "a", "b@239.9.9.9", "c@:70", "d" },
		   *own[] = { "a@239.1.1.1:5", "b@239.1.1.2:6-8", "@239.1.1.3" };

	T_CHECK(parse("239.1.1.255+", "50", 2, two) == 0);
	T_CHECK(is(&p[0], "a", "239.1.1.255", "50"));
	T_CHECK(is(&p[1], "b@x@y", "239.1.2.0", "50"));
	places_free(p, 2);
	T_CHECK(parse("239.1.1.1+", "50", 4, four) == 0);
	T_CHECK(is(&p[0], "a", "239.1.1.1", "50"));
	T_CHECK(is(&p[1], "b", "239.9.9.9", "50"));
	T_CHECK(is(&p[2], "c", "239.1.1.2", "70"));
	T_CHECK(is(&p[3], "d", "239.1.1.3", "50"));
	places_free(p, 4);
	T_CHECK(parse(NULL, NULL, 2, own) == 0);
	T_CHECK(is(&p[0], "a", "239.1.1.1", "5"));
	T_CHECK(is(&p[1], "b", "239.1.1.2", "6-8"));
	places_free(p, 2);
	/* Nothing in front of it: a name. */
	T_CHECK(parse("239.1.1.1", "0", 3, own) == 0);
	T_CHECK(is(&p[2], "@239.1.1.3", "239.1.1.1", "0"));
	places_free(p, 3);
}

static void
test_refused(void)
{
	const char *two[] = { "a", "b" }, *bad[] = { "a@239.1.1.1:x" },
		   *half[] = { "a@:5" },
		   *long_one[] = { "a@239.1.1.1:123456789012345678" };

	T_CHECK(parse("239.1.1.1", "5", 2, two) != 0);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(strstr(e.text, "239.1.1.1+") != NULL);
	T_CHECK(parse("239.1.1.1", "0", 2, two) == 0);
	places_free(p, 2);
	T_CHECK(parse("239.255.255.255+", "5", 2, two) != 0);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(parse("10.0.0.1+", "5", 1, two) != 0);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(parse("+", "5", 1, two) != 0);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(parse(NULL, NULL, 1, bad) != 0);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(parse(NULL, NULL, 1, half) != 0);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(parse(NULL, NULL, 1, long_one) != 0);
	T_CHECK(e.kind == ERR_USAGE);
}

static void
test_one(void)
{
	char addr[] = "10.0.0.1", port[] = "50-60", iface[] = "eth0";
	struct net_options net = { .addr = addr, .port = port, .iface = iface };

	T_CHECK(places_one(&p, "a@239.1.1.1", &net, &e) == 0);
	addr[0] = port[0] = iface[0] = 'x';
	T_CHECK(is(p, "a@239.1.1.1", "10.0.0.1", "50-60"));
	T_CHECK(strcmp(p->net.iface, "eth0") == 0);
	places_free(p, 1);
	net = (struct net_options){ .addr = "10.0.0.1" };
	T_CHECK(places_one(&p, "a", &net, &e) == 0);
	T_CHECK(p->net.port == NULL);
	T_CHECK(p->net.iface == NULL);
	places_free(p, 1);
	net.port = "123456789012345678";
	T_CHECK(places_one(&p, "a", &net, &e) != 0);
	T_CHECK(e.kind == ERR_USAGE);
}

int
main(void)
{
	test_places();
	test_refused();
	test_one();
	return t_done();
}
