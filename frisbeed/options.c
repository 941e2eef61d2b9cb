/* options.c: the table of frisbeed's options, which cli_main() reads, and what options mean
 * together.  daemon.c calls opts_configure(); all of it in the program's first thread. */
#include "frisbeed/options.h"

#include <limits.h>
#include <stddef.h>

#include "common/base/number.h"
#include "common/base/test_times.h"
#include "emustore/store/cache.h"

enum {
	BURST_DEFAULT = 16, /* with the gap: 8000 blocks a second */
	GAP_US_DEFAULT = 2000,
	RUN_BLOCKS_DEFAULT = 32,    /* as the original's */
	READ_AHEAD_BYTES = 8 << 20, /* at 1 Gbit/s a disk may pause for 67 ms */
	IDLE_S_DEFAULT = 1800,      /* as the original's */
	UNICAST_DEFAULT = 64,       /* each client is a thread and a stream of its own */
};
/* The highest rate, in bits a second, without -W, -B and -G, where the card does not name its
 * own. */
#define RATE_DEFAULT UINT64_C(10000000000)
#define GAP_NOT_SET UINT64_MAX

enum {
	OPT_JSON = 300,
	OPT_STORE,
	OPT_STORE_CACHE,
	OPT_ORDERS,
	OPT_BASE,
	OPT_STATS,
	OPT_UNICAST_CLIENTS,
	OPT_ALLOW,
	OPT_SYSLOG,
	OPT_WAIT,
	OPT_UNTIL,
	OPT_FORCE,
	OPT_USER,
	OPT_SHARE,
	OPT_ONLY_FILE,
	OPT_ENDS_WITH,
	OPT_PARENT,
	OPT_PARENT_NAME,
	OPT_PARENT_TOKEN,
	OPT_PARENT_IFACE
};

const struct opts frisbeed_defaults = { .idle_s = IDLE_S_DEFAULT,
	.gap_us = GAP_NOT_SET,
	.session.unicast_max = UNICAST_DEFAULT,
	.session.store_cache = STORE_CACHE_BYTES };

#define AT(field) offsetof(struct opts, field)

static int
add_allowed(void *at, const char *arg, struct err *e)
{
	return allow_add(at, arg, e);
}

const struct cli_opt own_opts[] = {
	{ 'W', "bandwidth", "BITS",
	    "send at this rate, all images together (60M, 1G bits a second)", CLI_STR,
	    AT(rate), 0, 0, NULL },
	{ 'B', "burst", "N", "send N blocks in a burst (16)", CLI_UINT, AT(burst), 1,
	    65536, NULL },
	{ 'G', "gap", "US",
	    "microseconds between bursts (2000); 0: as fast as possible", CLI_UINT,
	    AT(gap_us), 0, 10000000, NULL },
	{ 'D', "dynamic", NULL,
	    "adapt the rate, up to that of -W, or of -B and -G (without these: up to "
	    "that of the card)",
	    CLI_FLAG, AT(dynamic), 0, 0, NULL },
	{ 'R', "readsize", "N",
	    "read N blocks at a time (32; from a store: a whole chunk)", CLI_UINT,
	    AT(run_blocks), 1, 1024, NULL },
	{ 'T', "timeout", "S",
	    "end after S seconds without requests (1800; 0: never; < 0: when the last "
	    "client has left)",
	    CLI_INT, AT(idle_s), (uint64_t)-1000000, 1000000000, NULL },
	{ OPT_WAIT, "wait", "N", "begin to send when N clients have joined", CLI_UINT,
	    AT(wait_clients), 1, SERVER_CLIENTS_MAX, NULL },
	{ OPT_UNTIL, "until", "N",
	    "end when N clients have installed the image and no other is loading",
	    CLI_UINT, AT(session.until_clients), 1, UINT32_MAX, NULL },
	{ 'A', "address-file", "FILE", "write ADDR:PORT to FILE, a line for each image",
	    CLI_STR, AT(addr_file), 0, 0, NULL },
	{ OPT_UNICAST_CLIENTS, "unicast-clients", "N",
	    "with --unicast, serve at most N clients of an image at once (64)",
	    CLI_UINT, AT(session.unicast_max), 1, 1024, NULL },
	{ OPT_ALLOW, "allow", "NET",
	    "accept only clients of this network (10.1.0.0/16) or address; repeatable",
	    CLI_CALL, AT(session.allow), 0, 0, add_allowed },
	{ 'd', "debug", NULL, "log more; no table on a terminal", CLI_FLAG, AT(debug),
	    0, 0, NULL },
	{ OPT_SYSLOG, "syslog", NULL, "log to syslog instead of stderr", CLI_FLAG,
	    AT(syslog), 0, 0, NULL },
	{ 'q', "quiet", NULL, "log only what went wrong", CLI_FLAG, AT(quiet), 0, 0,
	    NULL },
	{ OPT_STORE, "store", "DIR|URL",
	    "take the images with these names from this store", CLI_STR, AT(session.store),
	    0, 0, NULL },
	{ OPT_STORE_CACHE, "store-cache", "BYTES",
	    "with --store, memory for chunks of each image (16M; 0: for one chunk)",
	    CLI_SIZE, AT(session.store_cache), 0, UINT64_C(1) << 40, NULL },
	{ OPT_ORDERS, "orders", "DIR",
	    "orders of reads are DIR/IMAGE.order (default: beside the image files)",
	    CLI_STR,
	    AT(session.orders), 0, 0, NULL },
	{ OPT_JSON, "json", NULL, "print statistics as JSON at the end", CLI_FLAG,
	    AT(json), 0, 0, NULL },
	{ OPT_STATS, "stats", "FILE", "write the same statistics to FILE every second",
	    CLI_STR, AT(stats_file), 0, 0, NULL },
	{ OPT_BASE, "base", NULL, "use only the base protocol, which old clients speak",
	    CLI_FLAG, AT(session.base), 0, 0, NULL },
	{ OPT_FORCE, "force", NULL,
	    "serve even if another frisbeed answers on this group and port", CLI_FLAG,
	    AT(force), 0, 0, NULL },
	{ OPT_USER, "user", "NAME", "become this user before anything is served",
	    CLI_STR, AT(user), 0, 0, NULL },
	{ OPT_SHARE, "share", "FILE",
	    "share the rate with all who have this file of mfrisbeed's", CLI_STR,
	    AT(share_file), 0, 0, NULL },
	{ OPT_ENDS_WITH, "ends-with", "PID",
	    "end, at once, when this process ends, which has to be its parent", CLI_UINT,
	    AT(ends_with), 1, INT_MAX, NULL },
	{ OPT_ONLY_FILE, "only-file", "DEV:INODE", "serve the image only if it is this file",
	    CLI_STR, AT(only_file), 0, 0, NULL },
	{ OPT_PARENT, "parent", "HOST",
	    "load the image from this mfrisbeed while it is served, and keep it", CLI_STR,
	    AT(parent), 0, 0, NULL },
	{ OPT_PARENT_NAME, "parent-name", "NAME", "with --parent, the image's name there",
	    CLI_STR, AT(parent_name), 0, 0, NULL },
	{ OPT_PARENT_TOKEN, "parent-token", "FILE",
	    "with --parent, prove that this token is here", CLI_STR, AT(parent_token), 0, 0,
	    NULL },
	{ OPT_PARENT_IFACE, "parent-interface", "IF",
	    "with --parent, the interface for its session", CLI_STR, AT(parent_iface), 0, 0,
	    NULL },
	{ 't', "trace", NULL, "the same as -d", CLI_FLAG, AT(debug), 0, 0, NULL },
	{ 'L', NULL, "X", "accepted, does nothing", CLI_STR, AT(ignored), 0, 0, NULL },
	{ 'H', NULL, "S", "not supported: heartbeats", CLI_REFUSED, 0, 0, 0, NULL },
	{ 'E', NULL, "HOST", "not supported: an event server", CLI_REFUSED, 0, 0, 0,
	    NULL },
	{ 0 },
};

