/* netopts.c: the options of the network that frisbee and frisbeed share become the
 * configuration of a socket.  Their first threads call this, and frisbeed's sessions for
 * the group key. */
#include "common/net/netopts.h"

#include <openssl/crypto.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/base/number.h"
#include "common/wire/addr.h"

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
	if (addr_parse(o->addr, c->addr, e) != 0)
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
