/* net_opts.c: the option table for the network.  frisbee and frisbeed refer to it in their
 * own tables, and cli.c reads it in the first thread. */
#include "common/cli/net_opts.h"

#include <stddef.h>

#include "common/net/netopts.h"

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
