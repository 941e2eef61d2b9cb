/* session.c: a running session as a source.  sources.c calls this, in one thread; the load that
 * it starts has threads of its own. */
#include "stream/session/session.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/number.h"
#include "common/net/netopts.h"
#include "common/wire/addr.h"
#include "frisbee/load/load_source.h"

#define SCHEME "frisbee://"
#define INTERFACE "interface="

enum {
	PART_MAX = 64, /* of a part of the name, with the NUL */
	SILENCE_SECONDS = 60, /* after which reads fail, until something comes again */
};

/* The parts of a session's name. */
struct session {
	char server[PART_MAX]; /* empty: not given */
	char addr[PART_MAX], port[PART_MAX], iface[PART_MAX];
};

static int
no_session(const char *uri, struct err *e)
{
	return err_set(e, ERR_USAGE,
	    "\"%.200s\": a session is frisbee://ADDRESS:PORT or "
	    "frisbee://SERVER@ADDRESS:PORT, and ?interface=NAME may follow",
	    uri);
}

/* Copy n bytes of text into a part.  Returns false if they are none or too many. */
static bool
take(char part[PART_MAX], const char *text, size_t n)
{
	if (n == 0 || n >= PART_MAX)
		return false;
	memcpy(part, text, n);
	part[n] = '\0';
	return true;
}

static int
parse(struct session *s, const char *uri, struct err *e)
{
	const char *p = uri + strlen(SCHEME);

	*s = (struct session){ .iface = "" };
	if (strncasecmp(uri, SCHEME, strlen(SCHEME)) != 0)
		return no_session(uri, e);
	size_t n = strcspn(p, "@");
	if (p[n] == '@') {
		if (!take(s->server, p, n))
			return no_session(uri, e);
		p += n + 1;
	}
	n = strcspn(p, ":");
	if (!take(s->addr, p, n) || p[n] != ':')
		return no_session(uri, e);
	p += n + 1;
	n = strspn(p, "0123456789");
	if (!take(s->port, p, n))
		return no_session(uri, e);
	p += n;
	p += *p == '/';
	if (*p == '\0')
		return 0;
	if (strncmp(p, "?" INTERFACE, strlen("?" INTERFACE)) != 0 ||
	    !take(s->iface, p + strlen("?" INTERFACE), strlen(p) - strlen("?" INTERFACE)))
		return no_session(uri, e);
	return 0;
}

/* Whether the address is the server's own: not that of a multicast group. */
static bool
is_unicast(const char *addr)
{
	struct in_addr a;

	return inet_pton(AF_INET, addr, &a) == 1 && !IN_MULTICAST(ntohl(a.s_addr));
}

/* The server that is named is the only one whose packets count. */
static int
name_server(const struct session *s, struct load_config *c, struct err *e)
{
	if (s->server[0] == '\0')
		return 0;
	if (c->unicast)
		return err_set(e, ERR_USAGE,
		    "%s@%s: %s is the address of one server already", s->server, s->addr,
		    s->addr);
	c->has_server = true;
	return addr_parse(s->server, c->server, e);
}

static int
resolve(const struct session *s, struct load_config *c, struct err *e)
{
	struct net_options net = { .addr = s->addr,
		.port = s->port,
		.iface = s->iface[0] != '\0' ? s->iface : NULL };

	c->unicast = net.unicast = is_unicast(s->addr);
	return net_options_resolve(&net, &c->net, e) == 0 ? name_server(s, c, e) : -1;
}

int
session_check(const char *uri, struct err *e)
{
	struct load_config c = { .unicast = false };
	struct session s;

	return parse(&s, uri, e) == 0 ? resolve(&s, &c, e) : -1;
}

/* Make a file with a name that no other process uses. */
static int
make_name(char **path, const char *folder, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	if (folder == NULL)
		folder = tmp != NULL && tmp[0] != '\0' ? tmp : "/var/tmp";
	if (asprintf(path, "%s/frisbee-XXXXXX", folder) < 0)
		return err_nomem(e, folder);
	int fd = mkstemp(*path);
	if (fd < 0) {
		err_os(e, "%s", *path);
		free(*path);
		return -1;
	}
	close(fd);
	return 0;
}

int
session_check_key(const char *group_key, struct err *e)
{
	struct net_options net = { .group_key = group_key };
	int rc = net_options_read_key(&net, e);

	net_options_wipe_key(&net);
	return rc;
}

/* Starts the load with the key, which is not kept here. */
static int
begin(struct source *out, struct load_config *c, const char *path, const char *group_key,
    struct err *e)
{
	struct net_options net = { .group_key = group_key };
	int rc = net_options_read_key(&net, e);

	c->key = net_options_key(&net);
	if (rc == 0)
		rc = source_of_load(out, c, path, 0, e);
	net_options_wipe_key(&net);
	return rc;
}

int
source_of_session(struct source *out, const char *uri, const char *group_key,
    const char *folder, struct err *e)
{
	double silence = number_seconds("STREAM_SESSION_SECONDS", SILENCE_SECONDS);
	struct load_config c = { .reader_silence_us = (uint64_t)(silence * 1e6) };
	struct session s;
	char *path;

	if (parse(&s, uri, e) != 0 || resolve(&s, &c, e) != 0 ||
	    make_name(&path, folder, e) != 0)
		return -1;
	int rc = begin(out, &c, path, group_key, e);
	if (rc != 0)
		unlink(path);
	free(path);
	return rc;
}
