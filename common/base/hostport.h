/* hostport.h: a host and perhaps a port, as people write them: HOST, HOST:PORT, [IPV6]
 * or [IPV6]:PORT.  An address of IPv6 without brackets has no port. */
#ifndef COMMON_BASE_HOSTPORT_H
#define COMMON_BASE_HOSTPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

/* Cut the text in place: *host (without brackets) and *port (NULL: there is none) point
 * into it.  Neither is looked at, and the port may be "".  False: the text is none of
 * these forms. */
bool hostport_cut(char *text, char **host, char **port);

struct hostport {
	char host[264]; /* names of DNS are shorter */
	uint16_t port;
};

/* Read a text with a port from `least` to 65535; `usual` if it names none.  ERR_USAGE:
 * it is none of these forms, or the port is no such number. */
int hostport_read(
    struct hostport *, const char *text, uint16_t least, uint16_t usual, struct err *);

#endif /* COMMON_BASE_HOSTPORT_H */
