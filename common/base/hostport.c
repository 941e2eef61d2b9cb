/* hostport.c: cuts texts such as HOST:PORT (hostport.h); any thread calls this. */
#include "common/base/hostport.h"

#include <stdio.h>
#include <string.h>

#include "common/base/number.h"

bool
hostport_cut(char *text, char **host, char **port)
{
	bool six = text[0] == '[';
	char *end = strchr(text, six ? ']' : ':');
	bool bare = !six && end != NULL && strchr(end + 1, ':') != NULL; /* IPv6 */
	char *behind = end == NULL || bare ? text + strlen(text) : end + six;

	*host = text + six;
	*port = *behind == ':' ? behind + 1 : NULL;
	if ((six && end == NULL) || (*behind != '\0' && *behind != ':'))
		return false;
	*(end == NULL || bare ? behind : end) = '\0';
	return **host != '\0';
}

int
hostport_read(
    struct hostport *h, const char *text, uint16_t least, uint16_t usual, struct err *e)
{
	uint64_t number = usual;
	char *host, *port;
	bool fits = snprintf(h->host, sizeof h->host, "%s", text) < (int)sizeof h->host;

	if (!fits || !hostport_cut(h->host, &host, &port))
		return err_set(e, ERR_USAGE,
		    "\"%.100s\": an address is HOST, HOST:PORT or [IPV6]:PORT", text);
	if (port != NULL && number_uint(port, least, UINT16_MAX, &number, e) != 0)
		return err_ctx(e, "%.100s", text);
	h->port = (uint16_t)number;
	memmove(h->host, host, strlen(host) + 1);
	return 0;
}
