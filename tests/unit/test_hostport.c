/* test_hostport.c: every form of host and port, and what is none of them. */
#include "common/base/hostport.h"

#include <string.h>

#include "tests/t.h"

enum { USUAL = 6970 };

static const struct form {
	const char *text, *host, *port; /* host NULL: it is none of the forms */
} forms[] = {
	{ "a", "a", NULL },
	{ "boss.example", "boss.example", NULL },
	{ "boss:80", "boss", "80" },
	{ "10.0.0.1", "10.0.0.1", NULL },
	{ "10.0.0.1:0", "10.0.0.1", "0" },
	{ "10.0.0.1:65535", "10.0.0.1", "65535" },
	{ "10.0.0.1:", "10.0.0.1", "" },
	{ "239.1.2.3:7000-7010", "239.1.2.3", "7000-7010" },
	{ "a:x", "a", "x" },
	{ "[::1]", "::1", NULL },
	{ "[::1]:80", "::1", "80" },
	{ "[fe80::1%eth0]:80", "fe80::1%eth0", "80" },
	{ "[::1]:", "::1", "" },
	{ "[host]:1", "host", "1" },
	{ "::1", "::1", NULL },
	{ "::", "::", NULL },
	{ "fe80::1:80", "fe80::1:80", NULL },
	{ "a:1:2", "a:1:2", NULL },
	{ "", NULL, NULL },
	{ ":", NULL, NULL },
	{ ":80", NULL, NULL },
	{ "[", NULL, NULL },
	{ "[]", NULL, NULL },
	{ "[]:80", NULL, NULL },
	{ "[::1", NULL, NULL },
	{ "[::1:80", NULL, NULL },
	{ "[::1]x", NULL, NULL },
	{ "[::1]80", NULL, NULL },
	{ "[::1].evil:80", NULL, NULL },
	{ "[[::1]]:80", NULL, NULL },
};

static bool
is(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void
test_forms(void)
{
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		const struct form *f = &forms[i];
		char copy[64], *host, *port;
		strcpy(copy, f->text);
		bool ok = hostport_cut(copy, &host, &port);
		if (!T_CHECK(ok == (f->host != NULL)) ||
		    (ok && !T_CHECK(is(host, f->host) && is(port, f->port))))
			printf("# %s\n", f->text);
	}
}

/* 0: it is refused. */
static unsigned
port_of(const char *text, uint16_t least)
{
	struct hostport h;
	struct err e;

	if (hostport_read(&h, text, least, USUAL, &e) == 0)
		return h.port;
	T_CHECK(e.kind == ERR_USAGE && strstr(e.text, text) != NULL);
	return 0;
}

static void
test_ports(void)
{
	struct hostport h = { .port = 1 };
	struct err e;

	T_CHECK(port_of("a", 1) == USUAL && port_of("[::1]", 1) == USUAL);
	T_CHECK(port_of("a:1", 1) == 1 && port_of("[::1]:65535", 1) == 65535);
	T_CHECK(port_of("::1:80", 1) == USUAL);
	T_CHECK(port_of("a:0", 1) == 0 && port_of("a:65536", 1) == 0);
	T_CHECK(port_of("a:", 1) == 0 && port_of("a:-1", 0) == 0);
	T_CHECK(port_of("a:8x", 1) == 0 && port_of(":80", 1) == 0);
	T_CHECK(hostport_read(&h, "[fe80::1]:0", 0, USUAL, &e) == 0);
	T_CHECK(h.port == 0 && strcmp(h.host, "fe80::1") == 0);
}

static void
test_long(void)
{
	char text[400];
	struct hostport h;
	struct err e;

	memset(text, 'a', sizeof text);
	text[253] = '\0'; /* the longest name of DNS */
	T_CHECK(hostport_read(&h, text, 1, USUAL, &e) == 0 && strcmp(h.host, text) == 0);
	strcpy(text + 253, ":65535");
	T_CHECK(hostport_read(&h, text, 1, USUAL, &e) == 0 && strlen(h.host) == 253);
	memset(text, 'a', sizeof text);
	text[sizeof text - 1] = '\0';
	T_CHECK(hostport_read(&h, text, 1, USUAL, &e) != 0 && e.kind == ERR_USAGE);
}

int
main(void)
{
	test_forms();
	test_ports();
	test_long();
	return t_done();
}
