/* options.h: what frisbeed's command line says. */
#ifndef FRISBEED_OPTIONS_H
#define FRISBEED_OPTIONS_H

#include "common/net/allow.h"
#include "common/cli/cli.h"
#include "common/net/netopts.h"
#include "frisbeed/server/server.h"

struct opts {
	struct net_options net;
	const char *addr_file;  /* -A */
	const char *stats_file; /* NULL: none */
	bool debug, dynamic, quiet, json, trace, base, syslog, force;
	int64_t idle_s;
	uint64_t run_blocks; /* 0: as the image is best read */
	uint64_t burst, gap_us;
	uint64_t unicast_max; /* clients at once, of each image */
	uint64_t wait_clients, until_clients; /* --wait, --until; 0: not given */
	struct allow allow;   /* --allow */
	const char *rate;     /* -W */
	const char *store;
	uint64_t store_cache; /* bytes of each image */
	const char *ignored;
};

extern const struct cli_opt own_opts[];
extern const struct opts frisbeed_defaults;

/* What of the engine's configuration the command line decides, and the rate in bits a
 * second that follows from it; 0: none.  card_bits: what the interface can do, 0: not
 * known. */
int opts_configure(const struct opts *, uint64_t card_bits, struct server_config *,
    uint64_t *rate, struct err *);

#endif /* FRISBEED_OPTIONS_H */
