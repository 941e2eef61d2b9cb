/* addr.c: IPv4 addresses as text; any thread calls this. */
#include "common/wire/addr.h"

#include <arpa/inet.h>
#include <stdio.h>

int
addr_parse(const char *s, uint8_t addr[4], struct err *e)
{
	if (inet_pton(AF_INET, s, addr) != 1)
		return err_set(e, ERR_USAGE, "\"%s\" is not an IPv4 address", s);
	return 0;
}

const char *
addr_text(const uint8_t addr[4], char buf[ADDR_TEXT_MAX])
{
	snprintf(
	    buf, ADDR_TEXT_MAX, "%u.%u.%u.%u", addr[0], addr[1], addr[2], addr[3]);
	return buf;
}
