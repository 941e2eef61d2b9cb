/* listener.c: opens the socket that `dsync serve` listens on.  serve.c calls this, in its first
 * thread. */
#include "dsync/serve/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/hostport.h"
#include "common/base/number.h"

enum { BACKLOG = 64, AT_BYTES = 80 };

/* Cut "[ADDRESS:]PORT" in place; *address is NULL if there is none. */
static int
split(char *at, char **address, char **port, struct err *e)
{
	uint64_t number;

	*address = NULL;
	*port = at;
	bool both = strchr(at, ':') != NULL;
	if (both && (!hostport_cut(at, address, port) || *port == NULL))
		return err_set(e, ERR_USAGE, "--listen: this is not [ADDRESS:]PORT");
	int rc = number_uint(*port, 0, UINT16_MAX, &number, e);
	return rc == 0 ? 0 : err_ctx(e, "--listen");
}

/* Listen at one address.  Returns the socket, or -1 with errno. */
static int
listen_at(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1, no = 0;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	/* A socket of IPv6 for all addresses also has those of IPv4. */
	if (a->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int why = errno;
	close(fd);
	errno = why;
	return -1;
}

/* Listen at an address of this family.  address: NULL: all of this host. */
static int
listen_in(int family, const char *address, const char *port, int *fd, struct err *e)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV }, *all;
	int rc = getaddrinfo(address, port, &hints, &all);

	if (rc != 0)
		return err_set(e, ERR_USAGE, "--listen: %s: %s", address != NULL ? address : port,
		    gai_strerror(rc));
	*fd = listen_at(all);
	rc = *fd >= 0 ? 0 : err_os(e, "TCP port %s", port);
	freeaddrinfo(all);
	return rc;
}

static int
find_port(int fd, uint16_t *port, struct err *e)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof a;

	if (getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		return err_os(e, "a socket");
	*port = ntohs(a.ss_family == AF_INET6
	                  ? ((const struct sockaddr_in6 *)(const void *)&a)->sin6_port
	                  : ((const struct sockaddr_in *)(const void *)&a)->sin_port);
	return 0;
}

int
listener_open(const char *at, int *fd, uint16_t *port, struct err *e)
{
	char text[AT_BYTES], *address, *number;

	snprintf(text, sizeof text, "%s", at); /* what does not fit is no address */
	if (split(text, &address, &number, e) != 0)
		return -1;
	int family = address != NULL ? AF_UNSPEC : AF_INET6;
	int rc = listen_in(family, address, number, fd, e);
	/* This host may have no IPv6. */
	if (rc != 0 && address == NULL)
		rc = listen_in(AF_INET, NULL, number, fd, e);
	if (rc != 0 || find_port(*fd, port, e) == 0)
		return rc;
	close(*fd);
	return -1;
}

const char *
listener_name(
    const struct sockaddr_storage *a, socklen_t len, char name[LISTENER_NAME_BYTES])
{
	static const char v4[] = "::ffff:"; /* an address of IPv4 at a socket of IPv6 */

	if (getnameinfo((const struct sockaddr *)a, len, name, LISTENER_NAME_BYTES, NULL, 0,
		NI_NUMERICHOST) != 0)
		strcpy(name, "?");
	if (strncmp(name, v4, sizeof v4 - 1) == 0)
		memmove(name, name + sizeof v4 - 1, strlen(name) - sizeof v4 + 2);
	return name;
}