/* The number of blocks that are read at a time.  A store puts a chunk together as a whole, and
 * does so in the buffer from which it is sent when the whole chunk is read at once.  Each unicast
 * client has buffers of its own, which therefore stay small. */
static uint32_t
run_blocks(const struct opts *o)
{
	if (o->run_blocks != 0)
		return (uint32_t)o->run_blocks;
	return o->session.store != NULL && !o->session.net.unicast ? WIRE_CHUNK_BLOCKS
	                                           : RUN_BLOCKS_DEFAULT;
}

/* Engines do not count the header that --group-key adds to each packet, so their rate is the
 * part of `rate` that is left for packets without it. */
static uint64_t
with_headers(const struct opts *o, uint64_t rate)
{
	const uint64_t cost = WIRE_BLOCK_COST_BITS;

	if (net_options_key(&o->session.net) == NULL)
		return rate;
	return (uint64_t)((double)rate * (double)cost /
	                  (double)(cost + 8 * AUTH_HEADER_BYTES));
}

int
opts_configure(const struct opts *o, uint64_t card_bits, struct server_config *c,
    uint64_t *rate, struct err *e)
{
	c->run_blocks = run_blocks(o);
	c->ahead = READ_AHEAD_BYTES / WIRE_BLOCK_BYTES / c->run_blocks;
	c->ahead = c->ahead > SERVER_AHEAD_MAX ? SERVER_AHEAD_MAX : c->ahead;
	bool chosen = o->rate != NULL || o->burst != 0 || o->gap_us != GAP_NOT_SET;
	c->burst = o->burst != 0 ? (uint32_t)o->burst : BURST_DEFAULT;
	c->gap_us = o->gap_us != GAP_NOT_SET ? o->gap_us : GAP_US_DEFAULT;
	/* A rate that the user has chosen is kept. */
	c->dynamic = o->dynamic || !chosen || (o->rate == NULL && c->gap_us == 0);
	c->idle_us = o->idle_s * 1000000;
	c->linger_us = test_time_us("linger", 0);
	c->wait_clients = (uint32_t)o->wait_clients;
	if (o->wait_clients != 0 && o->session.net.unicast)
		return err_set(e, ERR_USAGE,
		    "--wait cannot be combined with --unicast, which serves each "
		    "client alone");
	*rate = c->gap_us != 0
	            ? c->burst * (uint64_t)WIRE_BLOCK_COST_BITS * 1000000 / c->gap_us
	            : 0;
	if (!chosen)
		*rate = card_bits != 0 ? card_bits : RATE_DEFAULT;
	if (o->rate != NULL && number_rate(o->rate, 10000, 1000000000000ull, rate, e) != 0)
		return err_ctx(e, "-W");
	if (!chosen || o->rate != NULL) {
		c->rate_bits = *rate = with_headers(o, *rate);
	}
	return 0;
}
