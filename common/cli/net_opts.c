/* net_opts.c: the option table for the network.  frisbee and frisbeed refer to it in their
 * own tables, and cli.c reads it in the first thread. */
#include "common/cli/net_opts.h"

#include <stddef.h>

#include "common/net/netopts.h"

enum { OPT_LOOPBACK = 400, OPT_NO_GSO, OPT_UNICAST, OPT_GROUP_KEY };

#define AT(field) offsetof(struct net_options, field)

const struct cli_opt net_opts[] = {
	{ 'm', "address", "ADDR",
	    "the group, the broadcast address, or the other host (required, unless an "
	    "operand or a master server names it)", CLI_STR,
	    AT(addr), 0, 0, NULL },
	{ 'p', "port", "PORT",
	    "the port; LO-HI: the first free one; 0: any (required, like -m)",
	    CLI_STR, AT(port), 0, 0, NULL },
	{ 'i', "interface", "IF",
	    "the interface, by name or address (default: from the route)", CLI_STR,
	    AT(iface), 0, 0, NULL },
	{ 'b', "broadcast", NULL, "the address is a broadcast address", CLI_FLAG,
	    AT(broadcast), 0, 0, NULL },
	{ 'k', "buffers", "KB", "socket buffers in KB (8192)", CLI_UINT, AT(buffer_kb),
	    1, 1 << 20, NULL },
	{ 'K', "keepalive", "S",
	    "join the group again after at most S seconds of silence", CLI_UINT,
	    AT(keepalive_s), 1, 86400, NULL },
	{ OPT_UNICAST, "unicast", NULL,
	    "a unicast stream for each client; -m is the address of the server",
	    CLI_FLAG, AT(unicast), 0, 0, NULL },
	{ OPT_GROUP_KEY, "group-key", "FILE",
	    "authenticate every packet with this key, accept no others", CLI_STR,
	    AT(group_key), 0, 0, NULL },
	{ OPT_LOOPBACK, "loopback", NULL,
	    "let clients on this host receive the packets", CLI_FLAG, AT(loopback), 0,
	    0, NULL },
	{ OPT_NO_GSO, "no-gso", NULL, "make at least one system call for each packet",
	    CLI_FLAG, AT(no_gso), 0, 0, NULL },
	{ 0 },
};
