#include "common/cli/netopts.h"
#include "common/base/number.h"

#include <openssl/crypto.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { OPT_LOOPBACK = 400, OPT_NO_GSO, OPT_UNICAST, OPT_GROUP_KEY };

#define AT(field) offsetof(struct net_options, field)

const struct cli_opt net_opts[] = {
	{ 'm', "address", "ADDR",
	    "the group, broadcast address, or the other side (needed)", CLI_STR,
	    AT(addr), 0, 0, NULL },
	{ 'p', "port", "PORT",
	    "the port, LO-HI for the first free one, 0 for any (needed)", CLI_STR,
	    AT(port), 0, 0, NULL },
	{ 'i', "interface", "IF",
	    "the interface, by name or address (default: by the route)", CLI_STR,
	    AT(iface), 0, 0, NULL },
	{ 'b', "broadcast", NULL, "the address is a broadcast address", CLI_FLAG,
	    AT(broadcast), 0, 0, NULL },
	{ 'k', "buffers", "KB", "socket buffers in KB (8192)", CLI_UINT, AT(buffer_kb),
	    1, 1 << 20, NULL },
	{ 'K', "keepalive", "S",
	    "in silence, join the group again every S seconds at least", CLI_UINT,
	    AT(keepalive_s), 1, 86400, NULL },
	{ OPT_UNICAST, "unicast", NULL,
	    "-m is the server's address; each client has a stream of its own, to any "
	    "port of it",
	    CLI_FLAG, AT(unicast), 0, 0, NULL },
	{ OPT_GROUP_KEY, "group-key", "FILE",
	    "authenticate every packet with this key, and take no others", CLI_STR,
	    AT(group_key), 0, 0, NULL },
	{ OPT_LOOPBACK, "loopback", NULL, "server and clients share this host",
	    CLI_FLAG, AT(loopback), 0, 0, NULL },
	{ OPT_NO_GSO, "no-gso", NULL, "one system call a packet at least", CLI_FLAG,
	    AT(no_gso), 0, 0, NULL },
	{ 0 },
};

static int
parse_ports(const char *s, struct sock_config *c, struct err *e)
{
	char lo[16];
	const char *dash = strchr(s, '-');
	uint64_t from, to;

	if (dash != NULL && (size_t)(dash - s) < sizeof lo) {
		snprintf(lo, sizeof lo, "%.*s", (int)(dash - s), s);
		if (number_uint(lo, 1, 65535, &from, e) != 0 ||
		    number_uint(dash + 1, from, 65535, &to, e) != 0)
			return err_ctx(e, "-p");
	} else {
		if (number_uint(s, 0, 65535, &from, e) != 0)
			return err_ctx(e, "-p");
		to = from;
	}
	c->port_lo = (uint16_t)from;
	c->port_hi = (uint16_t)to;
	return 0;
}

int
net_options_resolve(const struct net_options *o, struct sock_config *c, struct err *e)
{
	*c = (struct sock_config){ .iface = o->iface,
		.broadcast = o->broadcast,
		.loopback = o->loopback,
		.no_gso = o->no_gso,
		.buffer_bytes = (uint32_t)(o->buffer_kb != 0 ? o->buffer_kb : 8192) *
		                1024 };
	if (o->addr == NULL || o->port == NULL)
		return err_misuse(e, "an address (-m) and a port (-p) are needed");
	if (netif_parse(o->addr, c->addr, e) != 0)
		return err_ctx(e, "-m");
	if (c->broadcast && netif_is_group(c->addr))
		return err_set(e, ERR_USAGE, "-b: %s is a multicast group", o->addr);
	if (o->unicast && (c->broadcast || netif_is_group(c->addr)))
		return err_set(e, ERR_USAGE,
		    "--unicast: %s is not the address of one host", o->addr);
	return parse_ports(o->port, c, e);
}

int
net_options_read_key(struct net_options *o, struct err *e)
{
	if (o->group_key == NULL)
		return 0;
	if (keyfile_read_secret(o->group_key, KEYFILE_GROUP, o->key, e) != 0)
		return err_ctx(e, "--group-key");
	return 0;
}

const uint8_t *
net_options_key(const struct net_options *o)
{
	return o->group_key != NULL ? o->key : NULL;
}

void
net_options_wipe_key(struct net_options *o)
{
	OPENSSL_cleanse(o->key, sizeof o->key);
}
