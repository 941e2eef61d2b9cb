/* host.c: the header Host (host.h).  web.c calls this, in the program's first thread. */
#include "controller/http/host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 64 }; /* an address is shorter */

/* The address between brackets, or what is before a port. */
static bool
name_of(const char *header, int *family, char name[NAME_BYTES])
{
	bool six = header[0] == '[';
	const char *at = header + six;
	size_t n = strcspn(at, six ? "]" : ":");

	*family = six ? AF_INET6 : AF_INET;
	if (n >= NAME_BYTES || (six && (at[n] != ']' || (at[n + 1] != '\0' && at[n + 1] != ':'))))
		return false;
	memcpy(name, at, n);
	name[n] = '\0';
	return true;
}

bool
host_is_local(const char *header)
{
	struct in6_addr ignored;
	char name[NAME_BYTES];
	int family;

	if (header == NULL)
		return true;
	return name_of(header, &family, name) &&
	       ((family == AF_INET && strcasecmp(name, "localhost") == 0) || inet_pton(family, name, &ignored) == 1);
}
