/* host.c: the header Host (host.h).  web.c calls this, in the program's first thread. */
#include "controller/http/host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#include "common/base/hostport.h"

enum { NAME_BYTES = 64 }; /* an address is shorter */

bool
host_is_local(const char *header)
{
	struct in6_addr ignored;
	char text[NAME_BYTES], *name, *port;

	if (header == NULL)
		return true;
	int family = header[0] == '[' ? AF_INET6 : AF_INET;
	return snprintf(text, sizeof text, "%s", header) < NAME_BYTES &&
	       hostport_cut(text, &name, &port) &&
	       ((family == AF_INET && strcasecmp(name, "localhost") == 0) || inet_pton(family, name, &ignored) == 1);
}
